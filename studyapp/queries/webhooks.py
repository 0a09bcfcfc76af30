"""Reads of a study's webhooks."""

from django.db.models import QuerySet

from jobs.webhooks.queries import annotate_counts
from studyapp.models import Study, StudyWebhook


def list_webhooks(study: Study) -> QuerySet[StudyWebhook]:
    """Return a study's webhooks with their waiting and failed deliveries."""
    return annotate_counts(study.webhooks.select_related("study"))

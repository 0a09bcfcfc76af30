"""Endpoints of a study's webhooks."""

from accounts.policy_table import Act
from jobs.rest.webhooks import build_webhook_endpoints
from studyapp.actions.webhooks import add_webhook, end_webhook
from studyapp.queries.webhooks import list_webhooks
from studyapp.rest.endpoints import StudyView
from studyapp.rest.shapes import NewStudyWebhook

Webhooks, OneWebhook, Deliveries = build_webhook_endpoints(
    StudyView,
    of="study",
    owner=lambda view, slug: view.study(slug, Act.STUDY_EDIT),
    hooks=list_webhooks,
    takes=NewStudyWebhook,
    add=add_webhook,
    end=end_webhook,
)

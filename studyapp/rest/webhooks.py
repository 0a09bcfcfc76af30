"""Endpoints of a study's webhooks."""

from accounts.policy import Act
from jobs.rest.webhooks import webhook_endpoints
from studyapp.actions.webhooks import add_webhook, end_webhook
from studyapp.queries.webhooks import webhooks_of
from studyapp.rest.endpoints import StudyView
from studyapp.rest.shapes import NewStudyWebhook

Webhooks, OneWebhook, Deliveries = webhook_endpoints(
    StudyView,
    of="study",
    owner=lambda view, slug: view.study(slug, Act.STUDY_EDIT),
    hooks=webhooks_of,
    takes=NewStudyWebhook,
    add=add_webhook,
    end=end_webhook,
)

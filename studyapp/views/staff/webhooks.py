"""Pages of a study's webhooks."""

from accounts.policy_table import Act
from jobs.views.webhooks import WebhookPages
from studyapp.actions.webhooks import add_webhook, end_webhook
from studyapp.models import StudyDelivery, WebhookEvent
from studyapp.queries.webhooks import list_webhooks
from studyapp.views.access import study_page

PAGES = WebhookPages(
    of="study",
    frame="studyapp/staff/study_base.html",
    names="studyapp:staff_",
    guard=study_page(Act.STUDY_EDIT),
    hooks=list_webhooks,
    kinds=dict(WebhookEvent.choices),
    deliveries=StudyDelivery,
    add=add_webhook,
    end=end_webhook,
)

"""Pages of a project's webhooks."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts.policy_table import Act
from annotation.actions.projects import add_webhook, end_webhook
from annotation.event_labels import EVENT_LABELS
from annotation.models import Delivery, Membership
from annotation.queries.records import list_webhooks
from annotation.views.access import members_only
from jobs.views.webhooks import WebhookPages


def _project_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    def page(request: HttpRequest, member: Membership, **parameters: Any) -> HttpResponse:
        return view(request, member.project, **parameters)

    decorated: Callable[..., HttpResponse] = members_only(Act.ANNOTATION_MANAGE)(page)
    return decorated


PAGES = WebhookPages(
    of="project",
    frame="annotation/project_base.html",
    names="annotation:",
    guard=_project_page,
    hooks=list_webhooks,
    kinds=EVENT_LABELS.kinds,
    deliveries=Delivery,
    add=add_webhook,
    end=end_webhook,
)

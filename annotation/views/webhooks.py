"""Pages of the webhooks of a project: add, deliveries, end."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import user_of
from accounts.policy import Act
from annotation.actions import projects
from annotation.event_labels import EVENT_LABELS
from annotation.forms import WebhookForm
from annotation.models import Delivery, Membership, Webhook
from annotation.queries import records
from annotation.views.access import members_only, webhook_or_404
from annotation.views.tables import WEBHOOKS
from foundation.errors import Conflict
from foundation.translated_messages import errors_shown
from jobs.actions.webhooks import queue_test
from jobs.webhooks.models import TEST
from jobs.webhooks.queries import last_deliveries


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def listed(request: HttpRequest, member: Membership) -> HttpResponse:
    """List the webhooks of the project."""
    return _page(request, member, WebhookForm())


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def add(request: HttpRequest, member: Membership) -> HttpResponse:
    """Add a webhook and show its secret, only once."""
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            hook = projects.add_webhook(project=member.project, by=user_of(request), **form.cleaned_data)
        except ValidationError as error:
            for field, messages_of_field in error.message_dict.items():
                form.add_error(field if field in form.fields else None, messages_of_field)
        else:
            return _page(request, member, WebhookForm(), added=hook)
    return _page(request, member, form, status=422)


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def deliveries(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """List the last deliveries of a webhook."""
    hook = webhook_or_404(member, pk)
    rows = [
        (delivery, _("Test") if delivery.kind == TEST else EVENT_LABELS.kind_label(delivery.kind))
        for delivery in last_deliveries(hook.deliveries.all())
    ]
    context = {"project": member.project, "webhook": hook, "deliveries": rows}
    return render(request, "annotation/webhook.html", context)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def end(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """End a webhook."""
    projects.end_webhook(webhook=webhook_or_404(member, pk), by=user_of(request))
    messages.success(request, _("Ended the webhook."))
    return redirect("annotation:webhooks", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def test(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Send a test to a webhook; its page shows the result."""
    with errors_shown(request, Conflict):
        queue_test(Delivery, webhook_or_404(member, pk), about={"project": member.project.slug})
        messages.success(request, _("The test is sent within some seconds. Reload the page for its result."))
    return redirect("annotation:webhook", member.project.slug, pk)


def _page(
    request: HttpRequest,
    member: Membership,
    form: WebhookForm,
    *,
    added: Webhook | None = None,
    status: int = 200,
) -> HttpResponse:
    table = (WEBHOOKS.unsortable() if request.method == "POST" else WEBHOOKS).of(request.GET)
    webhooks = table.rows(
        (hook, [EVENT_LABELS.kind_label(kind) for kind in hook.kinds])
        for hook in records.webhooks(member.project)
    )
    context = {
        "project": member.project,
        "form": form,
        "webhooks": webhooks,
        "table": table,
        "added": added,
    }
    return render(request, "annotation/webhooks.html", context, status=status)

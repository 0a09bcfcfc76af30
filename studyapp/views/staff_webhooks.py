"""Pages of a study's webhooks: add, deliveries, end."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.access import existing, user_of
from accounts.policy import Act
from foundation.errors import Conflict
from foundation.translated_messages import errors_shown
from jobs.actions.webhooks import queue_test
from jobs.webhooks.queries import last_deliveries
from studyapp.actions import webhooks as actions
from studyapp.models import Study, StudyDelivery, StudyWebhook
from studyapp.queries.webhooks import kind_labels, webhooks_of
from studyapp.views.access import study_page
from studyapp.web.staff_forms import WebhookForm
from studyapp.web.tables import DELIVERIES, WEBHOOKS


@require_safe
@study_page(Act.STUDY_EDIT)
def webhooks(request: HttpRequest, study: Study) -> HttpResponse:
    """List the webhooks of a study; ask for another one."""
    return _page(request, study, WebhookForm())


@require_POST
@study_page(Act.STUDY_EDIT)
def add(request: HttpRequest, study: Study) -> HttpResponse:
    """Add a webhook and show its secret, only once."""
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            hook = actions.add_webhook(study=study, by=user_of(request), **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            return _page(request, study, WebhookForm(), created=hook)
    return _page(request, study, form, status=422)


@require_safe
@study_page(Act.STUDY_EDIT)
def webhook(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Show the last deliveries of a webhook."""
    hook = _webhook_or_404(study, pk)
    table = DELIVERIES.of(request.GET)
    rows = [(each, *kind_labels(each)) for each in last_deliveries(hook.deliveries.all())]
    context = {
        "study": study,
        "hook": hook,
        "kinds": kind_labels(hook),
        "table": table,
        "deliveries": table.rows(rows),
    }
    return render(request, "studyapp/staff/webhook.html", context)


@require_POST
@study_page(Act.STUDY_EDIT)
def end(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """End a webhook of a study."""
    actions.end_webhook(webhook=_webhook_or_404(study, pk), by=user_of(request))
    messages.success(request, _("The webhook has ended. Nothing more is sent to its address."))
    return redirect("studyapp:staff_webhooks", study.slug)


@require_POST
@study_page(Act.STUDY_EDIT)
def test(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Send a test to a webhook; its page shows the result."""
    with errors_shown(request, Conflict):
        queue_test(StudyDelivery, _webhook_or_404(study, pk), about={"study": study.slug})
        messages.success(request, _("The test is sent within some seconds. Reload the page for its result."))
    return redirect("studyapp:staff_webhook", study.slug, pk)


def _webhook_or_404(study: Study, pk: int) -> StudyWebhook:
    return existing(webhooks_of(study).filter(pk=pk).first())


def _page(
    request: HttpRequest,
    study: Study,
    form: WebhookForm,
    *,
    created: StudyWebhook | None = None,
    status: int = 200,
) -> HttpResponse:
    table = (WEBHOOKS.unsortable() if request.method == "POST" else WEBHOOKS).of(request.GET)
    hooks = table.rows((hook, kind_labels(hook)) for hook in webhooks_of(study))
    context = {"study": study, "hooks": hooks, "table": table, "form": form, "created": created}
    return render(request, "studyapp/staff/webhooks.html", context, status=status)

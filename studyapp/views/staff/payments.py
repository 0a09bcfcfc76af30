"""Payments of a study: submissions, orders with a dry run, and files."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import partial
from io import StringIO
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.actions.audit import record_reading
from accounts.policy_table import Act
from accounts.rights.access import require_existing, require_user
from foundation.errors import TouchstoneError
from foundation.pages.spreadsheet import write_csv
from foundation.translated_messages import show_errors, translate_error, translate_text
from jobs.queries import list_user_jobs
from studyapp.actions.payments import settle_unknown, store_order
from studyapp.definition.participation.payments import PaymentOrder
from studyapp.exports.payments import ID_COLUMNS, build_external_id_rows, build_payment_file
from studyapp.models import Payment, Study
from studyapp.payments import PayOptions
from studyapp.queries.participants.own_answers import compute_bonuses, find_currency
from studyapp.queries.participants.payments import (
    classify_submission,
    compute_payable_bonuses,
    count_payment_states,
    count_submissions,
    list_live_submissions,
    list_payments,
    plan_payments,
    sum_paid_amounts,
)
from studyapp.views.access import study_page
from studyapp.views.staff.results import build_attachment, start_job
from studyapp.web.forms.payments import GROUP_LABELS, OrderForm, PaymentsForm
from studyapp.web.html.tables import SUBMISSIONS

AGREED_SECONDS = 3600  # between the dry run and the start
SHOWN = 100


@require_safe
@study_page(Act.STUDY_PERSONAL, reads="payments")
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """List submissions and payments, and ask what to do."""
    return _page(request, study)


@require_POST
@study_page(Act.STUDY_PERSONAL)
def preview(request: HttpRequest, study: Study) -> HttpResponse:
    """Show who would get what, and the total; ask and store nothing."""
    form = OrderForm(request.POST, request.FILES, promised=find_currency(study))
    if not form.is_valid():
        return _page(request, study, order=form, status=422)
    order = form.order(partial(compute_payable_bonuses, study))
    try:
        plan = plan_payments(study, order)
    except TouchstoneError as error:
        form.add_error(None, translate_error(error))
        return _page(request, study, order=form, status=422)
    record_reading(by=require_user(request), subject=study, page="payments")
    agreed = {
        "order": order.model_dump(mode="json"),
        "number": len(plan.due),
        "total": str(plan.total),
    }
    context = {
        "study": study,
        "has_key": bool(settings.PROLIFIC_API_TOKEN),
        "plan": plan,
        "lines": [
            (line, Payment.Kind(line.kind).label, _state_of(line.earlier), translate_text(line.obstacle))
            for line in plan.lines
        ],
        "counts": [(Payment.Kind(kind).label, number) for kind, number in plan.counts.items()],
        "agreed": signing.dumps(agreed, salt=_salt(study), compress=True),
    }
    return render(request, "studyapp/staff/payments_plan.html", context)


@require_POST
@study_page(Act.STUDY_PERSONAL)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    """Store the order that the person saw, and start the job."""
    try:
        sent = signing.loads(request.POST.get("agreed", ""), salt=_salt(study), max_age=AGREED_SECONDS)
        order = PaymentOrder.model_validate(sent["order"])
        agreed = (sent["number"], Decimal(sent["total"]))
        store_order(study=study, order=order, by=require_user(request), agreed=agreed)
    except signing.BadSignature:
        messages.error(request, _("The list is older than an hour. Look at it again before you start."))
        return redirect("studyapp:staff_payments", study.slug)
    except TouchstoneError as error:
        messages.error(request, translate_error(error))
        return redirect("studyapp:staff_payments", study.slug)
    return start_job(request, study, "pay_participants", PayOptions(study=study.pk))


@require_POST
@study_page(Act.STUDY_PERSONAL)
def resume(request: HttpRequest, study: Study) -> HttpResponse:
    """Start the job for what is planned or sent."""
    return start_job(request, study, "pay_participants", PayOptions(study=study.pk))


@require_POST
@study_page(Act.STUDY_PERSONAL)
def settle(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Settle an unknown payment that a person looked up."""
    payment = require_existing(list_payments(study).filter(pk=pk).first())
    with show_errors(request, TouchstoneError):
        settle_unknown(payment=payment, was_paid=request.POST.get("paid") == "yes", by=require_user(request))
        messages.success(request, _("Payment settled."))
    return redirect("studyapp:staff_payments", study.slug)


@require_POST
@study_page(Act.STUDY_PERSONAL)
def download_external_ids(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the platform's IDs of participants with the codes that they saw."""
    return _csv(request, study, "external_ids", ID_COLUMNS, build_external_id_rows(study))


@require_POST
@study_page(Act.STUDY_PERSONAL)
def download_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Return whom to pay how much, as a platform takes it."""
    form = PaymentsForm(request.POST, promised=find_currency(study))
    if not form.is_valid():
        return _page(request, study, file=form, status=422)
    earned = compute_bonuses(study) if form.cleaned_data.get("earned") else {}
    head, rows = build_payment_file(study, form.amounts(), form.cleaned_data["format"] or "all", earned)
    return _csv(request, study, "payments", head, rows)


def _page(
    request: HttpRequest,
    study: Study,
    *,
    order: OrderForm | None = None,
    file: PaymentsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    counts, states = count_submissions(study), count_payment_states(study)
    table = SUBMISSIONS.of(request.GET)
    group = request.GET.get("group", "")
    people = (
        [(ids, classify_submission(ids.participant)) for ids in list_live_submissions(study)] if group else []
    )
    state = request.GET.get("state", "")
    rows = list_payments(study, state=state if state in Payment.State.values else "")[:SHOWN]
    context = {
        "study": study,
        "has_key": bool(settings.PROLIFIC_API_TOKEN),
        "groups": [(name, label, counts.get(name, 0)) for name, label in GROUP_LABELS.items()],
        "group": GROUP_LABELS.get(group, ""),
        "people": table.rows([ids for ids, own in people if own == group][:SHOWN]),
        "table": table,
        "shown": SHOWN,
        "states": [
            (value, label, states[value]) for value, label in Payment.State.choices if value in states
        ],
        "open": sum(states.get(open_state, 0) for open_state in (Payment.State.PLANNED, Payment.State.SENT)),
        "unknown": states.get(Payment.State.UNKNOWN, 0),
        "state": state,
        "payments": rows,
        "totals": sorted(sum_paid_amounts(study).items()),
        "order_form": order or OrderForm(promised=find_currency(study)),
        "file_form": file or PaymentsForm(promised=find_currency(study)),
        "refused": order or file,
        "jobs": [
            job
            for job in list_user_jobs(require_user(request)).filter(
                kind="pay_participants", subject=study.slug
            )[:5]
            if job.is_open
        ],
    }
    return render(request, "studyapp/staff/payments.html", context, status=status)


def _state_of(state: str) -> Any:
    return Payment.State(state).label if state else ""


def _salt(study: Study) -> str:
    return f"studyapp.payments.{study.pk}"


def _csv(
    request: HttpRequest, study: Study, kind: str, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> HttpResponse:
    file = StringIO()
    write_csv(file, header, rows)
    record_reading(by=require_user(request), subject=study, page=kind)
    text = file.getvalue() if header else file.getvalue().partition("\n")[2]
    return build_attachment(text, f"{study.slug}-{kind.replace('_', '-')}.csv", "text/csv; charset=utf-8")

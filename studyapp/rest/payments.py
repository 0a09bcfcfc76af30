"""Endpoints of payments and rehearsals of a study."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from rest_framework.request import Request

from accounts.actions.audit import record_reading
from accounts.policy_table import Act
from accounts.rest.bodies import read_body, read_query
from accounts.rest.describe import describe_method
from accounts.rest.idempotency import run_once_per_key
from accounts.rest.pages import Page, PageOf, answer, answer_page, build_row
from accounts.rights.access import require_existing
from foundation.translated_messages import translate_text
from jobs.rest.endpoints import JobRow, build_job_row
from jobs.tasks import start_job_about
from studyapp.actions.links import create_link
from studyapp.actions.payments import settle_unknown, store_order
from studyapp.actions.rehearsals import start_rehearsal
from studyapp.definition.participation.payments import PaymentOrder
from studyapp.models import Mode, Payment
from studyapp.payments import PayOptions
from studyapp.queries.participants.payments import Plan, list_payments, plan_payments
from studyapp.rest import shapes
from studyapp.rest.endpoints import StudyView
from studyapp.simulation_job import SimulationOptions
from touchstone.client import rows as wire


class Payments(StudyView):
    """The payments of a study by the API of its platform."""

    @describe_method(answers=PageOf[wire.PaymentRow], query=Page)
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """List the payments of a study."""
        study = self.study(slug, Act.STUDY_PERSONAL)
        record_reading(by=self.user, subject=study, page="API: payments")
        return answer_page(request, read_query(request, Page), list_payments(study), _build_payment_rows)

    @describe_method(
        answers=wire.PaymentPlan, status=201, takes=shapes.NewPayments, query=shapes.DryRun, errors=(409,),
        creates=True,
    )  # fmt: skip
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Approve and pay participants in a job.

        A dry run says who would get what. The order itself names the number and the sum that it said.
        """
        study = self.study(slug, Act.STUDY_PERSONAL)
        is_dry = read_query(request, shapes.DryRun).dry_run
        new = read_body(request, shapes.NewPayments)
        order = PaymentOrder.model_validate(new.model_dump(exclude={"payments", "total"}))
        if is_dry:
            record_reading(by=self.user, subject=study, page="API: payments")
            return answer(_describe_plan(plan_payments(study, order), None))
        agreed = (new.payments, new.total)
        plan = store_order(study=study, order=order, by=self.user, agreed=agreed)
        job = start_job_about(
            study, kind="pay_participants", by=self.user, options=PayOptions(study=study.pk)
        )
        return answer(_describe_plan(plan, build_job_row(request, job)), status=201)


class Settle(StudyView):
    """Settles a payment that the platform could not tell about."""

    @describe_method(takes=shapes.Settlement, status=204, errors=(409,))
    def post(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Say if an unknown payment was paid."""
        payment = require_existing(list_payments(self.study(slug, Act.STUDY_PERSONAL)).filter(pk=pk).first())
        settle_unknown(payment=payment, was_paid=read_body(request, shapes.Settlement).paid, by=self.user)
        return HttpResponse(status=204)


class Rehearsals(StudyView):
    """Rehearsals of a draft by bots."""

    @describe_method(answers=JobRow, status=202, takes=shapes.NewRehearsal, errors=(409,), creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Have bots rehearse the draft in a job."""
        study = self.study(slug, Act.STUDY_EDIT)
        new = read_body(request, shapes.NewRehearsal)
        rehearsal = start_rehearsal(study=study, by=self.user)
        options = SimulationOptions(study=study.pk, rehearsal=rehearsal.pk, **new.model_dump())
        job = start_job_about(study, kind="simulate_participants", by=self.user, options=options)
        return answer(build_job_row(request, job), status=202)


class RehearsalLinks(StudyView):
    """Links by which the team rehearses a draft."""

    @describe_method(answers=shapes.RehearsalLink, status=201, errors=(409,), creates=True)
    @run_once_per_key
    def post(self, request: Request, slug: str) -> HttpResponse:
        """Create a link by which the team rehearses the draft."""
        rehearsal = start_rehearsal(study=self.study(slug, Act.STUDY_EDIT), by=self.user)
        _link, token = create_link(
            study=rehearsal, by=self.user, label="rehearsal of the team", mode=Mode.PILOT
        )
        address = settings.SITE_URL + reverse("studyapp:join", args=[token])
        return answer(shapes.RehearsalLink(address=address), status=201)


def _describe_plan(plan: Plan, job: JobRow | None) -> wire.PaymentPlan:
    lines = [
        build_row(
            wire.PaymentLine,
            line,
            participant=line.ids.participant.public_id,
            bonus=line.batch,
            amount=_format_money(line.amount),
            obstacle=translate_text(line.obstacle),
        )
        for line in plan.lines
    ]
    return wire.PaymentPlan(
        payments=len(plan.due), total=f"{plan.total:.2f}", currency=plan.currency, lines=lines, job=job
    )


def _build_payment_rows(rows: Sequence[Payment]) -> Iterable[wire.PaymentRow]:
    for row in rows:
        yield build_row(
            wire.PaymentRow,
            row,
            participant=row.participant.public_id,
            bonus=row.batch,
            amount=_format_money(row.amount),
        )


def _format_money(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:.2f}"

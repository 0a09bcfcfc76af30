"""Store orders of payments, and carry them out exactly once.

A payment is stored as planned, marked as sent before the platform is asked, and confirmed by its answer.
A row that is still marked as sent, because its worker was killed or no answer came, is never sent again: the
platform is asked what it has. Approvals and requests to return may then be repeated, because a second one
changes nothing. Money that the platform does not show in time becomes unknown, which a person settles. A
worker that was frozen in between looks, right before it sends money, if the row is still its own; and until a
request that it sends then must have ended, nobody can say that the money was not paid.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.actions import audit
from accounts.models import User
from foundation.errors import Conflict
from foundation.messages import say
from studyapp.actions import events
from studyapp.definition.participation.payments import PaymentOrder
from studyapp.models import ExternalIds, Payment, Study
from studyapp.models.payments import SENDING
from studyapp.queries.participants.payments import Plan, plan_payments
from studyapp.web.prolific.api import Doubtful, NotSent, Prolific, RefusedByProlific, Submission

Kind, State = Payment.Kind, Payment.State
MONEY = (Kind.BONUS, Kind.SCREEN_OUT)
# Prolific shows "processing" for a moment whenever it changes a status.
APPROVABLE = ("AWAITING REVIEW", "APPROVED", "PROCESSING")
AT_ONCE = 20  # bonuses in a bulk payment; Prolific takes 200, but all of one share its doubts
RETURN_REASON = "Your submission does not meet the conditions of the study. Please return it."


@transaction.atomic
def store_order(
    *, study: Study, order: PaymentOrder, by: User | None, agreed: tuple[int, Decimal] | None = None
) -> Plan:
    """Store the payments of an order as planned, and return what it does.

    Acts of an earlier order are left out, so that an order given twice pays once; failed ones are planned
    again.

    Args:
        study: The study.
        order: The acts, and the people.
        by: The person who ordered it; None for the shell.
        agreed: The number of payments and the sum that the person saw before.

    Raises:
        NotFound, Conflict: As `plan_payments`, or it is not what the person saw; nothing is stored then.
    """
    # Two orders at a time see each other's rows; the constraint would refuse the second one as a whole.
    Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)
    plan = plan_payments(study, order)
    if agreed is not None and agreed != (len(plan.due), plan.total):
        raise Conflict(say("Something has changed since. Look at the list again before you start."))
    for line in plan.due:
        amounts = {"amount": line.amount, "currency": order.currency if line.amount is not None else ""}
        key = {"participant_id": line.ids.participant_id, "kind": line.kind, "batch": line.batch}
        if line.earlier:
            Payment.objects.filter(**key, state=State.FAILED).update(state=State.PLANNED, note="", **amounts)
        else:
            Payment.objects.create(study=study, created_by=by, **key, **amounts)
    if plan.due:
        total = f"{plan.total:.2f} {order.currency}"
        data = {"participants": len({line.ids.pk for line in plan.due}), "total": total}
        events.record(kind="payments_ordered", study=study, by=by, data=data)
        audit.record(
            kind="payments_ordered", by=by, workspace=study.workspace, subject=study, data={"total": total}
        )
    return plan


@transaction.atomic
def settle_unknown(*, payment: Payment, was_paid: bool, by: User) -> None:
    """Settle a payment that the platform could not tell about.

    Args:
        payment: The unknown payment.
        was_paid: True if a person saw it on the platform; else the next order pays it.
        by: The person who looked.

    Raises:
        Conflict: It is not unknown any more, or a worker may still be sending what is to count as not paid.
    """
    state = State.CONFIRMED if was_paid else State.FAILED
    note = say("seen on the platform by hand") if was_paid else say("looked up by hand: not there")
    rows = Payment.objects.filter(pk=payment.pk, state=State.UNKNOWN)
    settled = rows if was_paid else rows.filter(sent_at__lte=timezone.now() - SENDING)
    if not settled.update(state=state, note=note):
        if rows.exists():
            raise Conflict(say("This payment may still be on its way. Look again in some minutes."))
        raise Conflict(say("This payment is settled already."))
    events.record(
        kind="payment_settled",
        study=payment.study,
        participant=payment.participant,
        by=by,
        data={"status": str(state)},
    )


@dataclass
class Payer:
    """Carries out the planned payments of a study.

    Attributes:
        study: The study.
        api: The platform.
        settle: The time after which money that the platform does not show is unknown.
        progress: Called with the number of settled payments; raises to stop the work.
    """

    study: Study
    api: Prolific
    settle: timedelta
    progress: Callable[[int], None] = lambda settled: None
    _settled: int = field(default=0, init=False)

    def run(self) -> None:
        """Ask about what was sent before, then send what is planned.

        Raises:
            NotSent: The platform cannot be asked; what is planned stays planned.
        """
        self._forget_deleted()
        for payment in self._rows(State.SENT):
            self._look(payment)
        for payment in self._rows(State.PLANNED).exclude(kind__in=MONEY):
            self._note(payment)
        waiting = self._money_to_pay().count()
        while waiting:
            self._pay_money()
            before, waiting = waiting, self._money_to_pay().count()
            if waiting == before:
                break  # Prolific answers nothing: the next run tries again

    def look_again(self) -> bool:
        """Ask about what was sent; return True if some is still in doubt."""
        for payment in self._rows(State.SENT):
            self._look(payment)
        return self._rows(State.SENT).exists()

    def _rows(self, state: str) -> QuerySet[Payment]:
        rows = Payment.objects.filter(study=self.study, state=state).order_by("pk")
        return rows.select_related("participant__external_ids")

    def _forget_deleted(self) -> None:
        """End the payments of people whose IDs were deleted."""
        rows = Payment.objects.filter(study=self.study, participant__external_ids=None)
        rows.filter(state=State.PLANNED).update(state=State.FAILED, note=say("the IDs were deleted"))
        rows.filter(state=State.SENT).update(state=State.UNKNOWN, note=say("the IDs were deleted"))

    # --- approvals and requests to return ------------------------------------------------------------------

    def _note(self, payment: Payment) -> None:
        """Approve a submission or ask to return it, unless that has happened."""
        ids = _read_ids(payment)
        try:
            submission = self._check_submission(payment, ids)
            if submission is None or self._has_happened(payment, submission):
                return
            if not _claim([payment]):
                return  # another worker has it
            if payment.kind == Kind.APPROVE:
                if self.api.approve(ids.session_id).status != "APPROVED":
                    return  # it stays sent, and is asked about
            else:
                self.api.request_return(ids.session_id, RETURN_REASON)
        except RefusedByProlific as error:
            self._end([payment], State.FAILED, str(error))
        except NotSent:
            _unclaim([payment])
            raise
        except Doubtful:
            pass  # it stays sent, and is asked about
        else:
            self._end([payment], State.CONFIRMED)

    def _check_submission(self, payment: Payment, ids: ExternalIds) -> Submission | None:
        """Return the submission, if it is this person's and in a fit state."""
        submission = self.api.submission(ids.session_id)
        expected = (ids.study_id_there, ids.person_id)
        if (submission.study, submission.participant) != expected:
            self._end([payment], State.FAILED, say("the submission is of another study or person"))
            return None
        if payment.kind == Kind.APPROVE and submission.status not in APPROVABLE:
            self._end([payment], State.FAILED, f"the submission is {submission.status}")
            return None
        return submission

    def _has_happened(self, payment: Payment, submission: Submission) -> bool:
        """Confirm what the platform has already, without asking for it."""
        done = {
            Kind.APPROVE: submission.status == "APPROVED",
            Kind.RETURN: submission.return_requested or submission.status == "RETURNED",
            # Prolific pays by itself for a completion code with screen-out pay.
            Kind.SCREEN_OUT: submission.status == "SCREENED OUT",
        }
        if not done.get(Kind(payment.kind), False):
            return False
        self._end([payment], State.CONFIRMED, f"the submission is {submission.status}")
        return True

    # --- money ---------------------------------------------------------------------------------------------

    def _money_to_pay(self) -> QuerySet[Payment]:
        # A payment that shows up must not be mistaken for one in doubt, which may be of the same amount.
        doubt = Payment.objects.filter(study=self.study, state__in=(State.SENT, State.UNKNOWN))
        planned = self._rows(State.PLANNED).filter(kind__in=MONEY)
        return planned.exclude(participant__in=doubt.filter(kind__in=MONEY).values("participant"))

    def _pay_money(self) -> None:
        """Pay each person one payment; a second one comes in the next round."""
        by_study: dict[str, dict[int, Payment]] = {}
        for payment in self._money_to_pay():
            by_study.setdefault(_read_ids(payment).study_id_there, {}).setdefault(
                payment.participant_id, payment
            )
        for study, people in by_study.items():
            payments = list(people.values())
            for start in range(0, len(payments), AT_ONCE):
                self._pay(study, payments[start : start + AT_ONCE])

    def _pay(self, study: str, payments: Iterable[Payment]) -> None:
        """Pay some bonuses in one bulk payment.

        Setting it up pays nothing, so a worker that is killed before the payments are marked as sent has
        done nothing.
        """
        ready = []
        for payment in payments:
            try:
                submission = self._check_submission(payment, _read_ids(payment))
            except RefusedByProlific as error:
                self._end([payment], State.FAILED, str(error))
                continue
            except Doubtful:
                continue  # nothing was sent; it stays planned
            if submission is not None and not self._has_happened(payment, submission):
                payment.seen_before = max(submission.bonuses.count(payment.cents), _count_confirmed(payment))
                ready.append(payment)
        if not ready:
            return
        try:
            amounts = {_read_ids(bonus).session_id: bonus.amount or Decimal(0) for bonus in ready}
            transfer = self.api.set_up_bonuses(study, amounts)
        except RefusedByProlific as error:
            self._end(ready, State.FAILED, str(error))
            return
        except Doubtful:
            return
        if not _claim(ready, transfer=transfer):
            return
        try:
            self.api.pay_bonuses(transfer, before=partial(_hold, ready))
        except Overtaken:
            _unclaim(ready)
        except RefusedByProlific as error:
            self._end(ready, State.FAILED, str(error))
        except NotSent:
            _unclaim(ready)
            raise
        except Doubtful:
            return
        else:
            self._end(ready, State.CONFIRMED)

    # --- doubts --------------------------------------------------------------------------------------------

    def _look(self, payment: Payment) -> None:
        """Ask the platform if a payment that was sent has arrived."""
        try:
            submission = self.api.submission(_read_ids(payment).session_id)
        except (RefusedByProlific, Doubtful):
            self._end_overdue(payment)
            return
        if self._has_happened(payment, submission):
            return
        if payment.kind not in MONEY:
            _unclaim([payment])  # a second approval or request changes nothing
        elif submission.bonuses.count(payment.cents) > payment.seen_before:
            self._end([payment], State.CONFIRMED)
        else:
            self._end_overdue(payment)

    def _end_overdue(self, payment: Payment) -> None:
        assert payment.sent_at is not None  # a constraint
        if timezone.now() - payment.sent_at >= self.settle:
            self._end([payment], State.UNKNOWN, say("the platform does not show it"))

    def _end(self, payments: Iterable[Payment], state: str, note: str = "") -> None:
        payments = list(payments)
        note = _redact_ids(note, payments)
        for payment in payments:
            # A payment that another worker has confirmed stays so.
            rows = Payment.objects.filter(pk=payment.pk).exclude(state=State.CONFIRMED)
            if rows.update(state=state, note=note):
                self._settled += 1
        self.progress(self._settled)


class Overtaken(NotSent):
    """Somebody else decided about a payment while its worker stood still."""


@transaction.atomic
def _hold(payments: list[Payment]) -> None:
    """Note that payments are sent now, if they are still this worker's.

    Raises:
        Overtaken: One of them is not; nothing may be sent.
    """
    now = timezone.now()
    for payment in payments:
        if not _select_unchanged(payment).update(sent_at=now):
            raise Overtaken(say("another worker or a person took the payment over"))
    for payment in payments:
        payment.sent_at = now


def _select_unchanged(payment: Payment) -> QuerySet[Payment]:
    """Return the row of a payment unless anybody has changed it since."""
    return Payment.objects.filter(
        pk=payment.pk, state=State.SENT, transfer=payment.transfer, sent_at=payment.sent_at
    )


@transaction.atomic
def _claim(payments: list[Payment], *, transfer: str = "") -> bool:
    """Mark planned payments as sent, or none of them if one is not planned.

    It is stored before the platform is asked.
    """
    now = timezone.now()
    for payment in payments:
        rows = Payment.objects.filter(pk=payment.pk, state=State.PLANNED)
        columns = {"transfer": transfer, "seen_before": payment.seen_before, "sent_at": now}
        if not rows.update(state=State.SENT, **columns):
            transaction.set_rollback(True)
            return False
    for payment in payments:
        payment.transfer, payment.sent_at = transfer, now
    return True


def _unclaim(payments: list[Payment]) -> None:
    """Plan payments again of which the platform certainly heard nothing."""
    for payment in payments:
        _select_unchanged(payment).update(state=State.PLANNED, transfer="")


def _count_confirmed(payment: Payment) -> int:
    """Return how many payments of this amount the participant had from us.

    Prolific shows a payment some minutes after it has accepted it.
    """
    others = Payment.objects.filter(participant=payment.participant_id, amount=payment.amount)
    own = Q(kind=Kind.BONUS) | (Q(kind=Kind.SCREEN_OUT) & ~Q(transfer=""))
    return others.filter(own, state=State.CONFIRMED).count()


def _read_ids(payment: Payment) -> ExternalIds:
    """Return the platform's IDs; empty ones after they were deleted."""
    return getattr(payment.participant, "external_ids", ExternalIds())


def _redact_ids(note: str, payments: Iterable[Payment]) -> str:
    for ids in map(_read_ids, payments):
        for name in (ids.session_id, ids.person_id, ids.study_id_there):
            note = note.replace(name, "…") if name else note
    return note[:300]

"""Reads of payments: submissions by group, and what an order would do."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, cast

from django.db.models import QuerySet

from foundation.errors import Conflict, NotFound
from foundation.messages import say
from studyapp.definition.participation.payments import Group, PaymentOrder
from studyapp.models import ExternalIds, Mode, Outcome, Participant, Payment, Study
from studyapp.queries.participants.own_answers import compute_bonuses
from studyapp.queries.participants.privacy import list_external_ids

Kind, State = Payment.Kind, Payment.State
OPEN = (State.PLANNED, State.SENT)
API_PLATFORM = "prolific"


class Line(NamedTuple):
    """One act of an order.

    ``earlier`` is the state of the same act in an earlier order, "" if there is none; ``obstacle`` says why
    the platform cannot be asked, "" if it can.
    """

    ids: ExternalIds
    group: Group
    kind: str
    batch: str = ""
    amount: Decimal | None = None
    earlier: str = ""
    obstacle: str = ""

    @property
    def is_due(self) -> bool:
        """True if the order does this; an earlier failure is tried again."""
        return not self.obstacle and self.earlier in ("", State.FAILED)


@dataclass(frozen=True)
class Plan:
    """All that an order would do, line by line."""

    lines: list[Line]
    currency: str

    @property
    def due(self) -> list[Line]:
        """The lines that the order does."""
        return [line for line in self.lines if line.is_due]

    @property
    def total(self) -> Decimal:
        """The sum of money of the order, without the platform's fees."""
        return sum((line.amount or Decimal(0) for line in self.due), Decimal(0))

    @property
    def counts(self) -> dict[str, int]:
        """The number of acts of each kind that the order does."""
        return dict(Counter(line.kind for line in self.due))


def classify_submission(participant: Participant) -> Group:
    """Return how the submission of a participant ended."""
    if participant.status == Participant.Status.WITHDRAWN:
        return "withdrawn"
    returned, completed = participant.returned_at, participant.completed_at
    if participant.outcome == Outcome.DONE:
        return "late" if returned is not None and completed is not None and returned <= completed else "done"
    if returned is not None:
        return "returned"
    return cast("Group", participant.outcome) if participant.outcome else "active"


def list_live_submissions(study: Study) -> QuerySet[ExternalIds]:
    """Return the IDs of the people who came from a platform, by arrival."""
    return list_external_ids(study).filter(mode=Mode.LIVE)


def compute_payable_bonuses(study: Study) -> dict[str, Decimal]:
    """Return the earned bonuses of people from a platform, by public ID."""
    payable = set(list_live_submissions(study).values_list("participant__public_id", flat=True))
    return {who: amount for who, amount in compute_bonuses(study).items() if who in payable}


def count_submissions(study: Study) -> dict[str, int]:
    """Return the number of submissions of each group."""
    return dict(Counter(classify_submission(ids.participant) for ids in list_live_submissions(study)))


def plan_payments(study: Study, order: PaymentOrder) -> Plan:
    """Return what an order would do; asks and stores nothing.

    Raises:
        NotFound: A file names somebody who did not take part; lists them.
        Conflict: A participant got the bonus of this name with another amount.
    """
    people = list(list_live_submissions(study))
    earlier = _read_earlier_payments(study)
    lines = [_check_line(line, earlier) for line in _build_lines(people, order)]
    return Plan(lines, order.currency)


def _build_lines(people: list[ExternalIds], order: PaymentOrder) -> Iterator[Line]:
    groups = [(ids, classify_submission(ids.participant)) for ids in people]
    amounts = _match_amounts(people, order.bonus_amounts)
    for ids, group in groups:
        if order.approve and group == "done":
            yield Line(ids, group, Kind.APPROVE)
        if group in order.returns:
            yield Line(ids, group, Kind.RETURN)
        default_bonus = order.bonus_each if group in ("done", "late") else None
        bonus = amounts.get(ids.pk, default_bonus)
        if bonus is not None:
            yield Line(ids, group, Kind.BONUS, order.bonus, bonus)
        if order.screen_out is not None and group == "screened_out":
            yield Line(ids, group, Kind.SCREEN_OUT, amount=order.screen_out)


def _match_amounts(people: Iterable[ExternalIds], given: Mapping[str, Decimal]) -> dict[int, Decimal]:
    """Return the amounts of a file by the person's row."""
    by_id: dict[str, ExternalIds] = {}
    for ids in people:
        by_id |= {name: ids for name in (ids.participant.public_id, ids.session_id, ids.person_id) if name}
    strangers = [name for name in given if name not in by_id]
    if strangers:
        shown = ", ".join(strangers[:5]) + (" …" if len(strangers) > 5 else "")
        raise NotFound(
            say("IDs that are not of this study (%(number)d): %(ids)s", number=len(strangers), ids=shown)
        )
    amounts: dict[int, Decimal] = {}
    for name, amount in given.items():
        if by_id[name].pk in amounts:
            raise Conflict(say("%(id)s is a person who is listed twice", id=name))
        amounts[by_id[name].pk] = amount
    return amounts


def _read_earlier_payments(study: Study) -> dict[tuple[int, str, str], Payment]:
    rows = Payment.objects.filter(study=study)
    return {(row.participant_id, row.kind, row.batch): row for row in rows}


def _check_line(line: Line, earlier: Mapping[tuple[int, str, str], Payment]) -> Line:
    row = earlier.get((line.ids.participant_id, line.kind, line.batch))
    if row is not None and row.state != State.FAILED and row.amount != line.amount:
        raise Conflict(
            say(
                "%(id)s has the payment «%(name)s» with %(amount)s already; give this one another name",
                id=line.ids.participant.public_id,
                name=row.batch or row.kind,
                amount=str(row.amount),
            )
        )
    obstacle = ""
    if line.ids.platform != API_PLATFORM:
        obstacle = say("came from another platform")
    elif not line.ids.session_id or not line.ids.study_id_there:
        obstacle = say("came without a submission ID")
    return line._replace(earlier=row.state if row is not None else "", obstacle=obstacle)


def list_payments(study: Study, *, state: str = "") -> QuerySet[Payment]:
    """Return the payments of a study, newest first, with their people."""
    rows = Payment.objects.filter(study=study).select_related("participant__external_ids")
    return (rows.filter(state=state) if state else rows).order_by("-pk")


def count_payment_states(study: Study) -> dict[str, int]:
    """Return the number of payments in each state."""
    return dict(Counter(Payment.objects.filter(study=study).values_list("state", flat=True)))


def sum_paid_amounts(study: Study) -> dict[str, Decimal]:
    """Return the money that was paid, by currency."""
    totals: dict[str, Decimal] = {}
    rows = Payment.objects.filter(study=study, state=State.CONFIRMED, amount__isnull=False)
    for currency, amount in rows.values_list("currency", "amount"):
        totals[currency] = totals.get(currency, Decimal(0)) + (amount or Decimal(0))
    return totals

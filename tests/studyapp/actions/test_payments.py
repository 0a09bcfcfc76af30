"""A stand-in of Prolific receives each payment once.

That holds whatever happens to requests and workers.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx
import pytest
from django.db import IntegrityError, transaction
from django.db.models import F

from accounts.models import AuditEntry
from foundation.errors import Conflict, NotFound
from studyapp.actions.participants import end
from studyapp.actions.payments import settle_unknown, store_order
from studyapp.actions.privacy import anonymise_participant, delete_participant
from studyapp.actions.recruitment import enter
from studyapp.definition.participation.payments import PaymentOrder
from studyapp.definition.participation.recruitment import Arrival
from studyapp.models import Event, Outcome, Participant, Payment, Study
from studyapp.models.payments import SENDING
from studyapp.payments import settle_payments
from studyapp.queries.participants.payments import count_payment_states, count_submissions, plan_payments
from studyapp.queries.participants.privacy import read_stored_data
from studyapp.web.prolific import api as prolific_api
from studyapp.web.prolific.api import BadKey, Prolific, RefusedByProlific
from tests.studyapp import factories
from tests.studyapp.platform_standin import KEY, ProlificApi
from tests.studyapp.platform_standin import prolific_api as standin

pytestmark = [pytest.mark.django_db]

BONUS = PaymentOrder(approve=True, bonus_each=Decimal("1.50"))
PEOPLE = ("p1", "p2", "p3")


@pytest.fixture
def api(settings: Any) -> Iterator[ProlificApi]:
    with standin() as platform:
        settings.PROLIFIC_API_URL, settings.PROLIFIC_API_TOKEN = platform.url, KEY
        settings.PROLIFIC_SETTLE_SECONDS = 0
        yield platform


def came(study: Study, *people: str, outcome: Outcome = Outcome.DONE) -> list[Participant]:
    link = factories.make_link(study=study)
    participants = []
    for person in people:
        participant = enter(link=link, arrival=Arrival("prolific", person, "S1", f"sub-{person}"))
        if outcome == Outcome.DONE:
            finished(participant)
        else:
            end(participant=participant, outcome=outcome)
        participants.append(participant)
    return participants


def finished(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk).update(
        status="completed", outcome="done", completion_code="C1", completed_at=participant.consented_at
    )


@pytest.fixture
def study(api: ProlificApi) -> Study:
    study = factories.make_study()
    came(study, *PEOPLE)
    api.add(*PEOPLE)
    return study


def pay(study: Study, order: PaymentOrder | None = BONUS) -> dict[str, int]:
    if order is not None:
        store_order(study=study, order=order, by=None)
    settle_payments(study, lambda done, total: None)
    return count_payment_states(study)


def bonuses(api: ProlificApi) -> list[list[int]]:
    return [row.bonuses for row in api.submissions.values()]


def test_it_works(study: Study, api: ProlificApi) -> None:
    assert pay(study) == {"confirmed": 6}
    assert [(row.status, row.approvals, row.bonuses) for row in api.submissions.values()] == [
        ("APPROVED", 1, [150])
    ] * 3
    assert Event.objects.get(kind="payments_ordered").data == {"participants": 3, "total": "4.50 GBP"}
    assert AuditEntry.objects.get(kind="payments_ordered").data == {"total": "4.50 GBP"}


def test_the_same_order_again_pays_nothing(study: Study, api: ProlificApi) -> None:
    pay(study)
    assert pay(study) == {"confirmed": 6}
    assert bonuses(api) == [[150]] * 3
    pay(study, PaymentOrder(bonus="second", bonus_each=Decimal("1.50")))
    assert bonuses(api) == [[150, 150]] * 3


def test_a_dry_run_asks_and_stores_nothing(study: Study, api: ProlificApi) -> None:
    plan = plan_payments(study, BONUS)
    assert (plan.total, plan.counts) == (Decimal("4.50"), {"approve": 3, "bonus": 3})
    assert not api.requests
    assert not Payment.objects.exists()


@pytest.mark.parametrize("how", ["429", "500", "500 after"])
@pytest.mark.parametrize(
    "where", ["GET /api/v1/submissions/sub-p2/", "sub-p1/transition/", "bonus-payments/"]
)
def test_failures_before_money_moves_are_tried_again(
    study: Study, api: ProlificApi, where: str, how: str
) -> None:
    api.failures.append((where, how))
    assert pay(study) == {"confirmed": 6}
    assert not api.failures
    assert [(row.approvals, row.bonuses) for row in api.submissions.values()] == [(1, [150])] * 3


@pytest.mark.parametrize("how", ["500 after", "hold after"])
def test_a_payment_that_happened_without_an_answer_is_found(
    study: Study, api: ProlificApi, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prolific_api, "TIMEOUT", httpx.Timeout(1.0))
    api.failures.append(("/pay/", how))
    assert pay(study) == {"confirmed": 6}
    assert bonuses(api) == [[150]] * 3


def test_a_payment_that_shows_nowhere_asks_a_person(study: Study, api: ProlificApi) -> None:
    api.failures.append(("/pay/", "500"))
    assert pay(study) == {"confirmed": 3, "unknown": 3}
    assert pay(study) == {"confirmed": 3, "unknown": 3}  # neither another run nor another order sends it
    payments = Payment.objects.filter(state="unknown")
    with pytest.raises(Conflict, match="still be on its way"):
        settle_unknown(payment=payments[0], was_paid=False, by=factories.make_user())
    wait_out(payments)
    for payment in payments:
        settle_unknown(payment=payment, was_paid=False, by=factories.make_user())
    assert pay(study) == {"confirmed": 6}
    assert bonuses(api) == [[150]] * 3
    with pytest.raises(Conflict):
        settle_unknown(payment=payment, was_paid=True, by=factories.make_user())


def wait_out(payments: Any) -> None:
    """Let the time pass in which a worker may still be sending."""
    payments.update(sent_at=F("sent_at") - SENDING)


def test_a_worker_that_stood_still_does_not_pay_what_a_person_settled(
    study: Study, api: ProlificApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker freezes between marking payments as sent and sending them."""
    ask = Prolific.pay_bonuses
    transfers: list[str] = []

    def frozen(self: Prolific, transfer: str, **options: Any) -> None:
        if not transfers:
            transfers.append(transfer)
            payments = Payment.objects.filter(state="sent", kind="bonus")
            payments.update(state="unknown")
            wait_out(Payment.objects.filter(kind="bonus"))
            for payment in Payment.objects.filter(state="unknown"):
                settle_unknown(payment=payment, was_paid=False, by=factories.make_user())
            assert pay(study) == {"confirmed": 6}  # by another worker
        ask(self, transfer, **options)

    monkeypatch.setattr(Prolific, "pay_bonuses", frozen)
    assert pay(study) == {"confirmed": 6}
    assert bonuses(api) == [[150]] * 3


def test_a_worker_that_waited_to_try_again_does_not_pay_either(
    study: Study, api: ProlificApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(_response: Any) -> float:
        Payment.objects.filter(state="sent").update(state="unknown")
        return 0.0

    api.failures.append(("/pay/", "429"))
    monkeypatch.setattr(prolific_api, "_wait", meanwhile)
    assert pay(study)["unknown"] == 3
    assert bonuses(api) == [[]] * 3


def test_a_payment_that_shows_late_is_not_sent_again(study: Study, api: ProlificApi) -> None:
    api.failures.append(("/pay/", "late"))
    pay(study)
    api.failures.append(("/pay/", "500"))  # the next bonus of the same amount, which never arrives
    assert pay(study, PaymentOrder(bonus="second", bonus_each=Decimal("1.50")))["unknown"] == 3
    api.show_late()
    assert pay(study, None)["unknown"] == 3  # the first one is not taken for the second
    assert bonuses(api) == [[150]] * 3


def test_a_payment_in_doubt_holds_back_the_next_of_the_person(study: Study, api: ProlificApi) -> None:
    api.failures.append(("/pay/", "500"))
    pay(study)
    counts = pay(study, PaymentOrder(bonus="second", bonus_each=Decimal(2)))
    assert counts == {"confirmed": 3, "unknown": 3, "planned": 3}
    assert bonuses(api) == [[]] * 3


def test_a_refusal_says_why_without_ids(study: Study, api: ProlificApi) -> None:
    api.submissions["sub-p1"].status = "RETURNED"
    api.submissions["sub-p2"].participant = "somebody else"
    del api.submissions["sub-p3"]
    assert pay(study, PaymentOrder(approve=True)) == {"failed": 3}
    notes = list(Payment.objects.order_by("pk").values_list("note", flat=True))
    assert notes == [
        "the submission is RETURNED",
        "the submission is of another study or person",
        "Not found.",
    ]
    api.submissions["sub-p1"].status = "AWAITING REVIEW"
    assert pay(study, PaymentOrder(approve=True)) == {"confirmed": 1, "failed": 2}


def test_a_wrong_key_moves_nothing(study: Study, api: ProlificApi, settings: Any) -> None:
    settings.PROLIFIC_API_TOKEN = "stale"
    with pytest.raises(BadKey) as refusal:
        pay(study)
    assert "stale" not in str(refusal.value)
    assert count_payment_states(study) == {"planned": 6}
    settings.PROLIFIC_API_TOKEN = KEY
    assert pay(study, None) == {"confirmed": 6}


@pytest.mark.parametrize("url", ["http://api.prolific.com", "ftp://127.0.0.1"])
def test_the_key_goes_over_https_alone(study: Study, settings: Any, url: str) -> None:
    settings.PROLIFIC_API_URL = url
    with pytest.raises(RefusedByProlific, match="https"):
        pay(study)


def test_those_sent_away(study: Study, api: ProlificApi) -> None:
    came(study, "p4", "p5", outcome=Outcome.SCREENED_OUT)
    came(study, "p6", outcome=Outcome.FAILED_COMPREHENSION)
    api.add("p4", "p6")
    api.add("p5", status="SCREENED OUT")  # by a completion code with which Prolific pays by itself
    order = PaymentOrder(returns=("failed_comprehension",), screen_out=Decimal("0.30"))
    assert pay(study, order) == {"confirmed": 3}
    assert [api.submissions[f"sub-{person}"].bonuses for person in ("p4", "p5", "p6")] == [[30], [], []]
    assert api.submissions["sub-p6"].return_requested
    assert count_submissions(study) == {"done": 3, "screened_out": 2, "failed_comprehension": 1}


def test_amounts_of_a_file(study: Study, api: ProlificApi) -> None:
    first = Participant.objects.filter(external_ids__person_id="p1").get()
    amounts = {first.public_id: Decimal("0.5"), "sub-p2": Decimal(2), "p3": Decimal("3.25")}
    pay(study, PaymentOrder(bonus_amounts=amounts))
    assert bonuses(api) == [[50], [200], [325]]
    with pytest.raises(Conflict, match="another name"):
        plan_payments(study, PaymentOrder(bonus_amounts={"p1": Decimal(9)}))
    with pytest.raises(NotFound, match=r"not of this study \(1\): stranger"):
        plan_payments(study, PaymentOrder(bonus_amounts={"stranger": Decimal(1)}))
    with pytest.raises(Conflict, match="twice"):
        plan_payments(study, PaymentOrder(bonus="b", bonus_amounts={"p1": Decimal(1), "sub-p1": Decimal(1)}))


def test_what_changed_since_the_dry_run_is_not_started(study: Study) -> None:
    plan = plan_payments(study, BONUS)
    came(study, "p9")
    with pytest.raises(Conflict):
        store_order(study=study, order=BONUS, by=None, agreed=(len(plan.due), plan.total))
    assert not Payment.objects.exists()


def test_people_whose_ids_were_deleted_are_not_paid(study: Study, api: ProlificApi) -> None:
    store_order(study=study, order=BONUS, by=None)
    for participant in Participant.objects.filter(version__study=study):
        anonymise_participant(participant=participant, by=None, reason="asked")
    assert pay(study, None) == {"failed": 6}
    assert not api.requests


def test_payments_go_with_the_participant(study: Study, api: ProlificApi) -> None:
    pay(study)
    for participant in Participant.objects.filter(version__study=study):
        assert read_stored_data(participant)["studyapp.Payment"][0]["state"] == "confirmed"
        delete_participant(participant=participant, by=None, reason="asked")
    assert not Payment.objects.exists()


def test_another_sum_than_ordered_is_not_paid(study: Study, api: ProlificApi, monkeypatch: Any) -> None:
    monkeypatch.setattr(prolific_api, "_parse_cents", lambda amount: 1)
    assert pay(study, PaymentOrder(bonus_each=Decimal(1))) == {"failed": 3}
    assert not any("/pay/" in request for request in api.requests)


@pytest.mark.parametrize(
    "columns",
    [
        {"kind": "bonus", "amount": None},
        {"kind": "approve", "amount": 1},
        {"kind": "approve", "state": "sent"},
    ],
)
def test_constraints(study: Study, columns: dict[str, Any]) -> None:
    participant = Participant.objects.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.create(study=study, participant=participant, **columns)


def test_a_participant_is_paid_once_per_kind_and_batch(study: Study) -> None:
    participant = Participant.objects.first()
    row = {"study": study, "participant": participant, "kind": "bonus", "batch": "b", "amount": 1}
    Payment.objects.create(**row)
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.create(**row)

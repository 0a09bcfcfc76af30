"""Payments and rehearsals over the REST API."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry, Role
from jobs.actions.jobs import run_job
from jobs.models import Job
from studyapp.models import Participant, Payment, Study
from studyapp.models.payments import SENDING
from tests.studyapp import factories
from tests.studyapp.actions.test_payments import bonuses, came
from tests.studyapp.platform_standin import KEY, ProlificApi, prolific_api
from tests.studyapp.rest.test_endpoints import ROOT, client_of, send

pytestmark = pytest.mark.django_db
ORDER = {"approve": True, "bonus_each": "1.50"}


@pytest.fixture
def api(settings: Any, tmp_path: Any) -> Iterator[ProlificApi]:
    settings.JOB_FOLDER = tmp_path
    with prolific_api() as platform:
        settings.PROLIFIC_API_URL, settings.PROLIFIC_API_TOKEN = platform.url, KEY
        settings.PROLIFIC_SETTLE_SECONDS = 0
        yield platform


@pytest.fixture
def study(api: ProlificApi) -> Study:
    study = factories.make_study()
    came(study, "p1", "p2")
    api.add("p1", "p2")
    return study


@pytest.fixture
def researcher() -> Client:
    return client_of(Role.RESEARCHER)


def test_it_works(researcher: Client, study: Study, api: ProlificApi) -> None:
    address = f"{study.slug}/payments/"
    plan = send(researcher, f"{address}?dry_run=true", ORDER)
    assert plan.status_code == 200, plan.content
    assert (plan.json()["payments"], plan.json()["total"], plan.json()["job"]) == (4, "3.00", None)
    assert not Payment.objects.exists()
    agreed = {name: plan.json()[name] for name in ("payments", "total")}
    done = send(researcher, address, {**ORDER, **agreed})
    assert done.status_code == 201, done.content
    run_job(job_id=int(done.json()["job"]["id"]))
    assert bonuses(api) == [[150]] * 2
    rows = researcher.get(f"{ROOT}{address}").json()["results"]
    assert [(row["kind"], row["amount"], row["state"]) for row in rows][:2] == [
        ("approve", None, "confirmed"),
        ("bonus", "1.50", "confirmed"),
    ]
    assert AuditEntry.objects.filter(kind="personal_data_read", data={"page": "API: payments"}).count() == 2


def test_what_differs_from_the_dry_run_is_refused(researcher: Client, study: Study) -> None:
    address = f"{study.slug}/payments/"
    assert send(researcher, address, ORDER).status_code == 409
    assert send(researcher, address, {**ORDER, "payments": 4, "total": "9.00"}).status_code == 409
    assert send(researcher, address, {"bonus_each": "0"}).status_code == 422
    assert send(researcher, address, {"returns": ["friends"]}).status_code == 422
    assert not Payment.objects.exists()


def test_a_person_settles_what_is_unknown(researcher: Client, study: Study) -> None:
    participant = Participant.objects.filter(version__study=study)[0]
    row = Payment.objects.create(
        study=study, participant=participant, kind="bonus", amount=1, state="unknown",
        sent_at=participant.consented_at,
    )  # fmt: skip
    address = f"{study.slug}/payments/{row.pk}/settle/"
    assert send(researcher, address, {"paid": False}).status_code == 409
    assert participant.consented_at is not None
    Payment.objects.update(sent_at=participant.consented_at - SENDING)
    assert send(researcher, address, {"paid": False}).status_code == 204
    assert send(researcher, address, {"paid": True}).status_code == 409
    assert send(researcher, f"{study.slug}/payments/0/settle/", {"paid": True}).status_code == 404


def test_rehearsals(researcher: Client) -> None:
    study = factories.make_study(launched=False)
    job = send(researcher, f"{study.slug}/rehearsals/", {"n": 2})
    assert job.status_code == 202, job.content
    assert Job.objects.get().options["n"] == 2
    unknown = send(researcher, f"{study.slug}/rehearsals/", {"behaviour": "evil"})
    assert unknown.status_code == 422
    assert unknown.json()["errors"][0]["field"] == "behaviour"
    assert Job.objects.count() == 1
    link = send(researcher, f"{study.slug}/rehearsals/links/")
    assert link.status_code == 201, link.content
    assert Client().get(link.json()["address"]).status_code == 302
    unfinished = factories.make_study(launched=False, consent="[Say whom to ask.]")
    assert send(researcher, f"{unfinished.slug}/rehearsals/", {}).status_code == 422


def test_versions_carry_the_decisions(researcher: Client) -> None:
    study = factories.make_study()
    [version] = researcher.get(f"{ROOT}{study.slug}/versions/").json()["results"]
    checks = {row["check"]: row["reason"] for row in version["decisions"]}
    assert checks == {name: factories.ACCEPTED[name] for name in checks}
    assert "rehearsal" in checks

"""The page of payments: submissions, an order with its dry run, files."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import Client

from accounts.models import AuditEntry, Role
from jobs.actions.jobs import run_job
from jobs.models import Job
from studyapp.definition.participation.recruitment import Recruitment
from studyapp.models import ExternalIds, Participant, Payment, Study
from studyapp.models.payments import SENDING
from tests.studyapp import factories
from tests.studyapp.platform_standin import KEY, prolific_api

pytestmark = pytest.mark.django_db
RECRUITMENT = {"platform": "prolific", "outcomes": {"done": {"code": "C1DONE"}}}


@pytest.fixture
def study() -> Study:
    study = factories.make_study()
    link = factories.make_link(study=study, recruitment=Recruitment.model_validate(RECRUITMENT))
    for number in range(3):
        ExternalIds.objects.create(
            participant=factories.make_participant(link=link, completed=True),
            study=study, mode="live", platform="prolific", person_id=f"person{number}",
            session_id=f"sub-person{number}", study_id_there="S1",
        )  # fmt: skip
    return study


@pytest.fixture
def page(client: Client) -> Client:
    client.force_login(factories.make_user(Role.RESEARCHER))
    return client


def at(study: Study, end: str = "") -> str:
    return f"/staff/studies/{study.slug}/payments/{end}"


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def ordered(page: Client, study: Study, **fields: Any) -> Any:
    return page.post(at(study, "preview/"), {"bonus": "bonus", "currency": "GBP", **fields})


def test_it_works(page: Client, study: Study, settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER = tmp_path
    shown = text(page.get(at(study) + "?group=done"))
    assert "sub-person2" in shown
    plan = ordered(page, study, approve="on", bonus_each="1.50")
    assert "4.50 GBP" in text(plan)
    assert not Payment.objects.exists()
    response = page.post(at(study, "start/"), {"agreed": plan.context["agreed"]})
    job = Job.objects.get()
    assert response["Location"] == f"/jobs/{job.pk}/"
    with prolific_api() as api:
        api.add(*(f"person{number}" for number in range(3)))
        settings.PROLIFIC_API_URL, settings.PROLIFIC_API_TOKEN = api.url, KEY
        run_job(job_id=job.pk)
    assert "6 payments of this study are done." in text(page.get(f"/jobs/{job.pk}/"))
    assert "4.50 GBP" in text(page.get(at(study)))
    again = ordered(page, study, approve="on", bonus_each="1.50")
    assert "There is nothing to do" in text(again)
    assert AuditEntry.objects.filter(kind="payments_ordered").count() == 1


def test_the_key_is_nowhere(page: Client, study: Study, settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER, settings.PROLIFIC_API_TOKEN = tmp_path, "tell-nobody"
    with prolific_api() as api:
        settings.PROLIFIC_API_URL = api.url
        plan = ordered(page, study, approve="on")
        page.post(at(study, "start/"), {"agreed": plan.context["agreed"]})
        run_job(job_id=Job.objects.get().pk)
    job = Job.objects.get()
    assert "does not accept the key" in job.error
    for shown in (text(page.get(at(study))), text(page.get(f"/jobs/{job.pk}/")), job.error):
        assert "tell-nobody" not in shown


def test_an_order_is_of_its_study_and_an_hour(page: Client, study: Study) -> None:
    plan = ordered(page, study, approve="on")
    other = factories.make_study()
    page.post(at(other, "start/"), {"agreed": plan.context["agreed"]})
    page.post(at(study, "start/"), {"agreed": "made up"})
    assert not Payment.objects.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"person0,1.50\nperson0,2", "amounts.csv:2: id: person0 is listed twice"),
        (b"person0,1.505", "amounts.csv:1: amount: 1.505 is not an amount"),
        (b"id,amount\nperson0,-1", "amounts.csv:2: amount: -1 is not an amount"),
        (b"person0", "amounts.csv:1: a line has an ID and an amount"),
        (b"person0;1,5", "amounts.csv:1: a line has an ID and an amount, separated by a comma, such as"),
        (b"stranger,1", "IDs that are not of this study (1): stranger"),
        (b"\xff\xfe", "the file is not UTF-8 text"),
        (b"id,amount\n", "the file has no amounts"),
        (b"person0,99999", "is not an amount above 0 and up to 1000"),
    ],
)
def test_a_wrong_file_is_refused(page: Client, study: Study, content: bytes, sentence: str) -> None:
    response = ordered(page, study, amounts=SimpleUploadedFile("amounts.csv", content))
    assert response.status_code == 422
    assert sentence in text(response)


def test_an_order_without_an_act_is_refused(page: Client, study: Study) -> None:
    assert "Choose at least one act." in text(ordered(page, study))


def test_a_person_settles_what_is_unknown(page: Client, study: Study, settings: Any) -> None:
    participant = Participant.objects.first()
    row = Payment.objects.create(
        study=study, participant=participant, kind="bonus", amount=1, currency="GBP", state="unknown",
        sent_at=participant.consented_at,
    )  # fmt: skip
    assert "The answer is unknown until" in text(page.get(at(study)))
    assert "It was not paid" not in text(page.get(at(study)))
    refused = page.post(at(study, f"{row.pk}/settle/"), {"paid": "no"}, follow=True)
    assert "This payment may still be on its way." in text(refused)
    Payment.objects.update(sent_at=F("sent_at") - SENDING)
    assert "It was not paid" in text(page.get(at(study)))
    assert "Payment settled." in text(page.post(at(study, f"{row.pk}/settle/"), {"paid": "yes"}, follow=True))
    row.refresh_from_db()
    assert row.state == "confirmed"
    assert "settled already" in text(page.post(at(study, f"{row.pk}/settle/"), follow=True))


def test_files_of_platforms(page: Client, study: Study) -> None:
    def lines(file_format: str) -> list[str]:
        sent = {"done": "2.5", "format": file_format}
        return page.post(at(study, "file/"), sent).content.decode().splitlines()

    assert lines("prolific") == ["person0,2.50", "person1,2.50", "person2,2.50"]
    assert lines("mturk") == ["WorkerId,AssignmentId,BonusAmount"]
    ExternalIds.objects.filter(person_id="person1").update(platform="mturk")
    assert lines("mturk")[1:] == ["person1,sub-person1,2.50"]
    assert lines("all")[1] == "person0,2.50,prolific,sub-person0,done,C1DONE"


def test_people_are_paid_by_the_codes_that_they_saw(client: Client, study: Study) -> None:
    returned = Participant.objects.filter(external_ids__person_id="person1")
    ExternalIds.objects.filter(person_id="person0").update(person_id="=person0")
    returned.update(returned_at=returned.get().completed_at)
    client.force_login(factories.make_user(Role.ANALYST))
    for end in ("", "external-ids/", "file/", "preview/", "start/"):
        act = client.post if end else client.get
        assert act(at(study, end)).status_code == 403
    client.force_login(factories.make_user(Role.RESEARCHER))
    ids = client.post(at(study, "external-ids/")).content.decode().splitlines()
    assert len(ids) == 4
    assert ",'=person0,sub-person0,done,C1DONE," in ids[1]
    assert client.post(at(study, "file/"), {"done": "-1"}).status_code == 422
    payments = client.post(at(study, "file/"), {"done": "2.5"}).content.decode().splitlines()
    assert payments[1:] == [
        "'=person0,2.50,prolific,sub-person0,done,C1DONE", "person2,2.50,prolific,sub-person2,done,C1DONE",
    ]  # fmt: skip
    kinds = AuditEntry.objects.filter(kind="personal_data_read").values_list("data__page", flat=True)
    assert sorted(kinds) == ["external_ids", "payments"]


class TestCommand:
    def test_it_works(self, study: Study, settings: Any, tmp_path: Path, capsys: Any) -> None:
        file = tmp_path / "bonus.csv"
        file.write_text("person0,0.50\nperson2,1", encoding="utf-8")
        call_command("pay_participants", study.slug, bonus=file, approve=True, dry_run=True)
        assert "5 to do, 1.50 GBP without fees" in capsys.readouterr().out
        call_command("pay_participants", study.slug, bonus=file, approve=True, dry_run=True, json=True)
        plan = json.loads(capsys.readouterr().out)
        assert (plan["payments"], plan["total"], plan["currency"], len(plan["lines"])) == (
            5,
            "1.50",
            "GBP",
            5,
        )
        bonuses = [line["amount"] for line in plan["lines"] if line["kind"] == "bonus"]
        assert sorted(bonuses) == ["0.50", "1.00"]
        assert not Payment.objects.exists()
        with prolific_api() as api:
            api.add(*(f"person{number}" for number in range(3)))
            settings.PROLIFIC_API_URL, settings.PROLIFIC_API_TOKEN = api.url, KEY
            call_command("pay_participants", study.slug, bonus=file, approve=True)
            assert capsys.readouterr().out.splitlines()[-1] == "5 confirmed"
            assert [row.bonuses for row in api.submissions.values()] == [[50], [], [100]]
            call_command("pay_participants", study.slug, json=True)
            assert json.loads(capsys.readouterr().out) == {"confirmed": 5}

    def test_without_a_key(self, study: Study) -> None:
        with pytest.raises(CommandError, match="PROLIFIC_API_TOKEN"):
            call_command("pay_participants", study.slug, approve=True)
        assert set(Payment.objects.values_list("state", flat=True)) == {"planned"}

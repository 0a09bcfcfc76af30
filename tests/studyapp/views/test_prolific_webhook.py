"""Notices of Prolific: their senders, and the returned submissions."""

import pytest

from studyapp.actions.participants import consent
from studyapp.exports.bundle import write_bundle
from studyapp.models import Event, Participant, ReceivedNotice
from tests.studyapp import factories
from tests.studyapp.platform_standin import WEBHOOK, notify
from tests.studyapp.views.participants.test_recruitment import PROLIFIC, came

pytestmark = pytest.mark.django_db
SECRET = "the-secret-of-the-workspace"


@pytest.fixture(autouse=True)
def _secret(settings):
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET


@pytest.fixture
def participant(client):
    return came(factories.make_study(recruitment=PROLIFIC), client, session="sub1")


@pytest.mark.parametrize("status", ["RETURNED", "TIMED-OUT", "TIMED_OUT"])
def test_it_works(client, participant, status):
    assert notify(client, "sub1", status, secret=SECRET).status_code == 204
    participant.refresh_from_db()
    assert participant.returned_at is not None
    assert participant.status == "active"
    event = Event.objects.get(kind="place_returned")
    assert (event.participant, event.data) == (participant, {"status": status.replace("_", "-")})


def test_the_place_is_given_to_the_next(client, participant):
    """Of two conditions, one is taken.

    The next person would get the other one.
    """
    link = factories.make_link(study=participant.version.study)
    assert consent(link=link).assignment_counts[participant.group] == 1
    notify(client, "sub1", "RETURNED", secret=SECRET)
    assert consent(link=link).assignment_counts[participant.group] == 0


def test_a_late_finisher_is_kept_and_flagged(client, participant, tmp_path):
    notify(client, "sub1", "TIMED-OUT", secret=SECRET)
    while participant.trials.filter(answers__isnull=True).exists():
        factories.answer_item(participant)
    factories.answer_survey(participant)
    participant.refresh_from_db()
    assert participant.status == "completed"
    assert client.get(f"/study/{participant.version.study.slug}/done/").status_code == 200
    write_bundle(participant.version.study, tmp_path / "out")
    head, row = (tmp_path / "out" / "participants.csv").read_text().splitlines()
    cells = dict(zip(head.split(","), row.split(","), strict=True))
    assert cells["finished_late"] == "true"
    assert cells["returned_at"]


def test_twice_is_once(client, participant):
    notify(client, "sub1", "RETURNED", secret=SECRET)
    Participant.objects.update(returned_at=None)  # as if the person had come back since
    assert notify(client, "sub1", "RETURNED", secret=SECRET).status_code == 204
    participant.refresh_from_db()
    assert participant.returned_at is None
    assert ReceivedNotice.objects.count() == 1


@pytest.mark.parametrize(
    ("submission", "status", "changes"),
    [
        ("sub1", "APPROVED", {}),
        ("sub1", "AWAITING REVIEW", {}),
        ("another", "RETURNED", {}),
        ("sub1", "RETURNED", {"event_type": "study.status.change"}),
    ],
)
def test_other_notices_change_nothing(client, participant, submission, status, changes):
    assert notify(client, submission, status, secret=SECRET, **changes).status_code == 204
    participant.refresh_from_db()
    assert participant.returned_at is None


@pytest.mark.parametrize(
    "changes",
    [
        {"signature": "AAAA"},
        {"signature": ""},
        {"signature": "ü"},
        {"late": 301},
        {"late": -400},
        {"at": ""},
        {"at": "soon"},
        {"body": b"not json"},
        {"body": b"{}"},
    ],
    ids=str,
)
def test_what_is_not_proven_or_too_old_is_refused(client, participant, changes):
    assert notify(client, "sub1", "RETURNED", secret=SECRET, **changes).status_code == 403
    participant.refresh_from_db()
    assert participant.returned_at is None
    assert not ReceivedNotice.objects.exists()


def test_another_secret_is_refused(client, participant):
    assert notify(client, "sub1", "RETURNED", secret="other").status_code == 403


def test_there_is_none_without_a_secret(client, settings):
    settings.PROLIFIC_WEBHOOK_SECRET = ""
    assert notify(client, "sub1", "RETURNED", secret="").status_code == 404


def test_it_is_for_post_only(client):
    assert client.get(WEBHOOK).status_code == 405

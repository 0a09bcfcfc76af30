"""Tests of the preview: what staff see of a launched version, and that nothing is stored."""

import pytest

from studyapp.models import Event, Participant
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    client.force_login(factories.make_user())
    return client


def shown(staff, study, **wanted):
    return staff.get(f"/staff/studies/{study.slug}/preview/", wanted).content.decode()


def test_it_works(staff):
    study = factories.make_study(conditions=2, items={"ids": ["q1", "q2"]})
    system, truth = (arm.name for arm in study.versions.get().conditions.all())
    before = Event.objects.count()
    page = shown(staff, study, condition=system, item="q2")
    assert "Elsewhere" in page
    assert "Do you think the system" in page
    assert "Nothing is stored" in page
    assert "Kolwen 2" in shown(staff, study, condition=truth, item="q2")
    assert "I trust the question answering system" in shown(staff, study, page="survey")
    assert "You may stop at any time." in shown(staff, study, page="consent")
    assert not Participant.objects.exists()
    assert Event.objects.count() == before
    assert '<form method="post" action="/study' not in page


def test_pages_that_a_study_lacks_are_not_offered(staff):
    study = factories.make_study(items=1)
    assert 'value="screening"' not in shown(staff, study)
    assert 'value="instructions"' not in shown(staff, study, page="screening")
    study = factories.make_study(items=1, instructions_page=True)
    assert "Judge each answer." in shown(staff, study, page="instructions")


def test_a_draft_has_no_preview(staff):
    study = factories.make_study(launched=False)
    page = staff.get(f"/staff/studies/{study.slug}/preview/", follow=True).content.decode()
    assert "Launch the study to see" in page


def test_users_without_a_role_find_nothing(client):
    study = factories.make_study(items=1)
    client.force_login(factories.make_user(None))
    assert client.get(f"/staff/studies/{study.slug}/preview/").status_code == 404

"""Tests of the preview that staff see of a launched version.

Nothing of it is stored.
"""

import pytest

from studyapp.models import Event, Participant
from tests.html import join_lines
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    client.force_login(factories.make_user())
    return client


def shown(staff, study, **query):
    """The page of participants that the frames show."""
    return staff.get(f"/staff/studies/{study.slug}/preview/page/", query).content.decode()


def test_it_works(staff):
    study = factories.make_study(conditions=2, items={"ids": ["q1", "q2"]})
    system, truth = (arm.name for arm in study.versions.get().conditions.all())
    before = Event.objects.count()
    around = staff.get(f"/staff/studies/{study.slug}/preview/", {"condition": system, "item": "q2"})
    assert (
        f'src="/staff/studies/{study.slug}/preview/page/?page=item&amp;condition=' in around.content.decode()
    )
    page = shown(staff, study, condition=system, item="q2")
    assert "Elsewhere" in page
    assert "Do you think the system" in page
    assert "Nothing that is entered here is stored." in page
    assert "Kolwen 2" in shown(staff, study, condition=truth, item="q2")
    assert "I trust the question answering system" in shown(staff, study, page="survey")
    assert "You may stop at any time." in shown(staff, study, page="consent")
    assert not Participant.objects.exists()
    assert Event.objects.count() == before


def test_every_page_of_the_way_is_the_participants_own(staff):
    study = factories.make_everything()
    content = study.versions.get().frozen
    first = {
        "consent": "I agree to take part",
        "screening": "A few questions first",
        "instructions": "Your task",
        "comprehension": "Is everything clear?",
        "pre_survey": "Before you begin",
        "practice": "This is a practice question. It does not count.",
        "item": "Question 1 of",
        "attention": content["attention"][0]["text"],
        "survey": "Final questions",
        "done": "Thank you for taking part",
        "screened_out": "Thank you for your interest",
    }
    for name, words in first.items():
        page = shown(staff, study, page=name)
        assert words in page, name
        assert 'class="test-mark"' in page, name
        if name not in ("done", "screened_out", "consent"):
            assert 'class="button"' in page, name
    assert "<progress" in shown(staff, study)
    german = shown(staff, study, page="consent", language="de")
    assert "Vorschau" in german or content["translations"]["de"]["title"] in german


def test_a_survey_of_several_pages_shows_each(staff):
    questions = [
        {"key": "first", "text": "First?", "scale": "yes_no"},
        {"page_break": True},
        {"key": "second", "text": "Second?", "scale": "yes_no"},
    ]
    study = factories.make_study(items=1, questionnaire={"template": "xqa-2020", "post_survey": questions})
    around = staff.get(f"/staff/studies/{study.slug}/preview/").content.decode()
    assert 'value="survey.2"' in around
    assert 'value="survey.3"' not in around
    for name, here, there in (("survey", "First?", "Second?"), ("survey.2", "Second?", "First?")):
        page = shown(staff, study, page=name)
        assert here in page
        assert there not in page


def test_items_are_listed_by_their_question(staff):
    study = factories.make_everything()
    page = join_lines(staff.get(f"/staff/studies/{study.slug}/preview/").content.decode())
    content = study.versions.get().frozen
    for row in (*content["items"], *content["practice"]):
        assert f'value="{row["id"]}" title="{row["id"]}"' in page
        assert f">{row['question']}</option>" in page


def test_the_frame_takes_no_form_and_no_script_and_stays_on_this_site(staff):
    study = factories.make_study(items=1)
    response = staff.get(f"/staff/studies/{study.slug}/preview/page/")
    policy = response.headers["Content-Security-Policy"]
    for rule in ("frame-ancestors 'self'", "form-action 'none'", "script-src 'none'"):
        assert rule in policy
    assert response.headers["X-Frame-Options"] == "SAMEORIGIN"
    around = staff.get(f"/staff/studies/{study.slug}/preview/")
    assert "frame-ancestors 'none'" in around.headers["Content-Security-Policy"]


def test_pages_that_a_study_lacks_are_not_offered(staff):
    study = factories.make_study(items=1)
    around = staff.get(f"/staff/studies/{study.slug}/preview/").content.decode()
    assert 'value="screening"' not in around
    assert 'value="practice"' not in around
    assert "Your judgement" in shown(staff, study, page="screening")
    study = factories.make_study(items=1, instructions_page=True)
    assert "Judge each answer." in shown(staff, study, page="instructions")


def test_a_draft_has_no_preview(staff):
    study = factories.make_study(launched=False)
    page = staff.get(f"/staff/studies/{study.slug}/preview/", follow=True).content.decode()
    assert "Launch the study to" in page
    assert staff.get(f"/staff/studies/{study.slug}/preview/page/").status_code == 404


def test_users_without_a_role_find_nothing(client):
    study = factories.make_study(items=1)
    client.force_login(factories.make_user(None))
    for address in ("preview/", "preview/page/"):
        assert client.get(f"/staff/studies/{study.slug}/{address}").status_code == 404

"""Participants' pages while a study runs: marks, titles, code, busy site.

The code is the one at the end.
"""

import re

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse

from studyapp.link_tokens import sign_participant
from studyapp.models import Trial
from studyapp.web.forms.participants import make_page_key
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

HYPOTHESIS = "Explanations raise trust"
NEUTRAL = "A study of films"
MARKS = {"pilot": "This is a test run.", "bot": "This link is for simulated participants.", "live": ""}


def opened(study, *, mode="live", **options):
    """A browser on the consent page of a new link."""
    browser = Client()
    token = factories.make_link_and_token(study=study, mode=mode)[1]
    return browser, browser.get(f"/join/{token}/", follow=True, **options)


def of(participant):
    """The browser of a participant."""
    browser = Client()
    browser.cookies["participant"] = sign_participant(participant)
    return browser


def text(response):
    return response.content.decode()


@pytest.mark.parametrize("mode", MARKS)
def test_pages_of_pilots_and_bots_are_marked_and_live_ones_are_not(mode):
    study = factories.make_study(items=1)
    participant = factories.make_participant(link=factories.make_link(study=study, mode=mode))
    pages = [
        text(opened(study, mode=mode)[1]),
        text(of(participant).get(f"/study/{study.slug}/", follow=True)),
    ]
    factories.answer_item(participant)
    pages.append(text(of(participant).get(f"/study/{study.slug}/survey/")))
    factories.answer_survey(participant)
    pages.append(text(of(participant).get(f"/study/{study.slug}/done/")))
    for page in pages:
        assert MARKS[mode] in page
        assert ("test-mark" in page) == (mode != "live")


class TestTitles:
    @pytest.fixture
    def study(self):
        return factories.make_study(items=1, title=HYPOTHESIS, title_for_participants=NEUTRAL)

    def test_no_page_of_participants_names_the_hypothesis(self, study):
        participant = factories.make_participant(study=study)
        browser = of(participant)
        pages = [text(opened(study)[1]), text(browser.get(f"/study/{study.slug}/item/1/"))]
        factories.answer_item(participant)
        pages.append(text(browser.get(f"/study/{study.slug}/survey/")))
        factories.answer_survey(participant)
        pages.append(text(browser.get(f"/study/{study.slug}/done/")))
        pages.append(text(browser.post("/withdraw/", {"code": participant.withdrawal_code})))
        for page in pages:
            assert NEUTRAL in page
            assert HYPOTHESIS not in page

    @pytest.mark.parametrize("launched", [True, False])
    def test_nor_does_a_refusal(self, launched):
        study = factories.make_study(
            items=1, title=HYPOTHESIS, title_for_participants=NEUTRAL, launched=launched,
            recruitment={"platform": "sona", "outcomes": {}},
        )  # fmt: skip
        token = factories.make_link_and_token(study=study)[1]
        shown = text(Client().get(f"/join/{token}/?survey_code=1", follow=True))
        shown += text(Client().get(f"/join/{token}/", follow=True))
        assert HYPOTHESIS not in shown
        assert NEUTRAL in shown

    def test_staff_see_the_internal_title(self, study, client):
        client.force_login(factories.make_user())
        assert HYPOTHESIS in text(client.get(f"/staff/studies/{study.slug}/"))

    def test_a_study_without_one_shows_its_title_as_before(self):
        study = factories.make_study(items=1, title=HYPOTHESIS)
        assert "title_for_participants" not in study.versions.get().frozen
        assert HYPOTHESIS in text(opened(study)[1])

    def test_a_translation_is_of_the_title_that_participants_see(self):
        german = {
            "title": "Eine Studie über Filme",
            "consent": "Sie nehmen an einer Studie teil.",
            "instructions": "Beurteilen Sie jede Antwort.",
        }
        study = factories.make_study(
            items=1, title=HYPOTHESIS, title_for_participants=NEUTRAL, translations={"de": german}
        )
        shown = text(opened(study, headers={"Accept-Language": "de"})[1])
        assert german["title"] in shown
        assert HYPOTHESIS not in shown
        assert NEUTRAL not in shown

    @pytest.mark.parametrize(("public_title", "warns"), [(None, True), (HYPOTHESIS, True), (NEUTRAL, False)])
    def test_the_review_warns_while_both_titles_are_the_same(self, client, public_title, warns):
        study = factories.make_study(
            items=1, title=HYPOTHESIS, title_for_participants=public_title, launched=False
        )
        client.force_login(factories.make_user())
        page = text(client.get(reverse("studyapp:studio_review", args=[study.slug])))
        assert ("Participants see the title that staff see." in page) == warns

    def test_a_new_draft_is_asked_for_it(self, client):
        client.force_login(factories.make_user())
        form = text(client.get(reverse("studyapp:studio")))
        suggested = re.search(r'name="title_for_participants" value="([^"]+)"', form)[1]
        sent = {"title": HYPOTHESIS, "title_for_participants": suggested, "slug": "new", "start": "xqa-2020"}
        at = client.post(reverse("studyapp:studio_start"), sent)
        assert f'value="{suggested}"' in text(client.get(at.url))


class TestCodes:
    @pytest.mark.parametrize(
        ("recruitment", "code", "words", "leads"),
        [
            (None, None, "If you are asked for a code", False),
            (
                {"platform": "prolific", "outcomes": {"done": {"code": "CDONE"}}},
                "CDONE",
                "Enter it on Prolific as the completion code.",
                True,
            ),
            ({"platform": "connect", "outcomes": {}}, None, "Enter it on CloudResearch Connect", False),
            ({"platform": "mturk", "outcomes": {}}, None, "submit the task there", False),
        ],
    )
    def test_one_code_and_what_to_do_with_it(self, recruitment, code, words, leads):
        study = factories.make_study(items=1, recruitment=recruitment)
        participant = factories.make_participant(study=study, completed=True)
        page = text(of(participant).get(f"/study/{study.slug}/done/"))
        assert re.findall(r'<p class="code">([^<]+)</p>', page) == [code or participant.completion_code]
        assert words in page
        assert ("Press the button to return to Prolific" in page) == leads
        assert page == text(of(participant).get(f"/study/{study.slug}/done/"))

    def test_the_code_for_a_withdrawal_is_apart_and_closed(self):
        participant = factories.make_participant(completed=True)
        slug = participant.version.study.slug
        page = text(of(participant).get(f"/study/{slug}/done/"))
        before, _opened, details = page.partition("<details")
        assert participant.withdrawal_code not in before
        assert participant.withdrawal_code in details


class TestBusySite:
    @pytest.fixture
    def participant(self):
        return factories.make_participant(study=factories.make_study(items=2))

    def test_a_503_offers_the_page_again_and_stores_nothing(self, participant):
        browser = of(participant)
        browser.raise_request_exception = False
        address = f"/study/{participant.version.study.slug}/item/1/"
        browser.get(address)
        trial = participant.trials.get(position=1)
        form = {"page_key": make_page_key("item", trial.pk), "rated_correct": "yes", "known_before": "no",
                "certainty": "4", "helpfulness": "3"}  # fmt: skip

        def fail(*_arguments):
            raise OperationalError("server closed the connection unexpectedly")

        with connection.execute_wrapper(fail):
            busy = browser.post(address, form)
        assert busy.status_code == 503
        assert busy.headers["Retry-After"]
        assert '<a class="button" href="">Try again</a>' in text(busy)
        assert not Trial.objects.filter(answers__isnull=False).exists()
        assert browser.post(address, form).status_code == 302
        assert Trial.objects.get(answers__isnull=False).answers["certainty"] == 4

    def test_an_address_that_takes_forms_only_is_not_offered_again(self, client):
        client.raise_request_exception = False

        def fail(*_arguments):
            raise OperationalError("server closed the connection unexpectedly")

        with connection.execute_wrapper(fail):
            busy = client.post("/withdraw/", {"code": "x"})
        assert busy.status_code == 503
        assert "Try again" not in text(busy)

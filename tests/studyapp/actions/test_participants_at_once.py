"""Tests of one participant in two tabs, and of many at the same moment."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from studyapp.actions.pages import show_survey, show_trial, submit_survey
from studyapp.actions.participants import consent
from studyapp.actions.privacy import anonymise_participant, delete_participant, withdraw
from studyapp.models import EntryLink, Event, Participant, StudyVersion, SurveyResponse, Trial
from studyapp.policies import Full, NotAdmitted
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories
from tests.studyapp.actions.test_participants import enter, fetched, make_participant, page_of, submit
from tests.studyapp.factories import SURVEY_ANSWERS
from tests.studyapp.views.test_advice_pages import TYPED, key, taking_part


@pytest.mark.django_db
class TestWithdrawnInAnotherTab:
    """A page that was open when the person withdrew stores nothing.

    Neither what it sends nor what it shows is stored any more.
    """

    def test_the_last_page_leaves_it_withdrawn(self):
        participant = make_participant(items=3)
        show_survey(participant=participant)
        tab = fetched(participant)
        withdraw(participant=participant)
        sent = {"answers": SURVEY_ANSWERS, "changes": {}, "timing": PageTiming()}
        assert not submit_survey(participant=tab, **sent)
        assert Participant.objects.get(pk=participant.pk).status == "withdrawn"
        assert not SurveyResponse.objects.filter(answers__isnull=False).exists()

    def test_no_page_after_anonymising_gives_the_day_away(self):
        participant = make_participant()
        page, later = page_of(fetched(participant)).trial, participant.trials.all()[1]
        show_trial(trial=page)
        anonymise_participant(participant=participant, by=None, reason="asked")
        assert not submit(page)
        show_trial(trial=later)
        assert later.shown_at is None
        assert not Trial.objects.filter(answers__isnull=False).exists()


@pytest.mark.django_db
def test_who_is_deleted_before_the_survey_is_sent_to_the_study():
    participant = make_participant(items=3)
    tab = fetched(participant)
    delete_participant(participant=participant, by=None, reason="asked")
    assert page_of(tab).kind == "study"


def at_once(n, act):
    """Run ``act(number)`` in n threads with a database connection each."""

    def run(number):
        try:
            return act(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(n) as threads:
        return list(threads.map(run, range(n)))


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_fifty_consents_over_four_conditions_differ_by_at_most_one(self):
        study = factories.make_study(conditions=4)
        link = factories.make_link(study=study)
        at_once(50, lambda _: enter(link=EntryLink.objects.select_related("study").get(pk=link.pk)))
        counts = Counter(Participant.objects.values_list("condition__name", flat=True))
        assert sum(counts.values()) == 50
        assert sorted(counts.values()) == [12, 12, 13, 13]
        assert Trial.objects.count() == 50 * 3
        assert Participant.objects.values("order_seed").distinct().count() == 50

    def test_no_more_are_admitted_than_the_study_has_places(self):
        study = factories.make_study(conditions=2, participants=7)
        link = factories.make_link(study=study)

        def try_it(_):
            try:
                return consent(link=EntryLink.objects.select_related("study").get(pk=link.pk))
            except Full:
                return None

        assert len([person for person in at_once(20, try_it) if person]) == 7
        assert Participant.objects.count() == 7

    def test_one_of_many_gets_a_single_use_link(self):
        link = factories.make_link(single_use=True)

        def try_it(_):
            try:
                return enter(link=EntryLink.objects.select_related("study").get(pk=link.pk))
            except NotAdmitted:
                return None

        people = at_once(8, try_it)
        assert len([person for person in people if person]) == 1
        assert Participant.objects.count() == 1

    def test_one_consent_page_sent_many_times_makes_one_participant(self):
        link = factories.make_link()
        people = at_once(
            8,
            lambda _: consent(
                link=EntryLink.objects.select_related("study").get(pk=link.pk), public_id="same-page"
            ),
        )
        assert len({person.pk for person in people}) == 1
        assert Participant.objects.count() == 1

    def test_parallel_submissions_of_one_item_store_one_row_and_one_event(self):
        participant = make_participant()
        show_trial(trial=page_of(participant).trial)
        pages = [page_of(fetched(participant)).trial for _ in range(8)]
        stored = at_once(8, lambda number: submit(pages[number], certainty=number % 5 + 1))
        assert sorted(stored) == [False] * 7 + [True]
        trial = participant.trials.get(answers__isnull=False)
        assert trial.answers["certainty"] == stored.index(True) % 5 + 1
        assert Event.objects.filter(kind="item_submitted").count() == 1
        assert Participant.objects.get(pk=participant.pk).items_submitted == 1

    def test_parallel_submissions_of_a_page_of_the_survey_turn_it_once(self):
        pages = [
            {"key": "used", "text": "Did you use it?", "scale": "yes_no"},
            {"page_break": True},
            {"key": "often", "text": "How often?", "scale": {"points": 5}},
        ]
        survey = {"template": "xqa-2020", "post_survey": pages}
        participant = make_participant(study=factories.make_study(questionnaire=survey), items=3)
        show_survey(participant=participant)
        people = [fetched(participant) for _ in range(8)]
        for number, answers in ((1, {"used": True}), (2, {"often": 4})):
            stored = at_once(
                8,
                lambda tab, number=number, answers=answers: submit_survey(
                    participant=people[tab], answers=answers, changes={}, timing=PageTiming(10), number=number
                ),
            )
            assert sorted(stored) == [False] * 7 + [True]
        row = SurveyResponse.objects.get()
        assert (row.answers, row.page, row.client_total_ms) == ({"used": True, "often": 4}, 2, 20)
        assert Event.objects.filter(kind="page_submitted").count() == 1

    def test_parallel_submissions_of_the_survey_make_one_code(self):
        participant = make_participant(items=3)
        show_survey(participant=participant)
        people = [fetched(participant) for _ in range(8)]
        stored = at_once(
            8,
            lambda number: submit_survey(
                participant=people[number], answers=SURVEY_ANSWERS, changes={}, timing=PageTiming()
            ),
        )
        assert sorted(stored) == [False] * 7 + [True]
        winner = people[stored.index(True)]
        assert Participant.objects.get(pk=participant.pk).completion_code == winner.completion_code
        assert Event.objects.filter(kind="completed").count() == 1

    @pytest.mark.parametrize("act", [withdraw, anonymise_participant, delete_participant])
    def test_data_taken_out_while_a_page_is_sent(self, act):
        """The removal and the page never wait for each other.

        Nothing comes in after the data that were to be taken out are gone.
        """
        study = factories.make_study()
        people = [make_participant(study=study) for _ in range(25)]
        for participant in people:
            show_trial(trial=page_of(participant).trial)
        pages = [page_of(fetched(participant)).trial for participant in people]
        reason = {} if act is withdraw else {"by": None, "reason": "asked"}

        def run(number):
            if number % 2:
                return submit(pages[number // 2])
            return act(participant=people[number // 2], **reason)

        stored = at_once(50, run)[1::2]
        answered_ids = {trial.participant_id for trial in Trial.objects.filter(answers__isnull=False)}
        if act is not delete_participant:
            assert answered_ids == {
                participant.pk for participant, is_stored in zip(people, stored, strict=True) if is_stored
            }
        else:
            assert not answered_ids
        if act is withdraw:
            assert set(Participant.objects.values_list("status", flat=True)) == {"withdrawn"}

    def test_parallel_launches_make_one_version(self):
        study = factories.make_study(launched=False)
        versions = at_once(6, lambda _: factories.launch(study))
        assert len({version.pk for version in versions}) == 1
        assert StudyVersion.objects.count() == 1

    def test_a_first_answer_that_is_sent_twice_is_stored_once_and_stays(self, client):
        address = taking_part(client)
        page_key = key(client.get(address))

        def send(number):
            tab = Client()
            tab.cookies = client.cookies.copy()
            answers = {**TYPED, "initial_answer": f"Kolwen {number}"}
            return tab.post(address, {"page_key": page_key, **answers}).status_code

        assert set(at_once(4, send)) == {302}
        trial = Trial.objects.get()
        [page] = trial.earlier
        assert (trial.page, trial.answers) == (2, None)
        assert page["answers"]["initial_answer"] in {f"Kolwen {number}" for number in range(4)}
        assert Event.objects.filter(kind="page_submitted").count() == 1
        send(9)
        assert Trial.objects.get().earlier == [page]

"""Tests of what participants do: consent, pages, completion."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from studyapp.actions.pages import show_survey, show_trial, submit_survey, submit_trial
from studyapp.actions.participants import consent
from studyapp.actions.privacy import delete_participant
from studyapp.actions.studies import close_study
from studyapp.link_tokens import read_participant, sign_participant
from studyapp.models import Condition, EntryLink, Event, Participant, Trial
from studyapp.policies import NotAdmitted
from studyapp.queries.studies import find_current_page
from studyapp.rules import assignment
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories
from tests.studyapp.factories import ITEM_ANSWERS, SURVEY_ANSWERS


def read(cookie):
    return read_participant(cookie)


def fetched(participant):
    """The participant as a page gets it."""
    return read(sign_participant(participant))


def enter(link, **options):
    return consent(link=link, **options)


def make_participant(**options):
    return factories.make_participant(**options)


def page_of(participant):
    return find_current_page(participant)


def submit(trial, **answers):
    return submit_trial(
        trial=trial,
        answers={**ITEM_ANSWERS, **answers},
        changes={"certainty": 2},
        timing=PageTiming(9, 8, 1, 1),
        articles=[("others", 1200, 3400)],
    )


@pytest.mark.django_db
def test_it_works():
    participant = make_participant(completed=True)
    assert participant.status == "completed"
    assert participant.items_submitted == 3
    assert len(participant.completion_code) == 10
    assert participant.started_at <= participant.completed_at
    assert list(participant.trials.values_list("answers", flat=True)) == [ITEM_ANSWERS] * 3
    assert participant.survey.answers == SURVEY_ANSWERS
    kinds = Counter(Event.objects.filter(participant=participant).values_list("kind", flat=True))
    once = dict.fromkeys(("consented", "assigned", "survey_shown", "completed"), 1)
    assert kinds == {**once, "item_shown": 3, "item_submitted": 3}


@pytest.mark.django_db
class TestConsent:
    def test_lays_out_all_pages(self):
        study = factories.make_study(items=5)
        participant = enter(link=factories.make_link(study=study))
        trials = list(participant.trials.all())
        assert [trial.position for trial in trials] == [1, 2, 3, 4, 5]
        assert {trial.item for trial in trials} == set(participant.version.items.all())
        assert all(trial.answers is None and trial.shown_at is None for trial in trials)
        assert not participant.survey.is_submitted
        assert participant.consented_at == participant.assigned_at == participant.last_seen_at
        assert participant.started_at is None

    def test_assignment_and_order_can_be_replayed(self):
        study = factories.make_study(conditions=3, items=5, order_seed=11)
        link = factories.make_link(study=study)
        version = study.versions.get()
        items = list(version.items.order_by("position"))
        for _ in range(7):
            participant = enter(link=link)
            seed = assignment.derive_seed(11, participant.public_id)
            assert participant.order_seed == seed
            names = [condition.name for condition in version.conditions.order_by("position")]
            again = assignment.choose(names, participant.assignment_counts, {}, seed=seed)
            assert participant.condition.name == again
            order = assignment.draw_permutation(len(items), seed=seed)
            assert [trial.item for trial in participant.trials.all()] == [items[index] for index in order]

    def test_a_seed_of_somebody_deleted_is_given_to_nobody_else(self):
        link = factories.make_link(study=factories.make_study())
        first = enter(link=link)
        seeds = {first.order_seed, enter(link=link).order_seed}
        delete_participant(participant=first, by=None, reason="asked")
        assert enter(link=link).order_seed not in seeds

    def test_orders_differ(self):
        link = factories.make_link(study=factories.make_study(items=6))
        orders = {tuple(enter(link=link).trials.values_list("item", flat=True)) for _ in range(6)}
        assert len(orders) > 1

    def test_what_was_counted_is_stored(self):
        link = factories.make_link(study=factories.make_study(conditions=2))
        first, second = enter(link=link), enter(link=link)
        assert set(first.assignment_counts.values()) == {0}
        assert second.assignment_counts[first.condition.name] == 1
        assert second.condition != first.condition

    def test_stale_places_are_given_again(self):
        link = factories.make_link(study=factories.make_study(conditions=2, stale_after_minutes=60))
        first, second = enter(link=link), enter(link=link)
        long_ago = timezone.now() - timedelta(minutes=61)
        Participant.objects.filter(pk=first.pk).update(last_seen_at=long_ago)
        third = enter(link=link)
        assert third.assignment_counts == {first.condition.name: 0, second.condition.name: 1}
        assert third.condition == first.condition

    def test_completed_count_however_old_they_are(self):
        link = factories.make_link(study=factories.make_study(conditions=2))
        done = make_participant(link=link, completed=True)
        Participant.objects.filter(pk=done.pk).update(last_seen_at=timezone.now() - timedelta(days=30))
        assert enter(link=link).assignment_counts[done.condition.name] == 1

    def test_withdrawn_do_not_count(self):
        link = factories.make_link(study=factories.make_study(conditions=2))
        gone = enter(link=link)
        Participant.objects.filter(pk=gone.pk).update(status="withdrawn")
        assert set(enter(link=link).assignment_counts.values()) == {0}

    @pytest.mark.parametrize("others", ["pilot", "bot"])
    def test_other_modes_never_count(self, others):
        study = factories.make_study(conditions=2)
        for _ in range(3):
            enter(link=factories.make_link(study=study, mode=others))
        live = enter(link=factories.make_link(study=study))
        assert set(live.assignment_counts.values()) == {0}
        assert live.mode == "live"
        counted = enter(link=factories.make_link(study=study, mode=others)).assignment_counts
        assert sum(counted.values()) == 3

    def test_weights(self):
        definition = factories.make_definition(conditions=2)
        first, last = definition.conditions
        heavy = definition.model_copy(update={"conditions": [first.model_copy(update={"weight": 3.0}), last]})
        link = factories.make_link(study=factories.make_study_of(heavy))
        names = Counter(enter(link=link).condition.name for _ in range(8))
        assert names == {heavy.conditions[0].name: 6, "ground truth": 2}

    def test_closed_conditions_get_nobody(self):
        study = factories.make_study(conditions=2)
        Condition.objects.filter(version__study=study, name="ground truth").update(is_open=False)
        link = factories.make_link(study=study)
        people = [enter(link=link) for _ in range(4)]
        assert all(person.condition.name != "ground truth" for person in people)
        assert "ground truth" not in people[-1].assignment_counts

    def test_newcomers_get_the_newest_version(self):
        definition = factories.make_definition()
        study = factories.make_study_of(definition)
        link = factories.make_link(study=study)
        first = enter(link=link)
        factories.make_study_of(definition.model_copy(update={"title": "Another title"}))
        assert first.version.number == 1
        assert enter(link=link).version.number == 2


@pytest.mark.django_db
class TestNotAdmitted:
    def test_draft(self):
        link = factories.make_link(study=factories.make_study(launched=False))
        with pytest.raises(NotAdmitted, match="not open yet"):
            enter(link=link)
        assert not Participant.objects.exists()

    def test_closed_since_the_link_was_read(self):
        study = factories.make_study()
        link = factories.make_link(study=study)
        close_study(study=study, by=None)
        assert link.study.status == "open", "the link was read before"
        with pytest.raises(NotAdmitted, match="closed"):
            enter(link=link)
        assert not Participant.objects.exists()

    def test_used_single_use_link(self):
        link = factories.make_link(single_use=True)
        enter(link=link)
        with pytest.raises(NotAdmitted, match="one person"):
            enter(link=EntryLink.objects.get(pk=link.pk))
        assert Participant.objects.count() == 1

    def test_single_use_link_used_since_it_was_read(self):
        link = factories.make_link(single_use=True)
        stale = EntryLink.objects.select_related("study").get(pk=link.pk)
        enter(link=link)
        with pytest.raises(NotAdmitted, match="one person"):
            enter(link=stale)

    def test_no_condition_open_leaves_a_single_use_link_unused(self):
        study = factories.make_study()
        Condition.objects.update(is_open=False)
        link = factories.make_link(study=study, single_use=True)
        with pytest.raises(NotAdmitted, match="no more participants"):
            enter(link=link)
        assert EntryLink.objects.get(pk=link.pk).used_at is None


@pytest.mark.django_db
class TestConsentTwice:
    def test_one_page_sent_twice_makes_one_participant(self):
        link = factories.make_link(single_use=True)
        first = enter(link=link, public_id="abc")
        assert enter(link=EntryLink.objects.get(pk=link.pk), public_id="abc") == first
        assert Participant.objects.count() == 1

    def test_a_page_of_another_link_is_refused(self):
        study = factories.make_study()
        enter(link=factories.make_link(study=study), public_id="abc")
        with pytest.raises(NotAdmitted, match="another link"):
            enter(link=factories.make_link(study=study), public_id="abc")


@pytest.mark.django_db
class TestItems:
    def test_shown_once(self):
        trial = page_of(make_participant()).trial
        stale = Trial.objects.select_related("participant").get(pk=trial.pk)
        show_trial(trial=trial)
        shown = Trial.objects.get(pk=trial.pk).shown_at
        assert shown is not None
        show_trial(trial=stale)
        assert Trial.objects.get(pk=trial.pk).shown_at == shown
        assert Event.objects.filter(kind="item_shown").count() == 1

    def test_started_is_the_first_item(self):
        participant = make_participant(items=2)
        started = participant.started_at
        assert started == participant.trials.first().shown_at
        factories.answer_item(participant)
        participant.refresh_from_db()
        assert participant.started_at == started

    def test_stored_as_sent(self):
        participant = make_participant()
        trial = page_of(participant).trial
        show_trial(trial=trial)
        assert submit(trial, certainty=5)
        trial.refresh_from_db()
        assert trial.answers == {**ITEM_ANSWERS, "certainty": 5}
        assert trial.changes == {"certainty": 2}
        assert (trial.client_total_ms, trial.client_visible_ms, trial.client_hidden_ms) == (9, 8, 1)
        assert trial.hidden_count == 1
        assert trial.first_interaction_ms is None
        assert trial.shown_at <= trial.submitted_at

    def test_second_submission_changes_nothing(self):
        participant = make_participant()
        trial = page_of(participant).trial
        show_trial(trial=trial)
        assert submit(trial, certainty=5)
        before = Trial.objects.values().get(pk=trial.pk)
        assert not submit(trial, certainty=1)
        assert Trial.objects.values().get(pk=trial.pk) == before
        assert Participant.objects.get(pk=participant.pk).items_submitted == 1
        assert Event.objects.filter(kind="item_submitted").count() == 1

    def test_never_shown_cannot_be_submitted(self):
        participant = make_participant()
        assert not submit(page_of(participant).trial)
        assert page_of(participant).trial.position == 1

    def test_a_clock_set_back_gives_no_time_below_zero(self):
        participant = make_participant()
        trial = page_of(participant).trial
        ahead = timezone.now() + timedelta(minutes=5)
        Trial.objects.filter(pk=trial.pk).update(shown_at=ahead)
        assert submit(trial)
        assert Trial.objects.get(pk=trial.pk).submitted_at == ahead

    def test_unanswered_optional_question_has_no_key(self):
        participant = make_participant()
        trial = page_of(participant).trial
        show_trial(trial=trial)
        assert submit_trial(trial=trial, answers={"rated_correct": False}, changes={}, timing=PageTiming())
        trial.refresh_from_db()
        assert trial.answers == {"rated_correct": False}
        assert trial.changes == {}
        assert trial.client_total_ms is None

    def test_who_consented_may_finish_a_closed_study(self):
        participant = make_participant(items=1)
        close_study(study=participant.version.study, by=None)
        factories.answer_item(participant)
        participant.refresh_from_db()
        assert participant.items_submitted == 2


@pytest.mark.django_db
class TestSurvey:
    def submit(self, participant, **answers):
        return submit_survey(
            participant=participant, answers={**SURVEY_ANSWERS, **answers}, changes={}, timing=PageTiming()
        )

    def test_completes_once(self):
        participant = make_participant(items=3)
        stale = Participant.objects.get(pk=participant.pk)
        show_survey(participant=participant)
        assert self.submit(participant)
        code = Participant.objects.get(pk=participant.pk).completion_code
        assert code == participant.completion_code
        assert not self.submit(stale, trust=1)
        stored = Participant.objects.get(pk=participant.pk)
        assert stored.completion_code == code
        assert stored.survey.answers == SURVEY_ANSWERS

    def test_not_before_the_items(self):
        participant = make_participant(items=2)
        show_survey(participant=participant)
        assert not self.submit(participant)
        participant.refresh_from_db()
        assert participant.status == "active"
        assert participant.completion_code == ""

    def test_not_before_it_was_shown(self):
        assert not self.submit(make_participant(items=3))

    def test_codes_differ(self):
        study = factories.make_study(items=1)
        codes = {make_participant(study=study, completed=True).completion_code for _ in range(5)}
        assert len(codes) == 5


@pytest.mark.django_db
class TestCurrentPage:
    def test_the_way(self):
        participant = make_participant()
        for position in (1, 2, 3):
            page = page_of(participant)
            assert (page.kind, page.trial.position, page.items) == ("item", position, 3)
            factories.answer_item(participant)
        page = page_of(participant)
        assert (page.kind, page.trial) == ("survey", None)
        assert page.survey.participant == participant
        factories.answer_survey(participant)
        assert page_of(participant).kind == "done"

    def test_withdrawn_are_done(self):
        participant = make_participant()
        participant.status = "withdrawn"
        assert page_of(participant).kind == "done"


@pytest.mark.django_db
class TestQueries:
    """The hot path sends few queries.

    In these tests an atomic block is a savepoint: two more statements.
    """

    def test_item_page_is_one_query(self, django_assert_num_queries):
        cookie = sign_participant(make_participant(items=1))
        with django_assert_num_queries(1):
            participant = read(cookie)
            page = page_of(participant)
            assert page.trial.item.external_id
            assert participant.version.study.slug

    def test_a_page_that_is_looked_up_again_is_read_again(self):
        participant = fetched(make_participant())
        first = page_of(participant).trial
        factories.answer_item(Participant.objects.get(pk=participant.pk))
        assert page_of(participant).trial.position == first.position + 1

    def test_showing_for_the_first_time_is_three_writes(self, django_assert_num_queries):
        """The first of them locks the participant."""
        page = page_of(fetched(make_participant()))
        with django_assert_num_queries(3 + 2) as queries:
            show_trial(trial=page.trial)
        assert 'UPDATE "studyapp_participant"' in queries.captured_queries[1]["sql"]
        with django_assert_num_queries(0):
            show_trial(trial=page.trial)

    def test_submitting_is_a_lock_and_five_writes(self, django_assert_num_queries):
        """A submission writes trial, time count, participant and event.

        It writes what rules say of the trial, too.
        """
        participant = make_participant()
        page = page_of(fetched(participant))
        show_trial(trial=page.trial)
        assert submit(page.trial)  # the first page of a study that took so long adds a row for its time
        page = page_of(fetched(participant))
        show_trial(trial=page.trial)
        with django_assert_num_queries(1 + 5 + 2) as queries:
            assert submit(page.trial)
        assert sum(query["sql"].startswith("SELECT") for query in queries.captured_queries) == 1

    def test_done_is_no_query(self, django_assert_num_queries):
        participant = fetched(make_participant(completed=True))
        with django_assert_num_queries(0):
            assert page_of(participant).kind == "done"

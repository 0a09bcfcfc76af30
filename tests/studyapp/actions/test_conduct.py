"""Kept figures of a participant equal those computed from all pages."""

import random
from datetime import timedelta

import pytest

from benchmarks.site._large_data import recount_times
from studyapp.actions import conduct
from studyapp.actions.pages import note_honeypot, show_trial, submit_trial
from studyapp.actions.privacy import anonymise_participant, delete_participant, withdraw
from studyapp.exports.responses import load_response_data, read_responses
from studyapp.models import ItemTime, Participant, Study, Trial
from studyapp.queries.participants.excluded import count_excluded_trials
from studyapp.queries.participants.flags import count_flags, list_participant_flags
from studyapp.queries.running.responses import ResponseFilter
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

RULES = [
    {"name": "fast", "kind": "min_time", "clock": "server", "seconds": 5},
    {"name": "unsure", "kind": "answered", "question": "certainty", "value": 1},
    {"name": "alike", "kind": "flagged", "flag": "identical_pattern"},
]


def answer(participant: Participant, certainty: int, *, seconds: float, hidden: int = 0) -> None:
    """Submit the current item, which was shown some seconds ago."""
    trial = find_current_page(participant).trial
    assert trial is not None
    show_trial(trial=trial)
    assert trial.shown_at is not None
    trial.shown_at -= timedelta(seconds=seconds)
    Trial.objects.filter(pk=trial.pk).update(shown_at=trial.shown_at)
    answers = {**factories.ITEM_ANSWERS, "certainty": certainty}
    timing = PageTiming(client_total_ms=max(round(1000 * seconds), 0), client_hidden_ms=hidden)
    assert submit_trial(trial=trial, answers=answers, changes={}, timing=timing)


def assert_same(study: Study) -> None:
    """Compare stored counts with all answers, and pages with exports."""
    people = Participant.objects.filter(version__study=study).order_by("pk")
    stored = list(people.values_list(*conduct.COLUMNS))
    conduct.recount(people)
    assert list(people.values_list(*conduct.COLUMNS)) == stored
    flags = list_participant_flags(people)
    counts = {flag: number for flag, _meaning, number in count_flags(study)}
    assert counts == {flag: sum(flag in person_flags for person_flags in flags.values()) for flag in counts}
    rows = [
        row
        for batch in read_responses(load_response_data(study, for_file=True), ResponseFilter())
        for row in batch
    ]
    assert count_excluded_trials(study) == (len(rows), sum(bool(row["excluded_by"]) for row in rows))


def test_it_is_right_after_each_response():
    study = factories.make_study(items=6, exclusions=RULES)
    people = [factories.make_participant(study=study) for _number in range(5)]
    rng = random.Random(3)
    for turn in range(6):
        for number, person in enumerate(people):
            # The first two answer alike, the third the same to all, and the fourth hides the page.
            certainty = [4, 4, 3, 1 + turn % 5, rng.randint(1, 5)][number]
            answer(person, certainty, seconds=(20, 2)[rng.random() < 0.2], hidden=9_000 * (number == 3))
            assert_same(study)
    note_honeypot(participant=people[4], page="item")
    assert_same(study)
    times = sorted(ItemTime.objects.values_list("group", "tenths", "number"))
    recount_times(study.versions.get())
    assert sorted(ItemTime.objects.values_list("group", "tenths", "number")) == times
    delete_participant(participant=people[1], reason="asked", by=factories.make_user())
    left = sum(ItemTime.objects.values_list("number", flat=True))
    assert left == Trial.objects.filter(submitted_at__isnull=False).count() == 24
    withdraw(participant=people[0], reason="asked", by=factories.make_user())
    assert_same(study)


def test_a_clock_that_was_set_back_counts_as_it_is_stored():
    study = factories.make_study(items=2)
    person, other = (factories.make_participant(study=study) for _number in range(2))
    answer(person, 3, seconds=-30)
    assert list(ItemTime.objects.values_list("tenths", "number")) == [(0, 1)]
    assert_same(study)
    delete_participant(participant=person, reason="asked", by=factories.make_user())
    answer(other, 3, seconds=10)
    ItemTime.objects.filter(number=1).update(number=0)  # as an earlier version left it
    delete_participant(participant=other, reason="asked", by=factories.make_user())
    assert not Participant.objects.exists()


def test_failed_checks_flag_from_the_page_that_failed():
    study = factories.make_everything()
    careless = factories.make_participant(study=study)
    factories.go_through_stages(careless)
    while (page := find_current_page(careless)).trial is not None and page.trial.item.kind != "attention":
        factories.answer_item(careless)
    factories.answer_item(careless, rated_correct=True)
    assert_same(study)
    careless.refresh_from_db()
    assert careless.failed_attention


def test_texts_that_are_removed_count_no_longer():
    study = factories.make_study(items=2)
    person = factories.make_participant(study=study, completed=True)
    anonymise_participant(participant=person, reason="asked", by=factories.make_user())
    assert_same(study)

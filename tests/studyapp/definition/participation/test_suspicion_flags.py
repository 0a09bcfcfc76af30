"""Tests of flags: their rules, storage and export.

A rule of exclusion reads them.
"""

import csv
import json
from datetime import timedelta

import pytest
from django.conf import settings

from analysis.participants.exclusion_rules import apply_rules
from studyapp.actions.conduct import recount
from studyapp.actions.pages import show_stage, submit_stage
from studyapp.definition.participation.suspicion_flags import FLAGS, MEANINGS
from studyapp.exports.bundle import write_bundle
from studyapp.models import Event, Participant, Trial
from studyapp.queries.bots import build_study_plan
from studyapp.queries.participants.flags import count_flags, list_flagged_participants, list_participant_flags
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories

VARIED = [{"a": number % 3, "b": True} for number in range(6)]
SAME = [{"a": 4, "b": True}] * 6


def flags_after(answers, *, seconds=(), hidden_ms=None, study=None):
    """Return the flags of a participant with these answers.

    Items take 20 s unless ``seconds`` says otherwise.
    """
    study = study or factories.make_study(items=6, conditions=1)
    person = factories.make_participant(study=study)
    begun = person.consented_at
    assert begun is not None
    times = [*seconds, *[20.0] * (len(answers) - len(seconds))]
    trials = person.trials.order_by("item__external_id")
    for trial, trial_answers, took, hidden in zip(
        trials, answers, times, [hidden_ms, *[0] * 5], strict=False
    ):
        trial.answers, trial.shown_at = trial_answers, begun
        trial.submitted_at = begun + timedelta(seconds=took)
        trial.client_total_ms, trial.client_hidden_ms = (None, None) if hidden_ms is None else (200, hidden)
        trial.save()
    Participant.objects.filter(pk=person.pk).update(items_submitted=len(answers))
    recount(Participant.objects.filter(version__study=study))
    return list_participant_flags(Participant.objects.filter(pk=person.pk)).get(person.pk, [])


@pytest.mark.django_db
class TestOfAllItems:
    def test_who_answers_in_earnest_has_no_flag(self):
        assert flags_after(VARIED, hidden_ms=0) == flags_after([]) == []

    @pytest.mark.parametrize(("fast", "flagged"), [(0, False), (1, False), (2, True), (6, True)])
    def test_impossible_speed_is_a_share_of_the_items(self, fast, flagged):
        taken = flags_after(VARIED, seconds=[2.9] * fast + [3.0] * (6 - fast))
        assert ("impossible_speed" in taken) is flagged

    def test_straight_lining_needs_enough_items(self):
        assert flags_after(SAME) == ["straight_lining"]
        assert flags_after(SAME[:4]) == []
        assert flags_after([*SAME[:5], {"a": 4, "b": False}]) == []

    def test_focus_loss_is_of_the_whole_time_and_needs_a_clock(self):
        assert flags_after(VARIED, hidden_ms=301) == ["focus_loss"]
        assert flags_after(VARIED, hidden_ms=300) == []
        assert flags_after(VARIED) == []

    def test_a_pattern_is_of_at_least_five_answers_to_the_same_items(self):
        study = factories.make_study(items=6, conditions=1)
        assert flags_after(VARIED[:4], study=study) == flags_after(VARIED[:4], study=study) == []
        assert flags_after(VARIED, study=study) == flags_after(VARIED[::-1], study=study) == []
        assert flags_after(VARIED, study=study) == ["identical_pattern"]


def test_every_flag_has_a_meaning():
    assert set(MEANINGS) == set(FLAGS)


def test_a_rule_may_read_a_flag():
    rule = {"name": "too-alike", "kind": "flagged", "flag": "identical_pattern"}
    trials = [
        {"participant_id": str(flags), "condition": "a", "item_id": "q", "flags": flags}
        for flags in ("identical_pattern", "honeypot;identical_pattern", "honeypot", None)
    ]
    assert apply_rules([rule], trials).names == [("too-alike",), ("too-alike",), (), ()]


@pytest.fixture
def study(db):
    rules = [{"name": "alike", "kind": "flagged", "flag": "identical_pattern"}]
    return factories.make_study(items=5, exclusions=rules)


def take_part(study, certainties):
    participant = factories.make_participant(study=study)
    by_item = dict(
        zip(sorted(participant.trials.values_list("item__external_id", flat=True)), certainties, strict=True)
    )
    while (trial := participant.trials.filter(answers__isnull=True).first()) is not None:
        factories.answer_item(participant, certainty=by_item[trial.item.external_id])
    # The tests take no time, which would be a flag of its own.
    Trial.objects.filter(participant=participant).update(shown_at=participant.consented_at)
    for trial in participant.trials.all():
        Trial.objects.filter(pk=trial.pk).update(submitted_at=participant.consented_at.replace(year=2100))
    recount(study.versions.get().participants.all())
    return participant


def test_flags_are_exported_and_exclude_by_the_rules_of_the_study_only(study, tmp_path):
    first, second = (take_part(study, [1, 2, 3, 4, 5]) for _number in range(2))
    lining = take_part(study, [3, 3, 3, 3, 3])
    honest = take_part(study, [5, 4, 3, 2, 1])
    assert list_participant_flags(Participant.objects.all()) == {
        first.pk: ["identical_pattern"], second.pk: ["identical_pattern"], lining.pk: ["straight_lining"],
    }  # fmt: skip
    assert [row.public_id for row in list_flagged_participants(study)] == [
        first.public_id, second.public_id, lining.public_id,
    ]  # fmt: skip
    counts = {flag: n for flag, _meaning, n in count_flags(study)}
    assert counts["identical_pattern"] == 2
    write_bundle(study, tmp_path / "out")
    with (tmp_path / "out" / "participants.csv").open() as file:
        flags = {row["participant_id"]: row["flags"] for row in csv.DictReader(file)}
    assert flags[lining.public_id] == "straight_lining"
    assert flags[honest.public_id] == ""
    with (tmp_path / "out" / "trials.csv").open() as file:
        excluded = {row["participant_id"] for row in csv.DictReader(file) if row["excluded_by"] == "alike"}
    assert excluded == {first.public_id, second.public_id}
    counts = json.loads((tmp_path / "out" / "rules.json").read_text())["counts"]["live"]
    assert counts["by_rule"] == {"alike": 10}


def test_the_field_that_people_do_not_see_flags_and_stops_nobody(study, client):
    _link, token = factories.make_link_and_token(study=study)
    client.get(f"/join/{token}/")
    page = client.get(f"/study/{study.slug}/consent/").content.decode()
    key = page.split('name="page_key" value="')[1].split('"')[0]
    page = client.post(
        f"/study/{study.slug}/consent/", {"consent": "yes", "page_key": key}, follow=True
    ).content.decode()
    assert "Please leave this field empty" in page
    key = page.split('name="page_key" value="')[1].split('"')[0]
    sent = {
        "page_key": key,
        "rated_correct": "yes",
        "known_before": "no",
        "certainty": "4",
        "helpfulness": "3",
    }
    response = client.post(f"/study/{study.slug}/item/1/", {**sent, "homepage": "https://spam.example"})
    assert response.url == f"/study/{study.slug}/item/2/"
    event = Event.objects.get(kind="honeypot_filled")
    assert event.data == {"page": "item"}
    assert list_participant_flags(Participant.objects.all())[event.participant_id] == [
        "impossible_speed",
        "honeypot",
    ]


def test_the_how_to_states_the_flags():
    page = (settings.BASE_DIR / "docs" / "how-to" / "run-a-study.md").read_text(encoding="utf-8")
    for flag, meaning in MEANINGS.items():
        assert f"| `{flag}` | {meaning}" in page


def test_failed_checks_are_flags_that_a_registered_rule_may_read(db, tmp_path):
    checks = [
        {"name": "does-not-read", "kind": "flagged", "flag": "failed_attention"},
        {"name": "does-not-understand", "kind": "flagged", "flag": "failed_comprehension"},
    ]
    study = factories.make_everything(exclusions=checks)
    careless, careful = (factories.make_participant(study=study) for _number in range(2))
    while (page := find_current_page(careless).stage) is not None and page.stage != "comprehension":
        show_stage(page=page)
        passing = build_study_plan(study).heeded.get(page.stage, {})
        submit_stage(page=page, answers=passing, changes={}, timing=PageTiming(9_000))
        careless.refresh_from_db()
    assert page is not None
    show_stage(page=page)
    wrong = {"look_up": True, "judged": "style"}
    submit_stage(page=page, answers=wrong, changes={}, timing=PageTiming(9_000))
    assert list_participant_flags(Participant.objects.all()) == {careless.pk: ["failed_comprehension"]}
    for participant, answers in ((careless, {"certainty": 2}), (careful, {"rated_correct": False})):
        factories.go_through_stages(participant)
        while participant.trials.filter(item__kind="attention", answers__isnull=True).exists():
            factories.answer_item(participant, **answers)
    assert "failed_attention" in list_participant_flags(Participant.objects.all())[careless.pk]
    assert not {"failed_attention", "failed_comprehension"} & set(
        list_participant_flags(Participant.objects.all())[careful.pk]
    )
    write_bundle(study, tmp_path / "out")
    with (tmp_path / "out" / "trials.csv").open() as file:
        excluded = {
            row["participant_id"]: row["excluded_by"] for row in csv.DictReader(file) if row["excluded_by"]
        }
    assert excluded == {careless.public_id: "does-not-read;does-not-understand"}

"""Exclusion rules in the database hit what the export's rules hit."""

from datetime import timedelta

import pytest

from analysis.participants.bundle import load_bundle
from analysis.report.sections.exclusions import build_exclusions_section
from analysis.study.analysis import Options, analyse
from studyapp.actions.conduct import recount
from studyapp.actions.exclusions import exclude_participant
from studyapp.actions.pages import show_survey, show_trial, submit_survey, submit_trial
from studyapp.definition.questions.question import Answer
from studyapp.definition.questions.questionnaires import TEMPLATES
from studyapp.exports.bundle import write_bundle
from studyapp.exports.responses import load_response_data, load_response_page, read_responses
from studyapp.models import StageResponse, Trial
from studyapp.queries.participants.excluded import (
    annotate_exclusion,
    count_excluded_trials,
    find_excluded_people,
)
from studyapp.queries.running.responses import ResponseFilter
from studyapp.queries.studies import find_current_page
from studyapp.rules.page_timing import PageTiming
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

AGE = {
    "key": "age",
    "text": "How old is the film?",
    "scale": {"kind": "number", "min": 0, "max": 100},
    "required": False,
}
RULES = [
    {"name": "fast", "kind": "min_time", "clock": "client_total", "seconds": 15},
    {"name": "slow", "kind": "max_time", "clock": "client_visible", "seconds": 30},
    {"name": "slow-server", "kind": "max_time", "clock": "server", "seconds": 60},
    {"name": "known", "kind": "answered", "question": "known_before", "value": True},
    {"name": "unsure", "kind": "answered", "question": "certainty", "value": 1},
    {"name": "old", "kind": "answered_number", "question": "age", "at_least": 50},
    {"name": "odd", "kind": "answered_number", "question": "age", "at_least": 1, "at_most": 2},
    {"name": "trapped", "kind": "flagged", "flag": "impossible_speed"},
]
ANSWERS: tuple[dict[str, Answer], ...] = (
    {"known_before": True},
    {"certainty": 1},
    {"age": 50.0},
    {"age": 2.0},
    {"age": 20.0},
    {},
    {"rated_correct": False},
)


def make_study(**changes):
    item = [question.model_dump() for question in TEMPLATES["xqa-2020"].item]
    questionnaire = {"template": "xqa-2020", "item": [*item, AGE]}
    return factories.make_study(items=7, conditions=2, questionnaire=questionnaire, **changes)


@pytest.mark.parametrize("key", ["contains", "in", "range", "exact", "isnull", "has_key", "a__b"])
def test_rules_on_questions_that_are_named_like_lookups(key):
    questions = [
        {"key": key, "text": "Is it?", "scale": "yes_no"},
        {**AGE, "key": f"{key}2"},
        {**AGE, "key": f"x__{key}"},
        {"key": f"y__{key}", "text": "Sure?", "scale": {"points": 5, "ends": ["no", "yes"]}},
    ]
    study = factories.make_study(
        items=4,
        questionnaire={"item": questions, "post_survey": []},
        exclusions=[
            {"name": "said", "kind": "answered", "question": key, "value": True},
            {"name": "low", "kind": "answered_number", "question": f"x__{key}", "at_most": 2},
            {"name": "alike", "kind": "straight_lining", "at_least_items": 2},
        ],
    )
    participant = factories.make_participant(study=study)
    for answers in ({key: True}, {f"x__{key}": 2.0}, {key: False, f"x__{key}": 3.0}, {}):
        trial = find_current_page(participant).trial
        show_trial(trial=trial)
        sent = {key: False, f"{key}2": 5.0, f"x__{key}": 5.0, f"y__{key}": trial.position} | answers
        assert submit_trial(trial=trial, answers=sent, changes={}, timing=PageTiming())
        participant.refresh_from_db()
    hits = Trial.objects.order_by("position").values_list("hits_rule", flat=True)
    assert list(hits) == [True, True, False, False]
    recount(study.versions.get().participants.all())
    assert list(hits.all()) == [True, True, False, False]
    assert not find_excluded_people(study).exists()
    answers = Trial.objects.get(position=1).answers or {}
    Trial.objects.filter(position=2).update(answers={**answers, f"x__{key}": 2.0})
    assert find_excluded_people(study).get() == participant


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["name"])
def test_both_exclude_the_same_trials(rule):
    study = make_study(exclusions=[rule])
    participant = factories.make_participant(study=study)
    for answers in ANSWERS:
        factories.answer_item(participant, **answers)
    trials = Trial.objects.filter(participant=participant).order_by("position")
    for number, trial in enumerate(trials):
        times: dict[str, int | None] = {"client_total_ms": (9_000, 15_000, 20_000)[number % 3]}
        # The server's clock, which is read without a time of the browser, says 59 s here: too slow.
        times["client_visible_ms"] = (None, 30_000, 30_001)[number % 3]
        seconds = (59, 60, 61)[number % 3]
        Trial.objects.filter(pk=trial.pk).update(
            submitted_at=trial.shown_at.replace(microsecond=0) + timedelta(seconds=seconds),
            shown_at=trial.shown_at.replace(microsecond=0),
            **times,
        )
    if rule["name"] == "trapped":
        Trial.objects.filter(participant=participant, position__lte=3).update(submitted_at=None)
    recount(study.versions.get().participants.all())
    expected = {
        row["item_id"]
        for batch in read_responses(load_response_data(study, for_file=True), ResponseFilter())
        for row in batch
        if row["excluded_by"]
    }
    rows = annotate_exclusion(study, Trial.objects.filter(participant=participant, answers__isnull=False))
    assert {row.item.external_id for row in rows.filter(is_excluded=True)} == expected
    assert rows.filter(is_excluded=False).count() == 7 - len(expected)
    assert count_excluded_trials(study) == (7, len(expected))
    assert expected or rule["name"] == "trapped"


def test_exclusions_by_hand_hit_every_trial():
    study = make_study()
    participant = factories.make_participant(study=study, items=2)
    assert count_excluded_trials(study) == (2, 0)
    exclude_participant(participant=participant, reason="took part twice", by=None)
    assert count_excluded_trials(study) == (2, 2)


PERSON_RULES = [
    ({"kind": "failed_attention", "at_least_failed": 1}, {"slow", "hasty"}),
    ({"kind": "comprehension_tries", "at_least_tries": 2}, {"slow"}),
    ({"kind": "straight_lining", "at_least_items": 12}, {"slow", "twin"}),
    ({"kind": "straight_lining", "at_least_percent": 60}, {"slow", "twin", "hasty"}),
    ({"kind": "duplicate_answers", "of": "all"}, {"slow", "twin"}),
    ({"kind": "duplicate_answers", "of": "text"}, {"slow", "hasty"}),
    ({"kind": "excluded_trials", "more_than_percent": 30}, {"hasty"}),
]
REMARK = "The  explanations were hard to READ."


def take_part(study, *, certainties=(4,), remark=None, tries=1, known_items=0, heeds=False):
    participant = factories.make_participant(study=study)
    factories.go_through_stages(participant)
    pages = 0
    while (trial := find_current_page(participant).trial) is not None:
        kind, pages = trial.item.kind, pages + (trial.item.kind == "item")
        answers = {
            "certainty": certainties[pages % len(certainties)],
            "known_before": 0 < pages <= known_items,
        }
        if kind == "attention" and heeds:
            answers |= {"rated_correct": False, "certainty": 4}
        factories.answer_item(participant, **(answers if kind != "practice" else {}))
    survey = {"trust": 1, **({"remarks": remark} if remark else {})}
    show_survey(participant=participant)
    submit_survey(participant=participant, answers=survey, changes={}, timing=PageTiming())
    first = StageResponse.objects.get(participant=participant, stage="comprehension")
    for number in range(2, tries + 1):
        StageResponse.objects.create(
            participant=participant, stage="comprehension", attempt=number, answers=first.answers
        )
    return participant


@pytest.mark.parametrize(("rule", "expected"), PERSON_RULES, ids=[str(rule) for rule, _names in PERSON_RULES])
def test_live_pages_export_and_analysis_exclude_the_same_people(rule, expected, tmp_path):
    rules = [
        {"name": "known", "kind": "answered", "question": "known_before", "value": True},
        {"name": "of-people", **rule},
    ]
    study = factories.make_everything(exclusions=rules, design="between", conditions=[{"system": "qi2019"}])
    people = {
        "slow": take_part(study, tries=2, remark=REMARK),
        "twin": take_part(study, heeds=True, remark="No."),
        "hasty": take_part(
            study, certainties=(4, 4, 1), known_items=4, remark=REMARK.lower().replace("  ", " ")
        ),
        "honest": take_part(study, certainties=(4, 3, 2, 1), heeds=True, known_items=1, remark="No."),
    }
    hit = {people[name].public_id for name in expected}
    assert set(find_excluded_people(study).values_list("public_id", flat=True)) == hit
    write_bundle(study, tmp_path / "out")
    analysed = analyse(load_bundle(tmp_path / "out"), Options(resamples=0))
    assert {
        participant_id
        for participant_id, names in analysed.exclusions.people.items()
        if names == ("of-people",)
    } == hit
    assert set(analysed.exclusions.people) == hit
    assert {
        participant_id for grid in analysed.retained.grids for participant_id in grid.participants
    }.isdisjoint(hit)
    assert "differs from what its rules give" not in str(build_exclusions_section(analysed))
    by_hand = analysed.bundle.participants.set_index("participant_id")["excluded_by"].dropna()
    assert by_hand.to_dict() == dict.fromkeys(hit, "of-people")
    data = load_response_data(study)
    shown = [row for row in load_response_page(data, ResponseFilter()).rows if row["excluded_by"]]
    assert {row["participant_id"] for row in shown if "of-people" in row["excluded_by"]} == hit
    assert count_excluded_trials(study) == (analysed.exclusions.total, analysed.exclusions.excluded)

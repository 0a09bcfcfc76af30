"""Tests of plans in study definitions and of the report's use of them.

They cover what a plan may name; the report is that of the version.
"""

import pytest
from pydantic import ValidationError

from analysis.participants.bundle import load_bundle
from analysis.planning.declared_plan import read_frozen_plan
from analysis.planning.frozen_version import load_frozen
from analysis.planning.preregistration import preregistration
from analysis.report.page import render
from analysis.study.analysis import Options, analyse
from studyapp.definition.schema import StudyDefinition
from studyapp.exports.bundle import write_bundle
from tests.analysis.quick_reports import build_words
from tests.studyapp import factories

ROW = {"measure": "over_estimation", "first": "system-1", "second": "ground truth"}
MARGIN = {"measure": "over_estimation", "lower": -0.05, "upper": 0.05}
PLAN = {"hypotheses": ["Gold answers are over-estimated less."], "family": [ROW], "margins": [MARGIN]}


def definition_with(plan):
    """Return a definition with the plan and two conditions.

    The names of these in the plan are `system-1` and `ground truth`.
    """
    definition = factories.make_definition(conditions=2, items=3)
    first, second = (row.name for row in definition.conditions)
    names = {"system-1": first, "ground truth": second}
    family = [
        {**row, **{end: names.get(row[end], row[end]) for end in ("first", "second")}}
        for row in plan.get("family", [])
    ]
    conditions = [row.model_dump(mode="json", exclude_unset=True) for row in definition.conditions]
    return factories.make_definition(
        dataset=definition.dataset, conditions=conditions, items=3, plan={**plan, "family": family}
    )


@pytest.mark.django_db
def test_a_launched_plan_is_the_one_of_the_report(tmp_path):
    definition = definition_with(PLAN)
    study = factories.make_study_of(definition)
    for _ in range(6):
        factories.make_participant(study=study, completed=True)
    write_bundle(study, tmp_path / "out", public=True)
    frozen = load_frozen(tmp_path / "out")
    assert frozen.verified is True
    text = preregistration(frozen)
    assert "Gold answers are over-estimated less." in text
    analysed = analyse(load_bundle(tmp_path / "out"), Options(resamples=2))
    plan = read_frozen_plan(analysed.version)
    assert plan is not None
    first, second = (row.name for row in definition.conditions)
    assert plan.family == (("over_estimation", first, second),)
    assert plan.margins == {"over_estimation": (-0.05, 0.05)}
    assert plan.target == "items_like_these"
    page = build_words(analysed)
    assert render(page) != render(build_words(analysed, type(plan)()))
    assert "the confirmatory claim was that" in render(page)


@pytest.mark.django_db
def test_a_study_without_a_plan_is_frozen_as_before():
    study = factories.make_study()
    assert "plan" not in study.versions.get().frozen


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"family": [{**ROW, "measure": "joy"}], "margins": []},
            "family: comparison 1: there is no measure 'joy'",
        ),
        ({"family": [{**ROW, "second": "other"}], "margins": []}, "there is no condition 'other'"),
        ({"family": [{**ROW, "second": "system-1"}]}, "names the same condition twice"),
        ({"family": [ROW, ROW]}, "family: a comparison is given twice"),
        ({"family": []}, "margins: 'over_estimation' is not in the family"),
        ({"margins": [MARGIN, MARGIN]}, "margins: 'over_estimation' is given twice"),
        ({"margins": [{**MARGIN, "lower": 0.01}]}, "must lie on both sides of 0"),
        ({"baseline": "other"}, "baseline: there is no condition 'other'"),
        ({"scores": ["joy"]}, "scores: there is no score 'joy'"),
        (
            {"interim_analyses": {"fractions": [0.5, 1]}},
            "interim_analyses: interim analyses need one comparison",
        ),
        (
            {"interim_analyses": {"fractions": [1, 0.5]}, "participants": 20},
            "interim_analyses: the fractions must increase by 0.001 or more",
        ),
        (
            {"interim_analyses": {"fractions": [1]}, "participants": 20, "target": "items_like_these"},
            "target: interim analyses need these_items",
        ),
        ({"looks": {"fractions": [0.5, 1]}}, "interim_analyses: interim analyses need one comparison"),
        ({"alpha": 0.9}, "less than or equal to 0.5"),
        ({"sign_share": 0.4}, "greater than 0.5"),
    ],
)
def test_what_a_plan_cannot_say(changes, message):
    with pytest.raises(ValidationError, match="plan") as caught:
        definition_with({**PLAN, **changes})
    assert message in str(caught.value)


def test_a_plan_names_the_measures_of_the_task():
    """A family of an advice study is about reliance.

    It is not about judging answers.
    """
    conditions = [{"system": "helper", "explanation": "none"}, {"system": "helper"}]
    study = {
        "study": "advised",
        "title": "Whom do people believe?",
        "dataset": "films",
        "task": "advice",
        "questionnaire": {"item": [], "post_survey": []},
        "conditions": conditions,
        "items": {"ids": ["q1"]},
        "consent": "Yes.",
    }
    first, second = (row.name for row in StudyDefinition.model_validate(study).conditions)

    def planned(measure):
        row = {"measure": measure, "first": first, "second": second}
        return StudyDefinition.model_validate({**study, "plan": {"family": [row]}}).plan

    assert planned("over_reliance").family[0].measure == "over_reliance"
    with pytest.raises(ValidationError, match="there is no measure 'fraction_correct'"):
        planned("fraction_correct")

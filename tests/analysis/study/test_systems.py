"""One condition stands for each system, and its styles are compared."""

import numpy as np
import pytest

from analysis.participants.bundle import load_bundle
from analysis.participants.study_version import Condition
from analysis.study.analysis import Options, analyse
from analysis.study.systems import choose_representatives, pair_styles
from tests.analysis.bundles import planted_study
from tests.analysis.quick_reports import build_words
from tests.analysis.within import within_study


def conditions(*rows):
    return [Condition(**row) for row in rows]


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        ([{"name": "a", "system": "s"}, {"name": "gold", "ground_truth": True}], ["a"]),
        # bundles of before explanations were written down: the first
        ([{"name": "a", "system": "s"}, {"name": "b", "system": "s"}], ["a"]),
        (
            [
                {"name": "plain", "system": "s", "explanation": "none"},
                {"name": "facts", "system": "s", "explanation": "facts"},
                {"name": "tokens", "system": "s", "explanation": "tokens"},
            ],
            ["facts"],
        ),
        (
            [
                {"name": "facts", "system": "s", "explanation": "facts"},
                {"name": "tokens", "system": "s", "explanation": "tokens", "represents": True},
                {"name": "other", "system": "t", "explanation": "none"},
            ],
            ["tokens", "other"],
        ),
    ],
)
def test_one_condition_stands_for_a_system(rows, chosen):
    assert [condition.name for condition in choose_representatives(conditions(*rows))] == chosen


def test_styles_are_conditions_of_the_same_system():
    rows = [{"name": name, "system": system} for name, system in zip("abcd", "stst", strict=True)]
    assert pair_styles(conditions(*rows, {"name": "gold", "ground_truth": True})) == [("a", "c"), ("b", "d")]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study of three systems in four conditions.

    The first system is shown in two styles, and the third without explanations.
    """
    arms = {"facts": "sys-1", "plain": "sys-1", "two": "sys-2", "bare": "sys-3"}
    scores = {
        name: {"f1": value, "sp_f1": value}
        for name, value in (("sys-1", 0.6), ("sys-2", 0.7), ("sys-3", 0.8))
    }
    unexplained = {"plain": "none", "bare": "none"}
    folder = tmp_path_factory.mktemp("study") / "bundle"
    planted_study(folder, arms=arms, scores=scores, explanations=unexplained)
    return analyse(load_bundle(folder), Options(resamples=40))


@pytest.fixture(scope="module")
def page(study):
    return build_words(study)


def test_tables_count_distinct_systems(study, page):
    assert [condition.name for condition in study.systems] == ["facts", "two", "bare"]
    assert study.retained.relations.systems == ("facts", "two", "bare")
    assert page.facts["Systems"] == "3"
    assert page.facts["Conditions"].startswith("4")


def test_scores_of_explanations_leave_out_who_saw_none(study):
    scores = {score.key: score.values for score in study.retained.relations.scores}
    assert not np.isnan(scores["f1"]).any()
    assert np.isnan(scores["sp_f1"]).tolist() == [False, False, True]
    assert study.retained.relations.get("fp", "sp_f1").n == 2


def test_rationales_are_named_and_scores_of_facts_leave_out_who_saw_no_facts(tmp_path):
    arms = {"text": "sys-1", "beside": "sys-2", "facts": "sys-3"}
    scores = {name: {"f1": 0.5 + n / 10, "sp_f1": 0.5 + n / 10} for n, name in enumerate(arms.values())}
    shown = {"text": "rationale", "beside": "facts+rationale"}
    folder = planted_study(tmp_path / "bundle", arms=arms, scores=scores, explanations=shown)
    study = analyse(load_bundle(folder), Options(resamples=40))
    missing = {score.key: np.isnan(score.values).tolist() for score in study.retained.relations.scores}
    assert missing["f1"] == [False, False, False]
    assert missing["sp_f1"] == [True, False, False]
    text = str(build_words(study).sections)
    assert "Shown with facts and a free-text rationale: beside." in text
    assert "Shown with a free-text rationale and no facts: text. Scores of facts do not measure" in text


def test_styles_have_a_section_of_their_own(page):
    sections = {section.name: section for section in page.sections}
    text = str(sections["styles"].blocks)
    assert "sys-1: facts, plain" in text
    assert "plain − facts" in text
    assert "two − facts" not in text


def test_no_such_section_without_styles(tmp_path):
    study = analyse(load_bundle(planted_study(tmp_path / "bundle")), Options(resamples=0))
    assert "styles" not in {section.name for section in build_words(study).sections}


@pytest.mark.parametrize("design", ["between", "within"])
def test_one_system_with_and_without_explanations_is_compared_with_itself(tmp_path, design):
    arms = {"explained": "sys-1", "bare": "sys-1"}
    more = {"explanations": {"bare": "none"}, "scores": {"sys-1": {"f1": 0.6, "sp_f1": 0.5}}}
    if design == "between":
        folder = planted_study(tmp_path / "bundle", arms=arms, people=8, **more)
    else:
        folder = within_study(tmp_path / "bundle", groups={"all": arms}, **more)
    study = analyse(load_bundle(folder), Options(resamples=40))
    assert study.allocation.design == design
    assert study.retained.relations.systems == ("explained",)
    sections = {section.name: section for section in build_words(study).sections}
    tables = {
        name: next(block for block in sections[name].blocks if getattr(block, "name", "") == name)
        for name in ("styles", "differences")
    }
    assert [[cell.plain for cell in row] for row in tables["styles"].rows] == [
        [cell.plain for cell in row] for row in tables["differences"].rows
    ]
    assert "Systems can be compared from two on" in str(sections["ranks"].blocks)

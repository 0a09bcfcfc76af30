"""The report's sections on differences, models, behaviour and choices.

Every number has a function that it comes from.
"""

import csv
import io
import json
import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from analysis.io.errors import AnalysisError, InputError
from analysis.participants.bundle import load_bundle
from analysis.planning.declared_plan import Plan, load_plan
from analysis.report.build import build_report, write_methods_paragraph
from analysis.report.page import Data, Figure, Script, Table, write_page
from analysis.report.provenance import SOURCES, source_of
from analysis.report.r_script import ESTIMATES, render_study_script
from analysis.report.sections.models import build_models_section
from analysis.report.sections.participants import build_measures_section
from analysis.study.analysis import Options, analyse
from analysis.study.contrasts import EXPLORED
from analysis.study.inference import infer
from tests.analysis.bundles import planted_study
from tests.analysis.quick_reports import build_words

SCORES = {f"sys-{n}": {"em": 0.4 + n / 10, "farm_4": 0.6 - n / 20} for n in (1, 2, 3)}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles") / "study"
    planted_study(folder, people=8, items=10, scores=SCORES)
    return analyse(load_bundle(folder), Options(resamples=80))


@pytest.fixture(scope="module")
def inferred(study):
    return infer(study)


@pytest.fixture
def no_posteriors(monkeypatch):
    """Leave out the Bayesian models.

    They take most of the time of an inference.
    """
    monkeypatch.setattr("analysis.study.inference.MOST_BAYES_TRIALS", 0)


@pytest.fixture(scope="module")
def page(study):
    return build_report(study)


def section(page, name):
    return next(part for part in page.sections if part.name == name)


def words(part):
    return " ".join(
        getattr(block, "text", "") + " ".join(getattr(block, "items", ())) for block in part.blocks
    )


def table(page, name):
    return next(b for s in page.sections for b in s.blocks if isinstance(b, Table) and b.name == name)


def rows_of(block):
    return list(csv.DictReader(io.StringIO(block.csv())))


def plan_file(folder, **fields):
    path = folder / "plan.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def test_every_participant_stands_in_a_table(study):
    """The mean of the column over a condition's participants is the measure."""
    [block] = [b for b in build_measures_section(study).blocks if isinstance(b, Data)]
    columns = {name: index for index, name in enumerate(block.header)}
    assert len(block.rows) == len(study.people)
    for key in ("over_estimation", "time_mean", "d_prime", "trust"):
        for arm in study.conditions:
            rows = [row for row in block.rows if row[columns["condition"]] == arm.name]
            values = [row[columns[key]] for row in rows]
            defined = [value for value in values if value is not None]
            estimate = study.retained.estimates.get(key, arm.name)
            assert len(defined) == estimate.participants
            assert len(values) - len(defined) == estimate.undefined
            assert estimate.value is None or np.mean(defined) == pytest.approx(estimate.value)


def test_without_a_plan_everything_is_exploratory(study, page):
    text = words(section(page, "differences"))
    assert "exploratory" in text
    assert "confirmatory" not in text
    rows = rows_of(table(page, "differences"))
    systems = sum(not condition.ground_truth for condition in study.conditions)
    pairs = systems * (systems - 1) // 2
    available = [key for key in EXPLORED["verification"] if study.retained.estimates.has_value(key)]
    assert len(rows) == pairs * len(available)
    others = rows_of(table(page, "differences_these_items"))
    for row, other in zip(rows, others, strict=True):
        for comparison in (row, other):
            if comparison["p"]:
                assert 0 < float(comparison["p"]) <= float(comparison["p_holm"]) <= 1
                assert float(comparison["difference"]) == pytest.approx(
                    _difference(comparison), rel=1e-9, abs=1e-12
                )
                nothing = 1.0 if comparison["measure"] == "time_geometric" else 0.0
                assert (float(comparison["low"]) <= nothing <= float(comparison["high"])) == (
                    float(comparison["p"]) > 0.05
                )
    assert {row["target"] for row in rows_of(table(page, "omnibus"))} == {"these_items", "items_like_these"}
    assert "ground truth left out" in text


@pytest.mark.usefixtures("no_posteriors")
def test_many_conditions_are_compared_with_a_baseline(study):
    """A declared baseline is compared with all other conditions.

    Without a declaration, studies of more than three conditions have a baseline, too. The ground truth is
    none of the compared conditions.
    """
    plan = Plan(baseline="two", permutations=99)
    inference = infer(study, plan)
    assert {(c.first, c.second) for c in inference.family.comparisons} == {("two", "one"), ("two", "three")}
    assert (inference.declared, inference.baseline) == (False, "two")
    truth = next(condition.name for condition in study.conditions if condition.ground_truth)
    with pytest.raises(AnalysisError, match=f"baseline {truth!r} is not one of the compared conditions"):
        infer(study, Plan(baseline=truth))


@pytest.mark.usefixtures("no_posteriors")
def test_four_systems_are_compared_with_the_first(tmp_path):
    arms = {name: f"sys-{index}" for index, name in enumerate(("one", "two", "three", "four"))}
    folder = planted_study(tmp_path / "s", people=4, items=5, arms=arms)
    inference = infer(analyse(load_bundle(folder), Options(resamples=0)), None)
    assert inference.baseline == "one"
    assert {c.first for c in inference.family.comparisons} == {"one"}


def _difference(row):
    first, second = float(row["first_value"]), float(row["second_value"])
    return second / first if row["measure"] == "time_geometric" else second - first


@pytest.mark.usefixtures("no_posteriors")
def test_a_plan_declares_family_and_margins(study, tmp_path):
    family = [["agreement", "one", "two"], ["certainty", "one", "three"]]
    plan = load_plan(plan_file(tmp_path, family=family, margins={"certainty": [-5, 5]}, permutations=499))
    declared = build_words(study, plan)
    text = words(section(declared, "differences"))
    assert "they are confirmatory about items like these" in text
    assert "Exploratory: the plan is about the other claim." in text
    assert [row["measure"] for row in rows_of(table(declared, "differences"))] == ["agreement", "certainty"]
    verdict = table(declared, "equivalence").rows[0][-1].text
    assert verdict == "equivalent"  # a margin as wide as the scale
    assert "2 pre-registered comparisons" in write_methods_paragraph(study, infer(study, plan))


def test_a_plan_that_does_not_fit_the_study_is_told(study, tmp_path):
    plan = load_plan(plan_file(tmp_path, family=[["agreement", "one", "nowhere"]]))
    with pytest.raises(AnalysisError, match="nowhere"):
        build_report(study, plan)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"familly": []}, "familly"),
        ({"family": [["agreement", "one"]]}, "family"),
        ({"alpha": 2}, "alpha"),
        ({"target": "all_items"}, "target"),
        ({"interim_analyses": {"fractions": [1.0, 0.5]}}, "interim_analyses"),
    ],
)
def test_a_wrong_plan_names_file_and_field(tmp_path, fields, named):
    path = plan_file(tmp_path, **fields)
    with pytest.raises(InputError, match=named) as caught:
        load_plan(path)
    assert str(path) in str(caught.value)


def test_models_are_fitted_or_refused_with_a_reason(inferred, page):
    inference = inferred
    assert set(inference.models) >= {"Rated correct", "Right rating", "Certainty"}
    assert set(inference.mixed) == {*inference.models, "Completion time"}
    text = words(section(page, "models"))
    everything: list[Any] = [*inference.models.items(), *inference.mixed.items(), *inference.bayes.items()]
    for label, model in everything:
        if model.reason:
            assert f"{label}, {model.method}: {model.reason}." in text
        else:
            assert len(model.contrasts) == 6
    fitted = [label for label, model in everything[: -len(inference.bayes)] if not model.reason]
    assert fitted
    assert {row["outcome"] for row in rows_of(table(page, "models"))} == set(fitted)


def test_models_are_not_fitted_to_more_trials_than_they_can_take(study, monkeypatch):
    monkeypatch.setattr("analysis.study.inference.MOST_TRIALS", 10)
    inference = infer(study)
    assert inference.too_many == len(study.retained.trials)
    assert not inference.models
    assert "Not fitted" in words(section(build_words(study), "models"))


def test_estimates_of_r_stand_beside_ours(study, inferred):
    """The section shows the estimates of refit.R beside ours.

    They must come from this script and these data.
    """
    path = study.bundle.path / ESTIMATES
    script = render_study_script(study)
    [fingerprint] = re.findall(r'script <- "(\w+)"', script)
    header = "model,outcome,term,estimate,standard_error,trials,log_likelihood,message,script\n"
    lines = [
        "clmm,certainty,conditiontwo,0.25,0.125,320,-400,,{}",
        "glmer,rated_correct,,,,,,no fit,{}",
        "lmer,server_ms,position,0.5,0.1,320,-100,,{}",
    ]
    mixed = inferred.mixed["Certainty"]
    try:
        path.write_text(header + "\n".join(lines).format(*[fingerprint] * 3) + "\n", "utf-8")
        shown = build_models_section(study, inferred)
        rows = rows_of(next(block for block in shown.blocks if isinstance(block, Table)))
        path.write_text(header + lines[0].format("0" * 16) + "\n", "utf-8")
        old = build_models_section(study, inferred)
        path.write_text(header + lines[0].replace("0.25", "x").format(fingerprint) + "\n", "utf-8")
        with pytest.raises(InputError, match=r"line 2.*estimate"):
            build_models_section(study, inferred)
    finally:
        path.unlink()
    [row] = [row for row in rows if row["r_estimate"] and row["outcome"] == "Certainty"]
    assert (row["first"], row["second"]) == ("one", "two")
    assert row["r_standard_error"] == "0.125"
    if not mixed.reason:
        assert float(row["r_difference"]) == pytest.approx(mixed.contrast("one", "two").estimate - 0.25)
    assert "rated_correct: no fit." in words(shown)
    assert "out of date" not in words(shown)
    assert "the data have changed since" in words(old)
    assert "r_estimate" not in rows_of(next(block for block in old.blocks if isinstance(block, Table)))[0]


def test_how_people_worked(study, page):
    part = section(page, "behaviour")
    names = {block.name for block in part.blocks if isinstance(block, Table | Data)}
    assert names == {"learning", "calibration", "agreement", "items", "trials"}
    trials = next(block for block in part.blocks if getattr(block, "name", "") == "trials")
    assert len(trials.rows) == len(study.trials)
    retained = [dict(zip(trials.header, row, strict=True)) for row in trials.rows]
    selected = [row for row in retained if row["retained"] and row["condition"] == "one"]
    by_person: dict[str, list[float]] = {}
    for row in selected:
        by_person.setdefault(row["participant_id"], []).append(float(row["over_estimation"]))
    mean = sum(sum(values) / len(values) for values in by_person.values()) / len(by_person)
    assert mean == pytest.approx(study.retained.estimates.get("over_estimation", "one").value)


def test_other_choices(study, page):
    rows = rows_of(table(page, "multiverse_stability"))
    assert {row["score"] for row in rows} == {"em", "farm_4"}
    for row in rows:
        counted = sum(int(row[key]) for key in ("undefined", "same_ranking", "reversed", "neither"))
        assert counted == int(row["universes"])
    # One EM and one FaRM that order the systems oppositely: the signs of one are those of the other reversed.
    by_pair = {(row["measure"], row["score"]): row["reference_sign"] for row in rows}
    swap = {"+": "-", "-": "+", "": ""}
    assert all(by_pair[m, "farm_4"] == swap[by_pair[m, "em"]] for m, _ in by_pair)
    assert "No system is left out" in words(section(page, "choices"))  # of three


def test_one_system_has_no_choices(tmp_path):
    planted_study(tmp_path / "s", arms={"one": "sys-1", "truth": None}, scores=SCORES)
    page = build_words(analyse(load_bundle(tmp_path / "s"), Options(resamples=20)))
    assert "fewer than two systems" in words(section(page, "choices"))


def test_every_number_has_a_function_that_exists(page):
    shown = {block.name for block in page.blocks if isinstance(block, Table | Figure | Data)}
    unknown = {name for name in shown if not source_of(name)}
    assert unknown <= {"participant_flow", "dropouts", "scores", "versions", "inputs"}
    for path in set(SOURCES.values()):
        module, _, function = path.rpartition(".")
        assert callable(getattr(import_module(module), function)), path


def test_the_r_script_lies_beside_the_page_and_goes_with_it(page, study, tmp_path):
    scripts = [b for s in page.sections for b in s.blocks if isinstance(b, Script)]
    assert [script.name for script in scripts] == ["refit.R"]
    write_page(page, tmp_path)
    assert "lme4" in (tmp_path / "refit.R").read_text("utf-8")
    earlier = set(tmp_path.rglob("*.R"))
    smaller = type(page)(page.title, page.banner, page.facts, page.sections[:2])
    write_page(smaller, tmp_path)
    assert not any(path.exists() for path in earlier)

"""Studies in which participants see several conditions.

The tests cover the comparisons, their levels, and the report.
"""

# mypy: disable-error-code="operator, type-var"
# A None where a test expects a value fails the test by itself.

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.commands.power import from_pilot
from analysis.io.errors import AnalysisError
from analysis.models.bayesian_logistic import bayes_logistic
from analysis.models.linear_mixed import mixed_log_time
from analysis.models.trial_model import read_trials
from analysis.participants.allocation import allocate
from analysis.participants.bundle import load_bundle
from analysis.participants.estimates import ONE_SURVEY
from analysis.participants.trial_grid import group_grids, merge_shared
from analysis.planning.declared_plan import load_plan
from analysis.planning.frozen_version import load_frozen
from analysis.planning.preregistration import preregistration
from analysis.report.build import build_report, write_methods_paragraph
from analysis.report.r_script import render_r_script
from analysis.report.sections.behaviour import describe_behaviour
from analysis.report.sections.participants import build_participants_section
from analysis.stats.results import TARGETS
from analysis.study.analysis import Options, analyse
from analysis.study.comparisons import compare
from analysis.study.inference import infer
from benchmarks.statistics._crossed_studies import Size
from benchmarks.statistics.within import estimate_rates, simulate_rotated_trials
from tests.analysis.bundles import planted_study
from tests.analysis.within import within_study

MIXED = {"early": {"one": "sys-1", "two": "sys-2"}, "late": {"three": "sys-3"}}


def study_of(folder, resamples=100, **more):
    return analyse(load_bundle(within_study(folder, **more)), Options(resamples=resamples))


def rng():
    return np.random.default_rng(1)


def test_it_works(tmp_path):
    """A planted effect of the last condition is found within people.

    None is found between the others.
    """
    study = study_of(tmp_path / "bundle", people=14, items=24, effect=1.8)
    assert (study.allocation.design, len(study.people)) == ("within", 14)
    estimates = study.retained.estimates
    for key in ("agreement", "time_geometric"):
        comparison = compare(estimates, key, "one", "three", rng=rng())
        nothing = 1.0 if key == "time_geometric" else 0.0
        assert comparison.paired
        assert comparison.items_like_these.n == (14, 14)
        for target in TARGETS:
            assert comparison.about(target).interval[0] > nothing
            assert comparison.about(target).p < 0.01
        assert comparison.hedges_g.interval[0] > 0
        assert comparison.superiority.interval[0] > 0.5
        same = compare(estimates, key, "one", "two", rng=rng())
        for target in TARGETS:
            assert same.about(target).interval[0] < nothing < same.about(target).interval[1]
            assert same.about(target).p > 0.05
    inference = infer(study)
    models = inference.models | {"Completion time": inference.mixed["Completion time"]}
    for label in ("Rated correct", "Completion time", "Certainty"):
        assert models[label].contrast("one", "three").interval[0] > 0, label
        assert models[label].contrast("one", "two").p > 0.05, label
        assert models[label].position is not None


class TestAllocation:
    def test_without_a_declaration_it_is_what_participants_saw(self, tmp_path):
        for number, groups in enumerate((None, MIXED)):
            declared = study_of(tmp_path / f"declared{number}", groups=groups)
            undeclared = study_of(tmp_path / f"found{number}", groups=groups, declared=False)
            assert undeclared.allocation.design == declared.allocation.design
            assert list(undeclared.allocation.groups.values()) == list(declared.allocation.groups.values())
            first, second = (compare(s.retained.estimates, "agreement", "one", "two", rng=rng())
                             for s in (declared, undeclared))  # fmt: skip
            assert first.items_like_these == second.items_like_these

    def test_between(self, tmp_path):
        study = analyse(load_bundle(planted_study(tmp_path / "bundle")), Options(resamples=20))
        assert study.allocation.design == "between"
        assert not study.allocation.has_same_participants("one", "two")

    def test_conditions_of_two_groups_are_refused(self, tmp_path):
        folder = within_study(tmp_path / "bundle", groups=MIXED)
        trials = pd.read_csv(folder / "trials.csv")
        trials.loc[0, "condition"] = "three"
        trials.to_csv(folder / "trials.csv", index=False)
        with pytest.raises(
            AnalysisError, match="no group of all the conditions that participant 'p0000' saw"
        ):
            analyse(load_bundle(folder), Options(resamples=0))

    def test_who_saw_nothing(self, tmp_path):
        bundle = load_bundle(within_study(tmp_path / "bundle"))
        people = pd.DataFrame({"participant_id": ["x"], "condition": [None]})
        with pytest.raises(AnalysisError, match="'x' has neither a condition nor a trial"):
            allocate(bundle.version(1), people, bundle.trials[:0])

    def test_people_who_left_before_a_condition_count_as_undefined_there(self, tmp_path):
        folder = within_study(tmp_path / "bundle", rules=[])
        trials = pd.read_csv(folder / "trials.csv")
        gone = (trials["participant_id"] == "p0000") & (trials["condition"] == "two")
        trials[~gone].to_csv(folder / "trials.csv", index=False)
        estimates = analyse(load_bundle(folder), Options(resamples=50)).retained.estimates
        two = estimates.get("agreement", "two")
        assert (two.participants, two.undefined) == (7, 1)
        comparison = compare(estimates, "agreement", "one", "two", rng=rng())
        before, after = (estimates.per_participant["agreement"][c] for c in (0, 1))
        reverse = compare(estimates, "agreement", "two", "one", rng=rng())
        for target in TARGETS:
            assert comparison.about(target).n == (7, 7)
            assert comparison.about(target).estimate == pytest.approx(np.nanmean(after - before))
            assert reverse.about(target).estimate == pytest.approx(-comparison.about(target).estimate)


class TestMixed:
    def test_each_pair_is_compared_as_it_was_seen(self, tmp_path):
        study = study_of(tmp_path / "bundle", groups=MIXED)
        comparisons = {
            (c.first, c.second): c for c in infer(study).family.comparisons if c.measure.key == "agreement"
        }
        assert {pair: comparison.paired for pair, comparison in comparisons.items()} == {
            ("one", "two"): True, ("one", "three"): False, ("two", "three"): False,
        }  # fmt: skip
        assert "swap" in comparisons["one", "two"].these_items.method
        assert "splits" in comparisons["one", "three"].these_items.method

    def test_the_survey_belongs_to_people_of_one_condition_only(self, tmp_path):
        estimates = study_of(tmp_path / "bundle", groups=MIXED).retained.estimates
        assert estimates.get("trust", "one").reason == ONE_SURVEY
        assert estimates.get("trust", "three").value is not None


class TestResampling:
    def test_a_participant_is_drawn_with_all_conditions(self, tmp_path):
        """A participant is drawn with all conditions.

        People differ a lot and change alike: each mean is unsure, their difference is not.
        """
        study = study_of(tmp_path / "bundle", people=10, items=24, resamples=400)
        estimates = study.retained.estimates
        draws = estimates.replicates["time_geometric"]
        logs = np.log(draws[:, :2])
        assert np.corrcoef(logs.T)[0, 1] > 0.25

    def test_overlapping_groups_are_refused(self, tmp_path):
        first, second, _ = study_of(tmp_path / "bundle", resamples=0).retained.grids
        with pytest.raises(ValueError, match="'two' and 'one' must have the same participants, or none"):
            group_grids([first, replace(second, participants=(*second.participants[:-1], "x"))])
        with pytest.raises(ValueError, match="in two conditions"):
            merge_shared([first, first], "both")


def test_learning_is_over_the_whole_way(tmp_path):
    study = study_of(tmp_path / "bundle", people=10, items=24)
    curves = [curve for curve in describe_behaviour(study).learning if curve.trait == "log_seconds"]
    assert [curve.condition for curve in curves] == ["one and two and three", ""]
    trials = study.retained.trials
    by_person = trials.assign(log=np.log(trials["server_ms"] / 1000)).groupby("participant_id")
    slopes = [np.polyfit(rows["position"], rows["log"], 1)[0] for _, rows in by_person]
    assert curves[0].slope.value == pytest.approx(np.mean(slopes))


def test_levels():
    """Intervals and tests keep their level in 24 studies of 10 people.

    `benchmarks.statistics.within` does it at length.
    """
    held, rejected = estimate_rates(Size(10, 12), 24)
    for rate in held:
        assert rate.hits >= stats.binom.ppf(0.001, rate.studies, 0.93), rate
    for rate in rejected:
        assert rate.hits <= stats.binom.ppf(0.999, rate.studies, 0.07), rate


class TestModels:
    def frame(self):
        return simulate_rotated_trials(
            np.random.default_rng(7), people=10, items=18, conditions=("a", "b", "c"), effect=0.6,
            own_effect_sd=1.5,
        )  # fmt: skip

    def test_against_lme4(self):
        """R 4.2.2 with lme4, on these trials:

        lmer(log(seconds) ~ condition + position + (1|participant_id) + (1|participant_id:condition) +
             (1|item_id), REML = TRUE)
        """
        trials = read_trials(self.frame(), "seconds", conditions=["a", "b", "c"])
        model = mixed_log_time(trials, item_by_condition=False)
        assert model.contrast("a", "b").estimate == pytest.approx(0.01280846834, abs=1e-5)
        assert model.contrast("a", "b").standard_error == pytest.approx(0.2776506054, rel=1e-4)
        assert model.contrast("a", "c").estimate == pytest.approx(0.15240792215, abs=1e-5)
        assert model.position.estimate == pytest.approx(-0.04615167765, abs=1e-6)
        assert model.freedom == 9
        assert model.details["standard deviation, participant within condition"] == pytest.approx(
            0.5998749074, rel=1e-4
        )
        assert model.details["standard deviation, participant"] == pytest.approx(0.3351590800, rel=1e-3)
        assert model.details["REML log-likelihood"] == pytest.approx(-141.560813191, abs=1e-5)

    def test_what_differs_by_person_widens_the_difference(self):
        alike, unlike = (
            mixed_log_time(read_trials(
                simulate_rotated_trials(np.random.default_rng(8), people=12, items=16, own_effect_sd=sd),
                "seconds", conditions=["a", "b"],
            )).contrasts[0].standard_error
            for sd in (0.0, 2.0)
        )  # fmt: skip
        assert unlike > 2 * alike

    def test_the_bayesian_model_has_effects_of_conditions_that_differ_by_person(self):
        trials = read_trials(self.frame(), "answer", conditions=["a", "b", "c"])
        model = bayes_logistic(trials, rng=np.random.default_rng(1))
        assert "participant within condition" in dict(model.spreads)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_refits_with_participants_within_conditions(tmp_path):
    folder = within_study(tmp_path / "bundle", people=10, items=18, rules=[])
    study = analyse(load_bundle(folder), Options(resamples=0))
    script, out = tmp_path / "refit.R", tmp_path / "estimates.csv"
    script.write_text(render_r_script(study.version, study.bundle.rules, mode="live", clock="server"))
    ran = subprocess.run(
        ["Rscript", str(script), str(folder), str(out)], capture_output=True, check=False, timeout=240
    )
    if b"there is no package" in ran.stderr:
        pytest.skip("the R packages lme4 and ordinal are not installed")
    assert ran.returncode == 0, ran.stderr
    estimates = pd.read_csv(out).set_index(["model", "outcome", "term"])
    trials = study.retained.trials.assign(seconds=study.retained.trials["server_ms"] / 1000)
    ours = mixed_log_time(read_trials(trials, "seconds", conditions=["one", "two", "three"]))
    theirs = estimates.loc["lmer", "server_ms", "conditiontwo"]
    assert theirs["estimate"] == pytest.approx(ours.contrast("one", "two").estimate, abs=2e-3)
    assert theirs["standard_error"] == pytest.approx(ours.contrast("one", "two").standard_error, rel=0.03)


class TestReport:
    def test_the_page(self, tmp_path):
        page = build_report(study_of(tmp_path / "bundle", resamples=20, groups=MIXED, scores=scores()))
        assert page.facts["Conditions"] == "3, partly within-subject"
        text = repr(page)
        assert "Conditions that the same participants saw are compared within them" in text
        assert "learning is shown over all their" in text
        assert "swaps of the two within participants" in text
        assert "About items like these, answered by people like these" in text

    def test_the_methods_paragraph(self, tmp_path):
        study = study_of(tmp_path / "bundle")
        text = write_methods_paragraph(study, infer(study))
        assert "8 participants in 3 within-subject conditions" in text
        assert "by swapping conditions within participants" in text
        assert "between conditions" not in text
        assert "participants within conditions (Barr et al. 2013)" in text

    def test_the_flow_is_by_group(self, tmp_path):
        counts = {"assigned": 8, "started": 8, "completed": 8, "dropped_at": {}}
        flow = {"modes": {"live": {"consented": 8, "conditions": {"all conditions": counts}}}}
        text = repr(build_participants_section(study_of(tmp_path / "bundle", flow=flow)))
        assert "one and two and three: 8 assigned" in text
        assert "random swaps of conditions within participants" in text


def scores():
    return {f"sys-{n}": {"em": 0.2 * n, "f1": 0.3 + 0.1 * n} for n in (1, 2, 3)}


def test_a_plan_is_followed_and_registered(tmp_path):
    folder = within_study(tmp_path / "bundle")
    path = tmp_path / "plan.json"
    path.write_text(
        json.dumps({"family": [["agreement", "one", "two"]], "participants": 20, "target": "these_items"})
    )
    plan = load_plan(path)
    text = preregistration(load_frozen(folder), plan)
    assert "Within participants: each sees all conditions." in text
    assert "swaps of the two conditions within participants" in text
    assert "The claim is about these items." in text
    assert "20 in all" in text
    [comparison] = infer(analyse(load_bundle(folder), Options(resamples=20)), plan).family.comparisons
    assert comparison.paired


def test_power_from_such_a_pilot_is_refused(tmp_path):
    bundle = load_bundle(within_study(tmp_path / "bundle"))
    with pytest.raises(AnalysisError, match="participants saw several conditions each"):
        from_pilot(bundle, "agreement", Options(resamples=0), normal=False)


def test_intervals_exclude_no_difference_exactly_if_p_is_small(tmp_path):
    """The effects lie around the edge of significance within participants.

    The test takes every measure, at two levels.
    """
    rows = edges = 0
    for turn in range(4):
        study = study_of(tmp_path / str(turn), people=9, seed=turn, effect=turn / 4, resamples=0)
        estimates = study.retained.estimates
        for measure in estimates.measures:
            nothing = 1.0 if measure.key == "time_geometric" else 0.0
            for level in (0.95, 0.8):
                comparison = compare(
                    estimates, measure.key, "one", "three", rng=rng(), permutations=499, level=level
                )
                for finding in (comparison.these_items, comparison.items_like_these):
                    if finding.p is None or finding.interval is None:
                        continue
                    low, high = finding.interval
                    assert (low <= nothing <= high) == (finding.p > 1 - level), (turn, measure.key, level)
                    rows, edges = rows + 1, edges + (1 - level < finding.p < 2 * (1 - level))
    assert rows > 100
    assert edges

"""The analysis reproduces known figures of the released study of 2020."""

# mypy: disable-error-code="operator"
# A None where a test expects a value fails the test by itself.

import json
import re

import numpy as np
import pytest

from analysis.participants.bundle import load_bundle
from analysis.report.build import build_report
from analysis.report.page import render
from analysis.stats.rank_agreement import sign_shares
from analysis.stats.results import TARGETS
from analysis.study.analysis import Options, analyse
from analysis.study.comparisons import compare_family
from analysis.study.contrasts import all_pairs
from tests.analysis.bundles import NAMES_IN_TABLE, released_study
from tests.analysis.data import real_data

STANDARD = list(NAMES_IN_TABLE)[:12]
COMPLETION_TIME_ROW = [0.71, 0.64, 0.67, 0.59, -1.00, -1.00, -0.99, 0.97, -0.99, -0.63, -0.90, 0.99]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    bundle = load_bundle(released_study(tmp_path_factory.mktemp("released")))
    return analyse(bundle, Options(resamples=200))


@pytest.fixture(scope="module")
def page(study):
    return render(build_report(study))


def test_exclusions(study):
    counts = study.exclusions.as_counts()
    assert (counts["total_trials"], counts["excluded"]) == (1000, 43)
    assert counts["percent"] == pytest.approx(4.30)
    assert counts["by_rule"] == {"too-fast": 13, "too-slow": 9, "known-before": 21}
    assert counts["overlap"] == {}


def test_interval_and_p_agree_in_every_row_for_both_targets(study):
    """No interval contradicts its p, for either target.

    Two of three rows that were significant after Holm had intervals with 0, of another target than p.
    """
    estimates = study.retained.estimates
    family = all_pairs(["agreement", "time_geometric", "certainty"], [c.name for c in study.conditions])
    comparisons = compare_family(
        estimates, family, rng=np.random.default_rng(1), permutations=999
    ).comparisons
    for comparison in comparisons:
        nothing = 1.0 if comparison.measure.geometric else 0.0
        for target in TARGETS:
            low, high = comparison.about(target).interval
            assert (low <= nothing <= high) == (comparison.about(target).p > 0.05)
    against_truth = {
        comparison.first: comparison
        for comparison in comparisons
        if (comparison.measure.key, comparison.second) == ("agreement", "ground truth")
    }
    # On these items it is nearly certain; on items like these it is not.
    assert against_truth["Select & Forget"].these_items.p <= 0.001
    assert against_truth["Select & Forget"].items_like_these.p == pytest.approx(0.0346, abs=0.0005)


def test_table_by_condition(study):
    facts = json.loads(real_data("paper_tables/xqa_text_facts.json").read_text("utf-8"))
    names = {"Qi-2019": "Qi-2019", "Select & Forget": "S&F", "regularized": "reg.", "ground truth": "GT"}
    for condition, name in names.items():
        agreement = study.retained.estimates.get("agreement", condition)
        time = study.retained.estimates.get("time_mean", condition)
        published = facts["from_data_jsonl_after_filter"]
        assert agreement.trials == published["n"][name]
        assert 100 * agreement.pooled == pytest.approx(published["agreement_percent"][name], abs=0.005)
        assert time.pooled == pytest.approx(published["mean_completion_time_s"][name], abs=0.005)
        assert time.value != pytest.approx(time.pooled, abs=1e-6)
        assert (time.participants, time.undefined) == (10, 0)


def test_the_twelve_standard_cells_of_the_completion_time_row(study):
    cells = [study.retained.relations.get("time_mean", key).correlations["pearson"] for key in STANDARD]
    assert [round(cell.value, 2) for cell in cells] == COMPLETION_TIME_ROW
    assert {cell.n for cell in cells} == {3}
    assert {cell.p for cell in cells} == {None}
    assert all(cell.interval[0] <= cell.interval[1] for cell in cells)


def test_the_row_is_that_of_participant_means_and_of_the_exclusions(study):
    def row(view):
        cells = (view.relations.get("time_mean", key).correlations["pearson"].value for key in STANDARD)
        return [round(cell, 2) for cell in cells]

    assert row(study.everything) != COMPLETION_TIME_ROW


def test_proposed_scores_do_not_reproduce_and_follow_the_recomputed_values(study):
    fit = json.loads(real_data("paper_tables/xqa_pearson_appendixH.json").read_text("utf-8"))
    recomputed = fit["fit"]["completion time"]["recomputed_proposed_with_same_human_values"]
    published = fit["rows"]["completion time"]
    for key in ("c_rel_4", "c_irr_4", "farm_4", "loca", "loca_inside", "loca_outside"):
        value = study.retained.relations.get("time_mean", key).correlations["pearson"].value
        assert value == pytest.approx(recomputed[NAMES_IN_TABLE[key]], abs=0.01)
        assert value != pytest.approx(published[NAMES_IN_TABLE[key]], abs=0.1)


def test_ground_truth_and_the_unstudied_system_are_no_points(study):
    assert study.retained.relations.systems == ("Qi-2019", "Select & Forget", "regularized")
    assert study.unused_scores == ["S&F+reg."]
    assert study.retained.estimates.get("agreement", "ground truth").value > 0.9


def test_accuracy_measures_are_not_available_rather_than_zero(study, page):
    estimates = study.retained.estimates
    needing = [m for m in estimates.measures if "system_correct" in m.needs]
    assert len(needing) == 15
    for measure in needing:
        for condition in estimates.conditions:
            estimate = estimates.get(measure.key, condition)
            assert (estimate.value, estimate.interval, estimate.pooled) == (None, None, None)
            assert "not recorded whether" in estimate.reason
    assert not {m.key for m in study.retained.relations.measures} & {m.key for m in needing}
    assert "It is not recorded whether the system&#39;s answer is correct. Not available:" in page


def test_the_page_shows_both_exclusion_figures_and_the_note(page):
    assert "reports 12.10 % of the responses as excluded" in page
    assert "43 of 1000, 4.30 %" in page
    assert "Two whole questions may have been dropped as well." in page


def test_the_page_says_which_clock_counts(study, page):
    assert study.clock == "client_total"
    assert "Completion times are those of the browser&#39;s clock, whole time." in page


def test_time_falls_with_certainty_but_at_the_lowest_level(study):
    """Time decreases as in figure 2d of the paper, but for strongly disagree."""
    times = [entry.seconds for entry in study.retained.times]
    assert len(times) == 5
    assert times[0] < times[1]
    assert times[2] > times[3] > times[4]
    assert sum(entry.trials for entry in study.retained.times) == 957


def by_sign_alone(study):
    """Return the shown cells that their sign alone would colour."""
    pairs = study.retained.relations.pairs.values()
    return [pair for pair in pairs if pair.desirable and pair.measure.headline and pair.score.headline]


def drawn_means(study, key, count=4000):
    """Bootstrap a mean answer two-way and independently, systems in columns."""
    rng, names = np.random.default_rng(20), [condition.name for condition in study.systems]
    grids = [next(grid for grid in study.retained.grids if grid.condition == name) for name in names]
    items = rng.multinomial(len(grids[0].items), np.full(len(grids[0].items), 1 / len(grids[0].items)), count)
    columns = []
    for grid in grids:
        if key in grid.post:
            draws = np.repeat(grid.post[key][:, None], count, axis=1)
        else:
            answers = grid.answers[key]
            draws = (np.nan_to_num(answers) @ items.T) / (~np.isnan(answers) @ items.T)
        people = rng.multinomial(len(draws), np.full(len(draws), 1 / len(draws)), count)
        columns.append((people.T * draws).sum(axis=0) / len(draws))
    return np.column_stack(columns)


def test_cells_that_would_be_coloured_recur_in_44_percent_of_replicates(study, page):
    cells = by_sign_alone(study)
    assert len(cells) == 29
    keys = {cell.measure.key for cell in cells}
    draws = {key: drawn_means(study, key) for key in keys}
    brute = [sign_shares(draws[c.measure.key], c.score.values[None]).of(c.rank.sign) for c in cells]
    error = np.sqrt(0.25 / 200 + 0.25 / 4000)  # of a share of 200 replicates less one of 4000
    assert np.median(brute) == pytest.approx(0.44, abs=0.03)
    for cell, share in zip(cells, brute, strict=True):
        assert cell.sign_share == pytest.approx(share, abs=4 * error), (cell.measure.key, cell.score.key)
        assert not cell.is_recurring(0.9)
        assert not cell.is_score_drawn
    match = re.search(r"\((\d+).% in the 29 cells that would be coloured by their sign alone\)", page)
    assert int(match[1]) == int(100 * np.median([cell.sign_share for cell in cells]))
    assert "None of them reaches 90\u00a0%" in page
    assert 'class="sign desirable"' not in page
    assert 'class="sign undesirable"' not in page
    assert "The uncertainty of all scores is unknown" in page

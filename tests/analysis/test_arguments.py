"""Public functions refuse malformed arguments.

The ValueError names the argument.
"""

from typing import Any

import numpy as np
import pytest

from analysis import (
    counterfactuals,
    faithfulness,
    gold_agreement,
    models,
    participants,
    planning,
    programs,
    scores,
    stats,
    study,
    visual_bias,
)
from analysis.stats.arguments import read_values
from tests.analysis.grids import make_grid

NAN, INF = float("nan"), float("inf")
DRAWS = np.linspace(-1, 1, 99)
BOUNDS = stats.boundaries([0.5, 1.0])
PERSON = stats.Block(np.ones((3, 1)), np.ones((3, 1, 2)))
PAIR = stats.Replicates([1, 2], [[1, 2], [2, 3], [1, 3]])
SEEDED = {"rng": np.random.default_rng(1)}
TWO = [make_grid(name, correctness_rating=np.ones((3, 2)), people=3, items=2) for name in "ab"]
ESTIMATES = participants.estimate(TWO, participants.MEASURES[:1], resamples=0, **SEEDED)
KEY = participants.MEASURES[0].key
ITEM = faithfulness.ItemOutputs("a", {0: ("find", [(1, 2)])}, {0: ("find", [0.5, 0.5])})
URLS = {"left_url": "a", "right_url": "b"}
BIAS = visual_bias.analyse([{"identifier": "x", "label": "true", **URLS}])
ASSUMED = planning.Assumed(1.0, residual_sd=1.0)
DESIGN = {"effects": [0, 1], "items": 1, "simulations": 5, **SEEDED}


def replace_output(gold, outputs):
    return faithfulness.ItemOutputs("a", {0: ("find", gold)}, {0: ("find", outputs)}, [[[0, 0, 1, 1]]])


CALLS: list[tuple[Any, ...]] = [
    (stats.spent_alpha, ("mine", 0.5, 0.05), {}, "spending must be one of 'obrien_fleming', 'pocock'"),
    (stats.spent_alpha, ("pocock", 2.0, 0.05), {}, "fraction must be above 0 and at most 1, not 2.0"),
    (stats.spent_alpha, ("obrien_fleming", -1, 0.05), {}, "fraction must be"),
    (stats.spent_alpha, ("pocock", 0.5, NAN), {}, "alpha must be"),
    (stats.boundaries, (["a"],), {}, "fractions must have one value per interim analysis, numbers"),
    (stats.crossing_probabilities, (BOUNDS, INF), {}, "drift must be a finite number"),
    (stats.cost_of_interim_analyses, (BOUNDS, NAN), {}, "power must be"),
    (stats.decide, (BOUNDS, [[1]]), {}, "observed must have one value per interim analysis"),
    (stats.widen_level, (0.95,), {}, "units must be at least 2 in one sample"),
    (stats.widen_level, (2, 10), {}, "level must lie between 0 and 1, not 2"),
    (stats.widen_level, (0.95, 0), {}, "units must be at least 1"),
    (stats.percentile_interval, (DRAWS, 2), {}, "level must"),
    (stats.percentile_interval, (DRAWS[None],), {}, "replicates must have one value per replicate"),
    (stats.bootstrap_interval, (DRAWS, 0.0, []), {"method": "t"}, "method must be one of"),
    (stats.bootstrap_interval, (DRAWS, NAN, []), {}, "estimate must be a finite number"),
    (stats.bootstrap_interval, (DRAWS, 0.1, []), {}, "left_out must have a value per unit"),
    (stats.leave_one_out_means, ([INF],), {}, "values holds an infinite value"),
    (stats.mean_tally, ([[1]],), {}, "values must have one value per unit"),
    (stats.quantities, ({},), {"level": 7}, "level must"),
    (
        stats.quantities,
        ({"a": stats.Tally(DRAWS, np.sum, 1, "")},),
        {},
        "the sums of 'a' must be units × columns",
    ),
    (
        stats.fit_strengths,
        ([[[0, NAN], [1, 0]]], np.zeros((1, 2, 2))),
        SEEDED,
        "wins must not be negative or NaN",
    ),
    (stats.fit_strengths, ([[[1, 0], [1, 0]]], np.zeros((1, 2, 2))), SEEDED, "meets itself"),
    (stats.correlate, ([1, 2], [1, 2], "mine"), {}, "coefficient must be one of 'pearson'"),
    (stats.correlate, ([1, 2], [1, 2], "pearson"), {"replicates": np.ones((4, 3))}, "2 systems"),
    (stats.region_interval, (PAIR, [1, 1], "pearson"), {}, "model must not be the same for all systems"),
    (stats.sign_shares, (np.ones(3), np.ones((1, 3))), {}, "human must be replicates × systems"),
    (stats.sign_shares, (np.ones((2, 3)), np.ones((4, 3))), {}, "model must have the shape"),
    (stats.desirability, ("?", "higher", "higher"), {}, "sign must be one of"),
    (stats.desirability, ("+", "up", "higher"), {}, "human_wanted must be one of"),
    (stats.equivalence, ([1, 2], [1, 3], (-INF, 1)), {}, "margin must be two finite numbers"),
    (stats.permutation_test, ([1, 2], [1, 3]), {"permutations": 2.5, **SEEDED}, "permutations must be"),
    (stats.crossed_test, ([],), {"items": True}, "blocks must hold at least 2 conditions in all, not 0"),
    (
        stats.crossed_test,
        ([PERSON],),
        {"items": True},
        "blocks must hold at least 2 conditions in all, not 1",
    ),
    (models.bayes_logistic, (None,), {"rope": (1, -1), **SEEDED}, "rope must be a lower and an upper end"),
    (participants.krippendorff_alpha, ([[1, 2]], "mine"), {}, "metric must be one of"),
    (participants.pair_agreement, ([1, 2],), {}, "ratings must be raters × items"),
    (participants.estimate, ([], []), {"resamples": 0, **SEEDED}, "grids must hold at least one condition"),
    (participants.time_at_certainty, (TWO, 0), {"resamples": 0, **SEEDED}, "levels must be at least 1"),
    (participants.learning, (TWO, [np.zeros((3, 2))] * 2), {"resamples": 0, **SEEDED}, "numbers from 1"),
    (scores.removal_order, ([],), {"threshold": NAN}, "threshold must be from 0 to 1"),
    (scores.farm, ({}, {-1: {}}, {-1: {}}), {}, "k must be at least 1, not -1"),
    (faithfulness.evaluate, ("mine", [ITEM]), {}, "kind must be one of"),
    (faithfulness.evaluate, ("spans", []), {}, "items must hold at least one item"),
    (
        faithfulness.evaluate,
        ("boxes", [replace_output([[[0, 0, NAN, 1]]], [0.5])]),
        {},
        "gold box is not four",
    ),
    (
        faithfulness.evaluate,
        ("boxes", [replace_output([[[0, 0, 1, 1]]], [7])]),
        {},
        "probability is not from 0 to 1",
    ),
    (
        faithfulness.evaluate,
        ("spans", [replace_output([(0, 1)], [NAN, 1])]),
        {},
        "attention is negative or NaN",
    ),
    (faithfulness.compare_systems, ("mine", [ITEM], [ITEM]), {}, "kind must be one of"),
    (gold_agreement.agreement, ([], "mine"), {}, "kind must be one of"),
    (gold_agreement.box_clusters, ({},), {"above": 2}, "above must be from 0 to 1"),
    (gold_agreement.span_clusters, ({"a": [(3, 1)]},), {}, "objects must cover something"),
    (programs.parse, ("find",), {"kind": "mine"}, "kind must be one of 'boxes', 'spans'"),
    (programs.parse_lines, ("find",), {"kind": "boxes", "root": "mine"}, "root must be None or one of"),
    (counterfactuals.swaps, ("", ""), {"distribution": "mine"}, "distribution must be one of"),
    (counterfactuals.draft, ([],), {"steps": ["mine"]}, "steps must be one of"),
    (counterfactuals.draft, ([{"_id": "q"}],), {}, "question 'q' has no question"),
    (planning.smallest_design, (ASSUMED,), {"criterion": "mine", **DESIGN}, "criterion must be one of"),
    (planning.pilot, ([], None), {}, "grids must hold at least one condition"),
    (planning.pilot_values, ([], 3), {}, "values must hold at least one condition"),
    (planning.estimate_noise, ([1, 2], [[1, 2, 3]]), {}, "must be of the same systems"),
    (
        planning.plan_systems,
        ([0.5], 0.0, SEEDED["rng"]),
        {"coefficient": "mine"},
        "coefficient must be one of",
    ),
    (study.Options, (), {"seed": -1}, "seed must be at least 0"),
    (study.compare, (ESTIMATES, KEY, "a", "b"), {"target": "mine", **SEEDED}, "target must be one of"),
    (study.omnibus, (ESTIMATES, [KEY], ["a"]), {}, "conditions must name at least 2"),
    (study.rule_hits, (TWO, [1], [("x",)], ["y"]), {}, "names must be among the rules, unlike x"),
    (visual_bias.VisualBias.pairs_of, (BIAS, "mine"), {}, "part must be one of 'all'"),
]


@pytest.mark.parametrize(("function", "arguments", "options", "words"), CALLS)
def test_a_malformed_argument_is_named(function, arguments, options, words):
    with pytest.raises(ValueError, match=words):
        function(*arguments, **options)


def test_what_is_no_array_of_numbers_is_named():
    assert read_values([1, None], "first", "participant")[0] == 1  # None is an undefined value
    malformed: tuple[Any, ...] = ("abc", [[1], [2, 3]], {})
    for values in malformed:
        with pytest.raises(ValueError, match="first must"):
            read_values(values, "first", "participant")

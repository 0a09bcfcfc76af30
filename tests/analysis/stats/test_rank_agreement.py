"""Rank relations and desirability."""

import json
from itertools import product

import numpy as np
import pytest

from analysis.scores.score_table import SCORES
from analysis.stats.rank_agreement import desirability, rank_relation, sign_shares
from tests.analysis.bundles import NAMES_IN_TABLE
from tests.analysis.data import real_data


@pytest.mark.parametrize(
    ("human", "model", "sign", "tied"),
    [
        ([1, 2, 3], [10, 20, 30], "+", False),
        ([1, 2, 3], [30, 20, 10], "-", False),
        ([1, 2, 3], [10, 30, 20], "", False),
        ([1, 1, 3], [1, 2, 3], "", True),
        ([1, 2, 3], [5, 5, 5], "", True),
        ([2, 1], [7, 3], "+", False),
        ([0.1 + 0.2, 0.3, 1], [1, 2, 3], "", True),  # equal but for rounding
    ],
)
def test_it_works(human, model, sign, tied):
    assert rank_relation(human, model) == (sign, tied)


def test_order_of_systems_does_not_matter():
    assert rank_relation([3, 1, 2], [30, 10, 20]).sign == "+"
    assert rank_relation([3, 1, 2], [-30, -10, -20]).sign == "-"


@pytest.mark.parametrize(
    ("sign", "human", "model", "expected"),
    [
        ("+", "higher", "higher", "desirable"),
        ("-", "higher", "higher", "undesirable"),
        ("+", "lower", "higher", "undesirable"),
        ("-", "lower", "higher", "desirable"),
        ("+", "lower", "lower", "desirable"),
        ("-", "higher", "lower", "desirable"),
        ("", "higher", "higher", ""),
        ("+", None, "higher", ""),
        ("-", "lower", None, ""),
    ],
)
def test_desirability(sign, human, model, expected):
    assert desirability(sign, human, model) == expected


@pytest.mark.parametrize(
    ("human", "model", "words"),
    [
        ([1, 2], [1, 2, 3], "human has 2 systems, model has 3"),
        ([1], [1], "at least 2 systems"),
        ([1, float("nan")], [1, 2], "human holds a value that is not finite"),
        ([1, 2], [[1, 2]], "model must have one value per system"),
    ],
)
def test_values_that_do_not_pair(human, model, words):
    with pytest.raises(ValueError, match=words):
        rank_relation(human, model)


def test_the_recomputed_table_of_the_paper():
    """The published Pearson table implies the published rank relations.

    The human values that the table implies rank the systems as the relations say.
    """
    pearson = json.loads(real_data("paper_tables/xqa_pearson_appendixH.json").read_text("utf-8"))["fit"]
    scores = json.loads(real_data("paper_tables/xqa_model_scores.json").read_text("utf-8"))["rows"]
    expected = json.loads(real_data("paper_tables/xqa_rank_relations.json").read_text("utf-8"))["recomputed"]
    systems = ("Qi-2019", "S&F", "reg.")
    signs = 0
    for measure, row in expected.items():
        human = [pearson[measure]["human_measure_standardised"][system] for system in systems]
        for score in SCORES:
            name = NAMES_IN_TABLE.get(score.key)
            if name is None:
                continue
            model = [scores[name][system] for system in systems]
            assert rank_relation(human, model).sign == row[name], (measure, name)
            signs += bool(row[name])
    assert signs > 40


def test_shares_of_replicates_by_hand():
    human = np.array([[1, 2, 3], [3, 2, 1], [1, 3, 2], [1, 1, 2], [1, 2, np.nan]])
    assert sign_shares(human, np.array([[5.0, 6, 7]])) == (1 / 5, 1 / 5)
    drawn = np.array([[5.0, 6, 7], [5, 6, 7], [5, 7, 6], [5, 6, 7], [5, 6, 7]])
    shares = sign_shares(human, drawn)
    assert (shares.same, shares.reversed) == (2 / 5, 1 / 5)
    assert (shares.of("+"), shares.of("-"), shares.of("")) == (2 / 5, 1 / 5, None)


def test_shares_of_all_resamples_are_those_of_the_ranking_of_each():
    """The shares are those of ranking every resample by itself.

    Three systems of three participants have 27³ samples with replacement; every seventh is ranked.
    """
    people = np.array([[0.2, 0.3, 0.1], [0.3, 0.25, 0.4], [0.35, 0.6, 0.3]])
    model = np.array([1.0, 2.0, 3.0])
    means = [[np.mean(sample) for sample in product(values, repeat=3)] for values in people]
    replicates = np.array(list(product(*means)))
    signs = [rank_relation(row, model).sign for row in replicates[::7]]
    shares = sign_shares(replicates[::7], model[None])
    assert shares.same == pytest.approx(signs.count("+") / len(signs))
    assert shares.reversed == pytest.approx(signs.count("-") / len(signs))
    assert 0.5 < shares.same < 0.9

"""Confidence intervals, tests and effect sizes on numpy arrays.

Each function takes one value per participant, system or unit. Nothing here
knows of studies, and only numpy and scipy are needed. Modules write
``scipy.stats.x`` and ``scipy.special.x`` in full: scipy then imports them on
first use, which spares each process of the site a seventh of its start, and
20 MB for ``scipy.stats``, which the site never uses.
"""

from .bootstrap import (
    Interval,
    bootstrap_interval,
    leave_one_out_means,
    percentile_interval,
    resample,
    widen_level,
)
from .bootstrap_sums import Quantity, Tally, mean_tally, quantities
from .bradley_terry import Strengths, fit_strengths
from .correlations import Correlation, Replicates, correlate, region_interval
from .crossed import Block, CrossedTest, crossed_test
from .effect_sizes import (
    cliffs_delta,
    hedges_g,
    probability_of_superiority,
    ratio_of_geometric_means,
    welch_difference,
)
from .equivalence import Equivalence, equivalence
from .paired import (
    average_g,
    delta_within,
    paired_difference,
    ratio_within,
    sign_flip_test,
    superiority_within,
)
from .permutation import permutation_test
from .rank_agreement import RankRelation, SignShares, desirability, rank_relation, sign_shares
from .results import Finding
from .sequential import (
    Boundaries,
    Cost,
    Decision,
    InterimAnalysis,
    boundaries,
    cost_of_interim_analyses,
    crossing_probabilities,
    decide,
    observed_z,
    spent_alpha,
)

__all__ = [
    "Block",
    "Boundaries",
    "Correlation",
    "Cost",
    "CrossedTest",
    "Decision",
    "Equivalence",
    "Finding",
    "InterimAnalysis",
    "Interval",
    "Quantity",
    "RankRelation",
    "Replicates",
    "SignShares",
    "Strengths",
    "Tally",
    "average_g",
    "bootstrap_interval",
    "boundaries",
    "cliffs_delta",
    "correlate",
    "cost_of_interim_analyses",
    "crossed_test",
    "crossing_probabilities",
    "decide",
    "delta_within",
    "desirability",
    "equivalence",
    "fit_strengths",
    "hedges_g",
    "leave_one_out_means",
    "mean_tally",
    "observed_z",
    "paired_difference",
    "percentile_interval",
    "permutation_test",
    "probability_of_superiority",
    "quantities",
    "rank_relation",
    "ratio_of_geometric_means",
    "ratio_within",
    "region_interval",
    "resample",
    "sign_flip_test",
    "sign_shares",
    "spent_alpha",
    "superiority_within",
    "welch_difference",
    "widen_level",
]

"""Analysis of a study: comparisons, models and relations to scores."""

from .analysis import Options, Study, analyse
from .comparisons import Comparison, Family, Omnibus, compare, compare_family, holm, omnibus
from .contrasts import all_pairs, pair_with_baseline, pair_with_unexplained
from .human_vs_model import Relation, Relations, relate
from .inference import Inference, infer
from .leave_one_out import Robustness, leave_one_out
from .multiverse import Multiverse, Stability, Universe, multiverse, rule_hits

__all__ = [
    "Comparison",
    "Family",
    "Inference",
    "Multiverse",
    "Omnibus",
    "Options",
    "Relation",
    "Relations",
    "Robustness",
    "Stability",
    "Study",
    "Universe",
    "all_pairs",
    "analyse",
    "compare",
    "compare_family",
    "holm",
    "infer",
    "leave_one_out",
    "multiverse",
    "omnibus",
    "pair_with_baseline",
    "pair_with_unexplained",
    "relate",
    "rule_hits",
]

"""Analysis of a study: comparisons, models and relations to scores."""

from .analysis import Options, Study, analyse
from .comparisons import Comparison, Family, all_pairs, compare_family, difference, holm
from .human_vs_model import Relation, Relations, relate
from .inference import Inference, infer
from .leave_one_out import Robustness, leave_one_out
from .multiverse import Multiverse, Stability, Universe, multiverse, rule_hits

__all__ = [
    "Comparison",
    "Family",
    "Inference",
    "Multiverse",
    "Options",
    "Relation",
    "Relations",
    "Robustness",
    "Stability",
    "Study",
    "Universe",
    "all_pairs",
    "analyse",
    "compare_family",
    "difference",
    "holm",
    "infer",
    "leave_one_out",
    "multiverse",
    "relate",
    "rule_hits",
]

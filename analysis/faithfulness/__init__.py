"""Module-wise faithfulness: do modules predict what they are named for?

`evaluate` scores everything of a system at once. `score_boxes` and
`score_spans` score outputs against gold, `permutation_test` compares two
systems, and the readers take all of it from files.
"""

from .boxes import BoxScores, score_boxes
from .compare import Comparison, permutation_test
from .evaluation import Evaluation, Figure, ItemOutputs, WorstItem, compare_systems, evaluate
from .examples import GoldExample, GoldModule, MatchError, OutputExample, OutputModule
from .faithful_nmn import read_faithful_nmn
from .files import read_box_gold, read_box_outputs, read_span_gold, read_span_outputs
from .spans import GoldSpans, SpanOutput, SpanScores, score_spans

__all__ = [
    "BoxScores",
    "Comparison",
    "Evaluation",
    "Figure",
    "GoldExample",
    "GoldModule",
    "GoldSpans",
    "ItemOutputs",
    "MatchError",
    "OutputExample",
    "OutputModule",
    "SpanOutput",
    "SpanScores",
    "WorstItem",
    "compare_systems",
    "evaluate",
    "permutation_test",
    "read_box_gold",
    "read_box_outputs",
    "read_faithful_nmn",
    "read_span_gold",
    "read_span_outputs",
    "score_boxes",
    "score_spans",
]

"""Automatic scores of question answering: HotpotQA, FaRM and LocA.

These need only the standard library. `analysis.scores.per_question` (files of
scores per question) and `.score_table` (the scores of a report) are imported
by their own names.
"""

from .farm_loca import (
    ErrorPropagation,
    Farm,
    Loca,
    RemovalOrder,
    error_propagation,
    farm,
    loca,
    reduce_context,
    removal_order,
)
from .hotpotqa import (
    F1,
    answer_f1,
    exact_match,
    facts_f1,
    malformed_facts,
    normalise_answer,
    score,
    score_each,
    score_question,
)

__all__ = [
    "F1",
    "ErrorPropagation",
    "Farm",
    "Loca",
    "RemovalOrder",
    "answer_f1",
    "error_propagation",
    "exact_match",
    "facts_f1",
    "farm",
    "loca",
    "malformed_facts",
    "normalise_answer",
    "reduce_context",
    "removal_order",
    "score",
    "score_each",
    "score_question",
]

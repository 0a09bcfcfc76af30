"""Model scores per question, with a bootstrap over questions.

The table has one row per system and question: the question's part in each
score. Shares and FaRM and LocA, which are not means, are computed again from
what was drawn. All systems of a replicate have the same questions, as they
answered the same ones.

References:
    1. Schuff et al. (2020), sections 4.1 to 4.3.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..io.errors import AnalysisError
from ..io.table_columns import Column
from ..io.tabular_files import read_table
from ..stats.arrays import Array, ratio, split_into_chunks
from ..stats.bootstrap import draw_counts
from .erasure import DIFFERENCES
from .farm_loca import REMOVALS
from .score_table import SCORES

LOCATED = ("span_answer", "inside", "outside")
# Means over questions: the twelve standard scores, whether the answer changed (0 or 1), and the differences
# of probabilities.
MEANS = tuple(s.key for s in SCORES if not s.key.startswith(("farm_", "loca")))
TABLE = "question_scores"
COLUMNS = (
    Column("system", "text", required=True, filled=True),
    Column("question_id", "text", required=True, filled=True),
    *(Column(key, "number", low=-1 if key in DIFFERENCES else 0, high=1) for key in MEANS + LOCATED),
)
ROUNDING = 6e-4  # a score may be given in percent with one decimal
CELLS_PER_CHUNK = 4_000_000  # questions by replicates held at once


def read_question_scores(path: Path) -> pd.DataFrame:
    """Read the table of scores per question, typed.

    Raises:
        InputError: Names file, line and column, also for a repeated question.
    """
    table = read_table(path, COLUMNS)
    twice = np.flatnonzero(table.frame.duplicated(["system", "question_id"]))
    if len(twice):
        row = int(twice[0])
        values = table.frame.iloc[row]
        raise table.fault(row, "question_id", f"second row for {values['system']}, {values['question_id']}")
    return table.frame


def score_replicates(
    table: pd.DataFrame, systems: Sequence[str], *, rng: np.random.Generator, resamples: int
) -> dict[str, Array]:
    """Compute bootstrap replicates of every score: resamples × systems.

    NaN where the table does not give a score. table: see `read_question_scores`.
    Questions are drawn with replacement, for all systems at once; a question that
    a system lacks, or has no value for, does not count for it.
    """
    questions = pd.Index(sorted(table["question_id"].unique()))
    parts = {name: _spread(table, name, questions) for name in systems}
    replicates = {score.key: np.full((resamples, len(systems)), np.nan) for score in SCORES}
    for rows in split_into_chunks(resamples, CELLS_PER_CHUNK // max(1, len(questions))):
        weights = draw_counts(rng, len(questions), rows.stop - rows.start)
        for column, name in enumerate(systems):
            for key, values in _compute_scores(parts[name], weights).items():
                replicates[key][rows, column] = values
    return replicates


def check_agreement(table: pd.DataFrame, scores: Mapping[str, Mapping[str, float | None]]) -> None:
    """Check that the table's questions give the scores given beside it.

    scores: by system and key.

    Raises:
        AnalysisError: A score differs.
    """
    questions = pd.Index(table["question_id"].unique())
    for name in table["system"].unique():
        computed = _compute_scores(_spread(table, name, questions), np.ones((len(questions), 1)))
        given = scores.get(name, {})
        for key, values in computed.items():
            value = given.get(key)
            if value is not None and abs(value - values[0]) > ROUNDING:
                raise AnalysisError(
                    f"{TABLE}: its questions give {name} {key} = {values[0]:.4f}, the scores say {value:.4f}"
                )


def _spread(table: pd.DataFrame, system: str, questions: pd.Index) -> dict[str, Array]:
    """Spread a system's columns over all questions; NaN without a value."""
    own = table[table["system"] == system].set_index("question_id").reindex(questions)
    columns = {name: own[name].to_numpy(float) for name in MEANS + LOCATED}
    return {name: values for name, values in columns.items() if not np.isnan(values).all()}


def _compute_scores(parts: Mapping[str, Array], weights: Array) -> dict[str, Array]:
    """Compute every score under weights of questions × replicates."""
    scores = {name: _mean(values, weights) for name, values in parts.items() if name in MEANS}
    for k in REMOVALS:
        if f"c_rel_{k}" in scores and f"c_irr_{k}" in scores:
            scores[f"farm_{k}"] = scores[f"c_rel_{k}"] / (1 + scores[f"c_irr_{k}"])
    if all(name in parts for name in LOCATED):
        spans, inside, outside = (np.nan_to_num(parts[name]) @ weights for name in LOCATED)
        scores["loca_inside"], scores["loca_outside"] = ratio(inside, spans), ratio(outside, spans)
        scores["loca"] = ratio(inside, np.where(spans > 0, spans + outside, 0.0))
    return scores


def _mean(values: Array, weights: Array) -> Array:
    has_value = ~np.isnan(values)
    return ratio(np.nan_to_num(values) @ weights, has_value.astype(float) @ weights)

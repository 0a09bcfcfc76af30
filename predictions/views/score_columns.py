"""The table of scores: a row for each scored run, percentages."""

from collections.abc import Iterable
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from foundation.translated_messages import translate_text
from predictions.models import PredictionRun

COLUMNS: dict[str, str | Promise] = {
    "em": _("Exact match"),
    "f1": _("Answer F1"),
    "sp_f1": _("Facts F1"),
    "joint_f1": _("Joint F1"),
    "farm_4": "FaRM(4)",
    "loca": "LocA",
}
# On the page of a run alone, because the table has no room for them.
ERASURE: dict[str, str | Promise] = {
    "comprehensiveness": _("Comprehensiveness"),
    "sufficiency": _("Sufficiency"),
}


class Cell(NamedTuple):
    """A score in percent, or the reason why there is none."""

    label: str | Promise
    percent: float | None
    reason: str


def score_table(runs: Iterable[PredictionRun]) -> list[tuple[PredictionRun, list[Cell]]]:
    """Return the scored ones of runs with their cells."""
    return [(run, score_cells(run)[: len(COLUMNS)]) for run in runs if hasattr(run, "score")]


def score_cells(run: PredictionRun) -> list[Cell]:
    """Return the main scores of a scored run."""
    values, reasons = run.score.values, run.score.reasons
    return [
        Cell(
            label,
            None if values.get(key) is None else 100 * values[key],
            translate_text(reasons.get(key, "")),
        )
        for key, label in (COLUMNS | ERASURE).items()
    ]

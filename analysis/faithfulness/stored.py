"""Parts of every example in the scores, as stored between commands.

`faithfulness` prints them and `compare-faithfulness` reads them. "examples" of
a printed result is {id: {module: parts}}, with `overall` among the modules.
The parts of boxes are {"f1", "counts": [good, bad, bad when apart, hit, gold],
"occurrences": [sum of P, of R, of F1, number]}, those of spans [sum of losses,
divisor].
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..io.errors import AnalysisError, InputError, find_first_problem
from ..io.whole_files import read_json
from ..stats.bootstrap_sums import Tally, compute_mean
from .boxes import Averaging, BoxScores, build_f1_tally, compute_score_parts
from .matching import PAPER
from .spans import SpanScores

Json = dict[str, Any]
Number = Annotated[float, Field(allow_inf_nan=False)]
Five = tuple[Number, Number, Number, Number, Number]
Four = tuple[Number, Number, Number, Number]


class BoxParts(BaseModel):
    """Of one example and module type."""

    model_config = ConfigDict(frozen=True)
    f1: Number
    counts: Five
    occurrences: Four


class Stored(BaseModel):
    """A system's scores as printed, without fields that no comparison needs."""

    model_config = ConfigDict(frozen=True)
    kind: Literal["boxes", "spans"]
    reference: bool = False
    thresholds: dict[str, float | None] = asdict(PAPER)
    examples: dict[str, dict[str, BoxParts | tuple[Number, Number]]]

    def tally(self, ids: Sequence[str], module: str, averaging: Averaging) -> Tally:
        """Sum a score over the examples, in the order of `ids`.

        Raises AnalysisError if no example has the module.
        """
        own = [self.examples[id].get(module) for id in ids]
        if all(score is None for score in own):
            names = dict.fromkeys(name for scores in self.examples.values() for name in scores)
            raise AnalysisError(f"no example has the module {module!r}; there are {', '.join(names)}")
        if self.kind == "spans":
            sums = np.array([score if isinstance(score, tuple) else (0.0, 0.0) for score in own], dtype=float)
            return Tally(sums, compute_mean, int(sums[:, 1].sum()), f"no question has {module}")
        counts = np.array([score.counts if isinstance(score, BoxParts) else [0.0] * 5 for score in own])
        occurrences = np.array(
            [score.occurrences if isinstance(score, BoxParts) else [0.0] * 4 for score in own]
        )
        present = np.array([score is not None for score in own])
        return build_f1_tally(averaging, compute_score_parts(averaging, counts, occurrences, present))


def load_scores(path: Path) -> Stored:
    """Read the printed result of `faithfulness`.

    Raises:
        InputError: Names file and field.
    """
    raw = read_json(path)
    try:
        scores = Stored.model_validate(raw)
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise InputError(path, f"is not what `faithfulness` prints: {problem}", field=field) from None
    wanted = BoxParts if scores.kind == "boxes" else tuple
    for id, modules in scores.examples.items():
        for name, stored in modules.items():
            if not isinstance(stored, wanted):
                raise InputError(path, f"is not of the kind {scores.kind!r}", field=f"examples.{id}.{name}")
    return scores


def export_box_examples(scores: BoxScores) -> dict[str, dict[str, Json]]:
    """Return the "examples" of a system's boxes."""
    f1 = scores.example_scores()[..., 2]
    return {
        id: {
            name: {
                "f1": float(f1[row, column]),
                "counts": [int(count) for count in scores.system.counts[row, column]],
                "occurrences": scores.system.occurrences[row, column].tolist(),
            }
            for column, name in enumerate(scores.modules)
            if not np.isnan(f1[row, column])
        }
        for row, id in enumerate(scores.examples)
    }


def export_span_examples(scores: SpanScores) -> dict[str, dict[str, list[float]]]:
    """Return the "examples" of a system's spans."""
    return {
        id: {
            name: tally.sums[row].tolist()
            for name, tally in scores.tallies.items()
            if tally.sums[row, -1] > 0
        }
        for row, id in enumerate(scores.examples)
    }


def check_same_examples(first: Stored, second: Stored, paths: tuple[Path, Path]) -> list[str]:
    """Return the IDs that both have.

    Raises:
        InputError: One lacks an example, or they were scored differently.
    """
    for field in ("kind", "reference", "thresholds"):
        if getattr(first, field) != getattr(second, field):
            raise InputError(paths[1], f"was not scored as {paths[0]} was", field=field)
    for scores, other, path in ((first, second, paths[1]), (second, first, paths[0])):
        missing = next((id for id in scores.examples if id not in other.examples), None)
        if missing is not None:
            raise InputError(path, f"lacks the example {missing!r}", field="examples")
    return list(first.examples)

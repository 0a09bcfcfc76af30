"""A system of a few formulas whose saliency is known.

It has the interface that `modelserver.saliency` uses.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from modelserver.inputs.features import IN_TITLE, Ints
from modelserver.saliency.attribution import IN_QUESTION, Subject
from modelserver.wire.schema import QAItem, SaliencyOptions

ITEM = QAItem(id="a", question="Who sang?", context=[("Band", ["Mira sang.", "It rained."])])
# "Who" in two tokens, then "sang", of the title "Band", of the first sentence "Mira"
PLACES = [
    (IN_QUESTION, 0, 0, 1),
    (IN_QUESTION, 0, 1, 3),
    (IN_QUESTION, 0, 4, 8),
    (0, IN_TITLE, 0, 4),
    (0, 0, 0, 4),
]


class Toy:
    """``formula`` turns rows [n, d] into a score."""

    def __init__(self, formula: Callable[[Tensor], Tensor], rows: Any, baseline: Any = None) -> None:
        self.formula = formula
        self.rows = torch.as_tensor(rows, dtype=torch.float64)
        zeros = torch.zeros_like(self.rows)
        self.baseline = zeros if baseline is None else torch.as_tensor(baseline, dtype=torch.float64)
        self.passes: list[int] = []
        self.hidden: list[list[int] | None] = []

    def explainable(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Subject]:
        places = np.array(PLACES[: len(self.rows)], dtype=np.int64)
        return [
            Subject(item, self.rows, self.baseline, places, 0, min(1, len(self.rows) - 1), cost=5)
            for item in items
        ]

    def scores(
        self, subjects: Sequence[Subject], rows: Sequence[Tensor], hidden: Sequence[Ints | None]
    ) -> Tensor:
        self.passes.append(len(rows))
        self.hidden += [None if hidden_rows is None else hidden_rows.tolist() for hidden_rows in hidden]
        return torch.stack([self.formula(item_rows) for item_rows in rows])

"""Result type of tests, confidence intervals and effect sizes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .arguments import read_values
from .arrays import Array

INDEPENDENT = "Participants answered independently of each other."
EXCHANGEABLE = (
    "Under the null hypothesis a participant would have got the same values in the other condition; unlike "
    "spreads are allowed for by standardising, which is exact only in large samples."
)
SAMPLED_ITEMS = "Items, like participants, are a sample, and other items might have been used."
SAME_ITEMS = "The statement is about these items; that others might have been used is not counted."
NORMAL = "The participants' values follow a normal distribution in each condition."
EQUAL_SPREAD = "The participants' values spread alike in both conditions."
ORDER_ONLY = "Only the order of values counts, not their distances."
NORMAL_MEANS = "There are enough participants for the means of their values to be nearly normal."

# The scope of a statement: these items with other participants, or other items too.
Target = Literal["these_items", "items_like_these"]
TARGETS: tuple[Target, Target] = ("items_like_these", "these_items")

LEAST = 2  # participants per condition; with one, nothing says how people differ


@dataclass(frozen=True)
class Finding:
    """A method's statement about a second condition against a first.

    Attributes:
        quantity: Name of the estimate.
        n: Participants with a defined value in the first and second condition.
        method: Name of the method.
        estimate: Second minus first, or second over first if `quantity` is a
            ratio.
        interval: Confidence interval at `level`.
        level: Such as 0.95.
        p: Two-sided unless `method` says otherwise, never 0.
        freedom: Degrees of freedom, if `interval` and p are of a t distribution.
        assumptions: A sentence each.
        reason: Why an estimate was refused (its fields are then None), or why the
            interval is not of the method that was asked for.
    """

    quantity: str
    n: tuple[int, int]
    method: str
    estimate: float | None = None
    interval: tuple[float, float] | None = None
    level: float = 0.95
    p: float | None = None
    freedom: float | None = None
    assumptions: tuple[str, ...] = ()
    reason: str = ""

    def convert_to(self, quantity: str, change: Callable[[float], float]) -> "Finding":
        """Return the same finding on an increasing scale of another quantity.

        Args:
            quantity: Name of the new estimate.
            change: Increasing function from the old scale to the new one.

        Returns:
            The finding with `estimate` and `interval` on the new scale; p and the rest stay.
        """
        estimate = None if self.estimate is None else change(self.estimate)
        interval = (change(self.interval[0]), change(self.interval[1])) if self.interval else None
        return replace(self, quantity=quantity, estimate=estimate, interval=interval)

    def to_ratio(self, method: str, normal: str) -> "Finding":
        """Return the finding about logarithms as one about a ratio, without p.

        Args:
            method: Name of the method.
            normal: Noun in the plural, such as "values", for the assumption that the logarithms of the
                participants' are nearly normal.

        Returns:
            The finding with the exponentials of `estimate` and `interval`.
        """
        ratio = replace(self.convert_to("ratio of geometric means", exp), method=method, p=None)
        normality = f"The logarithms of the participants' {normal} are nearly normal."
        return replace(ratio, assumptions=self.assumptions and (INDEPENDENT, normality, SAME_ITEMS))


def select_defined_values(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    """Return both groups as arrays of the participants' defined values.

    Raises ValueError for another shape than one value per participant, and for infinite values.
    """
    before, after = read_values(first, "first", "participant"), read_values(second, "second", "participant")
    return before[~np.isnan(before)], after[~np.isnan(after)]


def explain_too_few(groups: Sequence[Array]) -> str:
    """Explain why groups are too small, "" if they are not."""
    if min(map(len, groups)) >= LEAST:
        return ""
    sizes = " and ".join(str(len(group)) for group in groups)
    return f"each condition needs at least {LEAST} participants with a defined value; there are {sizes}"


def explain_constant(groups: Sequence[Array], *, within_groups: bool = False) -> str:
    """Explain why values that do not vary say nothing, "" if they vary.

    within_groups: refuse only if the values vary in neither condition, not only if all are one value.
    """
    if within_groups:
        if all(is_constant(group) for group in groups):
            return "the values do not vary within either condition, so nothing says how people differ"
        return ""
    return "every participant has the same value" if is_constant(np.concatenate(groups)) else ""


def is_constant(values: Array) -> bool:
    """Test whether all values are equal up to the last digits."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max()) if len(values) else True

"""The command ``interim`` (also ``looks``): boundaries by alpha spending."""

import sys
from collections.abc import Sequence
from dataclasses import asdict

from ..io.errors import AnalysisError
from ..stats.sequential import Boundaries, Spending, boundaries, cost_of_looks, decide
from .options import Numbers, print_json


def print_boundaries(
    *,
    fractions: Numbers,
    spending: Spending = "obrien_fleming",
    alpha: float = 0.05,
    power: float = 0.8,
    observed: Numbers = (),
    json: bool = False,
) -> None:
    """Compute boundaries for interim analyses by alpha spending.

    Args:
        fractions: Shares of the planned sample at each analysis, separated by commas, up to 1.
        spending: Spending function.
        alpha: Two-sided level.
        power: Power for which to compute the cost in participants.
        observed: z of the analyses so far, separated by commas; prints the decision.
        json: Print JSON.
    """
    try:
        bounds = boundaries(fractions, spending=spending, alpha=alpha)
        if json:
            print_json(_as_values(bounds, observed, power))
        else:
            sys.stdout.write(_as_text(bounds, observed, power) + "\n")
    except ValueError as error:
        raise AnalysisError(str(error)) from None


def _as_values(bounds: Boundaries, observed: Sequence[float], power: float) -> dict[str, object]:
    complete = bounds.looks[-1].fraction == 1
    return {
        **asdict(bounds),
        "cost": asdict(cost_of_looks(bounds, power)) if complete else None,
        "decision": asdict(decide(bounds, observed)) if observed else None,
    }


def _as_text(bounds: Boundaries, observed: Sequence[float], power: float) -> str:
    """Describe the boundaries, their cost and, with observed z, the decision."""
    lines = ["look  share   |z|      p        alpha spent"]
    lines += [
        f"{turn:>4}  {look.fraction:5.3f}  {look.z:7.4f}  {look.p:.6f}  {look.spent:.6f}"
        for turn, look in enumerate(bounds.looks, start=1)
    ]
    if bounds.looks[-1].fraction == 1:
        cost = cost_of_looks(bounds, power)
        lines.append(
            f"For a power of {power:g} these looks cost {100 * (cost.inflation - 1):.1f} % more participants "
            f"at most; the mean sample is {100 * cost.expected_effect:.0f} % of that of one analysis at the "
            f"end where the planned effect is there, {100 * cost.expected_null:.0f} % where there is none."
        )
    if observed:
        lines.append(decide(bounds, observed).sentence)
    return "\n".join(lines)

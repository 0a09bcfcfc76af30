"""The command ``interim`` (also ``looks``): boundaries by alpha spending.

With a bundle, z and the share of the sample are those of the study so far: the bundle is analysed as in a
report, and the plan declares the comparison and the sample size.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ..io.command_line import BadUsage
from ..io.errors import AnalysisError, InputError
from ..participants.bundle import load_bundle
from ..planning.declared_plan import load_plan
from ..stats.sequential import Boundaries, Spending, boundaries, cost_of_interim_analyses, decide, observed_z
from ..study.analysis import Options, analyse
from .options import Count, Level, Mode, Numbers, OpenShare, print_json


def print_boundaries(
    bundle: Path | None = None,
    /,
    *,
    plan: Path | None = None,
    fractions: Numbers = (),
    spending: Spending = "obrien_fleming",
    alpha: Level = 0.05,
    power: OpenShare = 0.8,
    observed: Numbers = (),
    mode: Mode | None = None,
    study_version: Count | None = None,
    json: bool = False,
) -> None:
    """Compute boundaries for interim analyses by alpha spending.

    Args:
        bundle: Folder that export_results wrote of a running study; needs the plan, and adds its z.
        plan: Declared plan (JSON) with interim analyses, the sample size and one comparison.
        fractions: Shares of the planned sample at each analysis, separated by commas, up to 1.
        spending: Spending function.
        alpha: Two-sided level.
        power: Power for which to compute the cost in participants.
        observed: z of the analyses so far, separated by commas; prints the decision.
        mode: Participants to analyse; without it the first of live, pilot and bot that has data.
        study_version: Version to analyse; without it the newest that has data.
        json: Print JSON.
    """
    try:
        if bundle is not None:
            if plan is None:
                raise BadUsage("a bundle needs its plan (--plan FILE)")
            options = Options(resamples=0, mode=mode, version=study_version)
            fractions, spending, alpha, observed = _compute_interim_values(bundle, plan, options, observed)
        elif not fractions:
            raise BadUsage("give --fractions, or a bundle with its plan")
        bounds = boundaries(fractions, spending=spending, alpha=alpha)
        if json:
            print_json(_as_values(bounds, observed, power))
        else:
            sys.stdout.write(_as_text(bounds, observed, power) + "\n")
    except ValueError as error:
        # Without a bundle, every number is from the command line.
        raise (BadUsage if bundle is None else AnalysisError)(str(error)) from None


def _compute_interim_values(
    bundle: Path, path: Path, options: Options, before: Sequence[float]
) -> tuple[Sequence[float], Spending, float, Sequence[float]]:
    """Return shares, spending, alpha and z up to an analysis of the bundle.

    Earlier analyses are at the planned shares, this one at that of the sample so far.
    """
    plan = load_plan(path)
    if plan.interim_analyses is None or not plan.participants or len(plan.family) != 1:
        problem = (
            "an interim analysis needs interim_analyses, participants and exactly one comparison in family"
        )
        raise InputError(path, problem)
    ((measure, first, second),) = plan.family
    estimates = analyse(load_bundle(bundle), options).retained.estimates
    try:
        values = [
            estimates.per_participant[measure][estimates.conditions.index(name)] for name in (first, second)
        ]
    except (KeyError, ValueError):
        raise InputError(
            path, f"the study has no {measure} of {first} and {second}", field="family"
        ) from None
    smallest = min(int((~np.isnan(own)).sum()) for own in values)
    shares = [analysis.fraction for analysis in plan.interim_analyses.analyses[: len(before)]]
    now = min(1.0, smallest / plan.participants)
    return [*shares, now], plan.interim_analyses.spending, plan.alpha, [*before, observed_z(*values)]


def _as_values(bounds: Boundaries, observed: Sequence[float], power: float) -> dict[str, object]:
    complete = bounds.analyses[-1].fraction == 1
    return {
        **asdict(bounds),
        "cost": asdict(cost_of_interim_analyses(bounds, power)) if complete else None,
        "decision": asdict(decide(bounds, observed)) if observed else None,
    }


def _as_text(bounds: Boundaries, observed: Sequence[float], power: float) -> str:
    """Describe the boundaries, their cost and, with observed z, the decision."""
    lines = ["analysis  share   |z|      p        alpha spent"]
    lines += [
        f"{turn:>8}  {analysis.fraction:5.3f}  {analysis.z:7.4f}  {analysis.p:.6f}  {analysis.spent:.6f}"
        for turn, analysis in enumerate(bounds.analyses, start=1)
    ]
    if bounds.analyses[-1].fraction == 1:
        cost = cost_of_interim_analyses(bounds, power)
        lines.append(
            f"For a power of {power:g} these interim analyses cost {100 * (cost.inflation - 1):.1f} % more "
            f"participants at most; the mean sample is {100 * cost.expected_effect:.0f} % of that of one "
            f"analysis at the end where the planned effect is there, {100 * cost.expected_null:.0f} % where "
            "there is none."
        )
    if observed:
        lines.append(decide(bounds, observed).sentence)
    return "\n".join(lines)

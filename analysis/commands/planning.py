"""Planning commands: the sample size as a page with a curve, looks at a running study as text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Canvas

from ..io.errors import AnalysisError
from ..participants.bundle import Bundle
from ..participants.learning_curves import ratings_right
from ..participants.trial_grid import Grid
from ..planning.power import Population, fitted, pilot
from ..planning.sample_size import Design, design_sentence, rate_text
from ..report.figures import COLOURS, INK, STYLE, drawn
from ..report.page import Block, Figure, Page, Section, Text
from ..report.tables import Cell, Table, number
from ..stats.arrays import Array
from ..stats.sequential import Boundaries, cost_of_looks, decide
from ..study.analysis import Options, analyse


@dataclass(frozen=True)
class Trait:
    """What is measured at a trial. values: participants × items, NaN where unknown. unit: of an effect."""

    values: Callable[[Grid], Array]
    unit: str


def _false_positives(grid: Grid) -> Array:
    right, rated = ratings_right(grid), grid.answers_to("correctness_rating")
    return np.where(np.isnan(right), np.nan, (rated == 1) & (right == 0))


def _over_estimation(grid: Grid) -> Array:
    return grid.answers_to("correctness_rating") - grid.system_correct


TRAITS = {
    "agreement": Trait(lambda grid: grid.answers_to("correctness_rating"), "share"),
    "fraction_correct": Trait(ratings_right, "share"),
    "fp": Trait(_false_positives, "share"),
    "over_estimation": Trait(_over_estimation, "share"),
    "time_geometric": Trait(lambda grid: grid.log_seconds, "log ratio: 0.1 is 10.5 % longer"),
    "certainty": Trait(lambda grid: grid.answers_to("certainty"), "points"),
    "helpfulness": Trait(lambda grid: grid.answers_to("helpfulness"), "points"),
}


def from_pilot(
    bundle: Bundle, measure: str, options: Options, *, normal: bool
) -> tuple[Population, int, str]:
    """Population, number of items and description from a pilot's bundle.

    normal: normal people with the pilot's spreads, in the place of people drawn from the pilot. Raises
    AnalysisError where the pilot cannot give the measure.
    """
    study = analyse(bundle, options)
    if study.allocation.design != "between":
        raise AnalysisError(
            f"{bundle.path}: the pilot's participants saw several conditions each; power is simulated for "
            "conditions between participants only. Give --participant-sd and the other assumptions instead"
        )
    grids = [grid for grid in study.retained.grids if grid.participants]
    try:
        source = pilot(grids, TRAITS[measure].values)
    except ValueError as error:
        raise AnalysisError(f"{bundle.path}: {error}") from None
    people = len(source.people)
    how = "normal people with the spreads of" if normal else "people drawn from"
    items = len(study.retained.grids[0].items)
    return (fitted(source) if normal else source), items, f"{how} the {people} participants of the pilot"


def build_power_page(design: Design) -> Page:
    """The sample size as a page, with curve and table."""
    method = design.curve[0].method
    rows = [
        [
            Cell(str(one.participants)),
            Cell(str(one.participants * len(design.effects))),
            Cell(rate_text(one.all)),
        ]
        for one in design.curve
    ]
    header = ["Participants per condition", "In all", "Power, 95 % of the simulation"]
    names = ("participants", "power", "error", "low", "high")
    data = [
        (one.participants, one.all.value, one.all.error, *one.all.interval) for one in design.curve if one.all
    ]
    blocks: list[Block] = [
        Text(design_sentence(design)),
        _curve_figure(design),
        Table("power", "Power by sample size", header, rows, [f"Analysed as: {method}."], names, data),
        Text(
            "Plant the smallest effect that would matter, not the one that the pilot showed, and plan with "
            "a range of spreads: those of a small pilot are uncertain. An effect that differs from item to "
            "item needs more items, not more people."
        ),
    ]
    facts = {"Target": f"{design.smallest.target:g}", "Items": str(design.items)}
    return Page("Sample size", "", facts, [Section("power", "Power by simulation", blocks)])


def looks_text(bounds: Boundaries, observed: Sequence[float], power: float) -> str:
    """Boundaries, what the looks cost, and where there are observed z the decision."""
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


def _curve_figure(design: Design) -> Figure:
    known = [(one.participants, one.all) for one in design.curve if one.all]
    sizes = [size for size, _ in known]
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(6.4, 3.6), layout="constrained")
        axes = canvas.subplots()
        axes.fill_between(
            sizes, [r.interval[0] for _, r in known], [r.interval[1] for _, r in known], color=COLOURS[0],
            alpha=0.2, linewidth=0,
        )  # fmt: skip
        axes.plot(sizes, [r.value for _, r in known], color=COLOURS[0], marker="o", markersize=5)
        axes.axhline(design.smallest.target, color=INK, linewidth=0.9, linestyle="--")
        if design.smallest.participants is not None:
            axes.axvline(design.smallest.participants, color=INK, linewidth=0.9, linestyle=":")
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("Participants per condition")
        axes.set_ylabel("Power")
        axes.grid(color="#e3e7ec", linewidth=0.8)
        svg, png = drawn(canvas)
    spoken = "; ".join(f"{size} participants {number(rate.value)}" for size, rate in known)
    caption = "Power by participants per condition; the band is the simulation's 95 %, dashes are the target."
    return Figure("power-curve", caption, f"Power curve: {spoken}.", svg, png=png)

"""Planning commands: the sample size as a page with a curve, looks at a running study as text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Canvas

from analysis.bundle import Bundle
from analysis.errors import AnalysisError
from analysis.figures import COLOURS, INK, STYLE, drawn
from analysis.grid import Array, Grid
from analysis.learning import ratings_right
from analysis.page import Block, Figure, Page, Section, Text
from analysis.power import (
    Assumed,
    Contrast,
    Population,
    Power,
    Rate,
    SmallestDesign,
    fitted,
    pilot,
    power_curve,
    smallest_design,
)
from analysis.sequential import Boundaries, cost_of_looks, decide
from analysis.study import Options, analyse
from analysis.tables import Cell, Table, number

CURVE_POINTS = 9
SPAN = (0.25, 2.5)  # of the smallest design, that the curve covers


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


@dataclass(frozen=True)
class Design:
    """A planned study and its power. curve: by participants per condition, the smallest design among them."""

    effects: tuple[float, ...]
    items: int
    alpha: float
    simulations: int
    source: str
    unit: str
    smallest: SmallestDesign
    curve: tuple[Power, ...]


def from_pilot(
    bundle: Bundle, measure: str, options: Options, *, normal: bool
) -> tuple[Population, int, str]:
    """Population, number of items and description from a pilot's bundle.

    normal: normal people with the pilot's spreads, in the place of people drawn from the pilot. Raises
    AnalysisError where the pilot cannot give the measure.
    """
    study = analyse(bundle, options)
    grids = [grid for grid in study.retained.grids if grid.participants]
    try:
        source = pilot(grids, TRAITS[measure].values)
    except ValueError as error:
        raise AnalysisError(f"{bundle.path}: {error}") from None
    people = len(source.people)
    how = "normal people with the spreads of" if normal else "people drawn from"
    items = len(study.retained.grids[0].items)
    return (fitted(source) if normal else source), items, f"{how} the {people} participants of the pilot"


def plan_size(
    population: Population,
    *,
    effects: Sequence[float],
    items: int,
    target: float,
    alpha: float,
    simulations: int,
    seed: int,
    source: str,
    unit: str,
    participants: Sequence[int] = (),
) -> Design:
    """The smallest design with the target power, and a curve around it (or over ``participants``).

    Raises AnalysisError for effects, sizes or rates that make no design.
    """
    streams = np.random.default_rng(seed).spawn(2)
    try:
        smallest = smallest_design(
            population, effects=effects, items=items, simulations=simulations, rng=streams[0], target=target,
            alpha=alpha, contrasts=_contrasts(effects),
        )  # fmt: skip
        sizes = sorted(set(participants)) or _around(smallest.participants or smallest.tried[-1].participants)
        curve = power_curve(
            population, effects=effects, participants=sizes, items=items, simulations=simulations,
            rng=streams[1], alpha=alpha, contrasts=_contrasts(effects),
        )  # fmt: skip
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    return Design(tuple(effects), items, alpha, simulations, source, unit, smallest, tuple(curve))


def design_sentence(design: Design) -> str:
    """What the simulation says, in one sentence."""
    shifts = ", ".join(f"{effect:g}" for effect in design.effects)
    smallest = design.smallest
    if smallest.participants is None:
        found = smallest.reason.capitalize()
    else:
        point = next(one for one in smallest.tried if one.participants == smallest.participants)
        found = (
            f"{smallest.participants} participants per condition "
            f"({smallest.participants * len(design.effects)} in all) reach a power of {_rate(point.all)}"
        )
    return (
        f"{found}, for {len(design.effects)} conditions with the effects {shifts} ({design.unit}) over "
        f"{design.items} items, alpha {design.alpha:g}; {design.simulations} simulated studies of "
        f"{design.source}."
    )


def build_power_page(design: Design) -> Page:
    """The sample size as a page, with curve and table."""
    method = design.curve[0].method
    rows = [
        [Cell(str(one.participants)), Cell(str(one.participants * len(design.effects))), Cell(_rate(one.all))]
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


def assumed(
    participant_sd: float | None, item_sd: float, residual_sd: float | None, mean: float | None
) -> tuple[Assumed, str]:
    """The population of assumed spreads, and its description. Raises AnalysisError."""
    if participant_sd is None:
        raise AnalysisError("give --pilot BUNDLE, or --participant-sd with --residual-sd or --mean")
    try:
        population = Assumed(participant_sd, item_sd, residual_sd, mean)
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    spreads = {"participants": participant_sd, "items": item_sd, "trials": residual_sd, "mean share": mean}
    given = ", ".join(f"{name} {value:g}" for name, value in spreads.items() if value is not None)
    return population, f"people by assumption ({given})"


def _contrasts(effects: Sequence[float]) -> list[Contrast]:
    """Each condition against the first."""
    return [(0, other) for other in range(1, len(effects))]


def _around(size: int) -> list[int]:
    low, high = max(2, int(size * SPAN[0])), max(6, int(size * SPAN[1]))
    return sorted({round(n) for n in np.linspace(low, high, CURVE_POINTS)} | {size})


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


def _rate(rate: Rate | None) -> str:
    return "–" if rate is None else f"{rate.value:.3f} [{rate.interval[0]:.3f}, {rate.interval[1]:.3f}]"

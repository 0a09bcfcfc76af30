"""The command ``power``: sample size by simulated power analysis."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import matplotlib as mpl
import numpy as np
from cyclopts import Parameter
from cyclopts.validators import Number
from matplotlib.figure import Figure as Canvas

from ..io.command_line import BadUsage
from ..io.errors import AnalysisError
from ..participants.bundle import Bundle, load_bundle
from ..participants.condition_styles import COLOURS
from ..participants.learning_curves import mark_right_ratings
from ..participants.tasks.preference import name_win_rate
from ..participants.trial_grid import Grid
from ..planning.populations import Pilot, Population, fit_normal_population, pilot_values
from ..planning.populations import pilot as read_pilot
from ..planning.sample_size import HALF, Design, assume_population, design_sentence, format_rate, plan_size
from ..report.page import Block, Figure, Page, Section, Text, write_page
from ..report.plots.intervals import GRID, INK, STYLE, render_figure
from ..report.tables import Column, Table, build_csv_rows, format_number
from ..stats.arrays import Array
from ..stats.correlations import Coefficient
from ..study.analysis import Options, Study, analyse
from .options import Count, Mode, Numbers, OpenShare, Positive, Share, Sizes, print_json
from .systems_power import RESAMPLES, print_systems

Measure: TypeAlias = Literal[
    "agreement", "fraction_correct", "fp", "over_estimation", "time_geometric", "certainty", "helpfulness",
    "final_accuracy", "advice_agreement", "switch_fraction", "over_reliance", "under_reliance",
    "complementarity", "confidence_change", "coverage", "precision", "prediction_accuracy", "above_chance",
    "simulation_effect", "after_accuracy", "after_above_chance",
    "win_rate",
]  # fmt: skip


Spread: TypeAlias = Annotated[float, Parameter(validator=Number(gte=0))]
ITEMS = 25  # of a participant, without a pilot
_RATES = [
    Column("power", "all.value", "Power, 95 % of the simulation", lambda power: format_rate(power.all)),
    Column("error", "all.error"),
    Column("low high", "all.interval"),
]
CURVE = [
    Column("participants", heading="Participants per condition"),
    Column("", lambda power: power.participants * len(power.effects), "In all"),
    *_RATES,
]
PAIRED_CURVE = [Column("participants", heading="Participants"), *_RATES]


@dataclass(frozen=True)
class Trait:
    """A measure of a trial.

    Attributes:
        values: Participants × items of a grid, NaN if unknown; None if the measure is no mean over trials.
        unit: Unit of an effect.
    """

    values: Callable[[Grid], Array] | None
    unit: str


def _select_answers(name: str) -> Callable[[Grid], Array]:
    return lambda grid: grid.answers_to(name)


def _invert_answers(name: str) -> Callable[[Grid], Array]:
    return lambda grid: 1 - grid.answers_to(name)


def _mark_false_positives(grid: Grid) -> Array:
    right, rated = mark_right_ratings(grid), grid.answers_to("correctness_rating")
    return np.where(np.isnan(right), np.nan, (rated == 1) & (right == 0))


def _compute_over_estimation(grid: Grid) -> Array:
    return grid.answers_to("correctness_rating") - grid.system_correct


TRAITS: dict[Measure, Trait] = {
    "agreement": Trait(lambda grid: grid.answers_to("correctness_rating"), "share"),
    "fraction_correct": Trait(mark_right_ratings, "share"),
    "fp": Trait(_mark_false_positives, "share"),
    "over_estimation": Trait(_compute_over_estimation, "share"),
    "time_geometric": Trait(lambda grid: grid.log_seconds, "log ratio: 0.1 is 10.5 % longer"),
    "certainty": Trait(lambda grid: grid.answers_to("certainty"), "points"),
    "helpfulness": Trait(lambda grid: grid.answers_to("helpfulness"), "points"),
    "final_accuracy": Trait(_select_answers("final_correct"), "share"),
    "advice_agreement": Trait(_select_answers("final_agrees"), "share"),
    "switch_fraction": Trait(_select_answers("final_switched"), "share"),
    "over_reliance": Trait(_invert_answers("final_kept_answer"), "share"),
    "under_reliance": Trait(_invert_answers("final_took_advice"), "share"),
    "complementarity": Trait(None, "share"),
    "confidence_change": Trait(_select_answers("final_confidence_change"), "points"),
    "simulation_effect": Trait(None, "share"),
    "win_rate": Trait(None, "share"),
    "after_accuracy": Trait(_select_answers("predicted_after"), "share"),
    "after_above_chance": Trait(_select_answers("predicted_above_after"), "share"),
    "coverage": Trait(_select_answers("predicted_made"), "share"),
    "precision": Trait(_select_answers("prediction_right"), "share"),
    "prediction_accuracy": Trait(_select_answers("predicted_right"), "share"),
    "above_chance": Trait(_select_answers("predicted_above_chance"), "share"),
}


def print_sample_size(
    *,
    effect: Numbers = (),
    systems: bool = False,
    correlation: Numbers = (),
    noise: Spread | None = None,
    coefficient: Coefficient = "pearson",
    pilot: Path | None = None,
    normal: bool = False,
    measure: Measure = "agreement",
    items: Positive | None = None,
    participants: Sizes = (),
    target: OpenShare = 0.8,
    alpha: OpenShare = 0.05,
    simulations: Positive = 2000,
    participant_sd: Spread | None = None,
    residual_sd: Spread | None = None,
    mean_share: Share | None = None,
    item_sd: Spread = 0.0,
    mode: Mode | None = None,
    study_version: Count | None = None,
    seed: Count = 1,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Find the sample size by simulation, from a pilot or from assumptions.

    With --systems: the number of systems that a study of people and scores needs.

    Args:
        effect: Difference to detect, or one per condition, separated by commas; 0.1 is ten points of a share.
            For win_rate that of each pair of conditions beyond one half.
        systems: Find the number of systems instead of the participants.
        correlation: True correlations of people and score, separated by commas; without it 0.5, 0.7 and 0.9.
        noise: Standard error of people's mean of a system, in standard deviations between systems; without it
            that of the pilot, or 0.
        coefficient: Correlation that is tested over the systems.
        pilot: Bundle of a pilot to draw participants and trials from.
        normal: Simulate normal participants with the spreads of the pilot, for small pilots.
        measure: Measure of a trial.
        items: Trials per participant that the measure counts; without it those of the pilot, or 25. For
            simulation_effect those of each of the two blocks, for win_rate those of a pair of conditions.
        participants: Sample sizes of the curve, separated by commas; without it around the result.
        target: Power to reach.
        alpha: Two-sided level, with Holm's correction over the contrasts.
        simulations: Number of simulated studies.
        participant_sd: Without a pilot, standard deviation between participants.
        residual_sd: Standard deviation of single trials; not for a yes-or-no measure.
        mean_share: Mean of a yes-or-no measure.
        item_sd: Standard deviation between items.
        mode: Participants of the pilot to use.
        study_version: Version of the pilot to use.
        seed: Seed of the simulation.
        out: Folder for a page with the curve.
        json: Print the design as JSON.
    """
    if systems:
        options = Options(seed, RESAMPLES, mode, study_version)
        print_systems(
            correlation, noise=noise, coefficient=coefficient, pilot=pilot, measure=measure, options=options,
            target=target, alpha=alpha, simulations=simulations, out=out, json=json,
        )  # fmt: skip
        return
    if not effect:
        raise BadUsage("give --effect, the difference to detect, or --systems")
    is_paired = measure == "win_rate"
    usual_items = ITEMS
    population: Population
    if pilot is not None:
        options = Options(seed, 0, mode, study_version)
        population, usual_items, source = from_pilot(load_bundle(pilot), measure, options, normal=normal)
    else:
        spread, share = _check_assumptions(participant_sd, residual_sd, mean_share, is_paired=is_paired)
        population, source = assume_population(
            spread, item_sd, residual_sd, share, effect, change=measure == "simulation_effect"
        )
    design = plan_size(
        population,
        effects=effect if is_paired or len(effect) > 1 else [0.0, *effect],
        items=items or usual_items,
        target=target,
        alpha=alpha,
        simulations=simulations,
        seed=seed,
        source=source,
        unit=TRAITS[measure].unit,
        participants=participants,
        reference=None if not is_paired else HALF if pilot is None else 0.0,
    )
    _show(design, out, as_json=json)


def _check_assumptions(
    participant_sd: float | None, residual_sd: float | None, mean_share: float | None, *, is_paired: bool
) -> tuple[float, float | None]:
    """Return the spread of participants and the mean share, if they suffice."""
    if is_paired and (residual_sd is not None or mean_share is not None):
        raise BadUsage("win_rate takes neither --residual-sd nor --mean-share: its mean is one half")
    share = HALF if is_paired else mean_share
    if participant_sd is None or (residual_sd is None) == (share is None):
        needed = "" if is_paired else " with either --residual-sd or --mean-share"
        raise BadUsage(f"give --pilot BUNDLE, or --participant-sd{needed}")
    return participant_sd, share


def _show(design: Design, out: Path | None, *, as_json: bool) -> None:
    """Print the design; write the page with its curve if one is asked for."""
    page = write_page(build_power_page(design), out)[0] if out is not None else None
    if as_json:
        print_json(_as_values(design))
        return
    sys.stdout.write(f"{design_sentence(design)}\n")
    if page is not None:
        sys.stdout.write(f"{page}\n")


def from_pilot(
    bundle: Bundle, measure: Measure, options: Options, *, normal: bool
) -> tuple[Population, int, str]:
    """Read the population, the number of items and a description from a pilot.

    Args:
        bundle: Bundle of the pilot.
        measure: Measure of a trial.
        options: Mode and version of the pilot.
        normal: Simulate normal participants with the pilot's spreads instead of drawing its participants.

    Raises:
        AnalysisError: The pilot cannot give the measure.
    """
    study = analyse(bundle, options)
    if measure == "win_rate":
        return _from_preferences(study, normal=normal)
    if study.allocation.design != "between":
        raise AnalysisError(
            f"{bundle.path}: the pilot's participants saw several conditions each; power is simulated for "
            "conditions between participants only. Give --participant-sd and the other assumptions instead"
        )
    estimates = study.retained.estimates
    if not estimates.has_value(measure):
        raise AnalysisError(f"{bundle.path}: the pilot has no {measure}")
    given = [name for name in estimates.conditions if estimates.get(measure, name).value is not None]
    grids = [grid for grid in study.retained.grids if grid.condition in given]
    values, items = TRAITS[measure].values, len(study.retained.grids[0].items)
    try:
        if values is None:
            if normal:
                raise AnalysisError(
                    f"{measure} is not a mean over trials: its participants can only be drawn"
                )
            own = [estimates.per_participant[measure][estimates.conditions.index(name)] for name in given]
            drawn = pilot_values(own, items)
            return drawn, items, _describe_source(len(drawn.people), normal=False)
        source = read_pilot(grids, values)
    except ValueError as error:
        raise AnalysisError(f"{bundle.path}: {error}") from None
    if estimates.get(measure, given[0]).measure.conditional:
        items = _count_trials(source)
    return (
        (fit_normal_population(source) if normal else source),
        items,
        _describe_source(len(source.people), normal=normal),
    )


def _from_preferences(study: Study, *, normal: bool) -> tuple[Population, int, str]:
    """Read the population of a pilot of preferences.

    It has the win rates of its first condition on its first criterion.
    """
    path, criteria = study.bundle.path, study.version.task.criteria
    if not criteria:
        raise AnalysisError(f"{path}: the pilot has no win_rate: its participants compared no conditions")
    if normal:
        raise AnalysisError("win_rate is not a mean over trials: its participants can only be drawn")
    own = study.retained.estimates.per_participant[name_win_rate(criteria[0])][0]
    items = max(1, round(len(study.trials) / len(study.people) / math.comb(len(study.conditions), 2)))
    try:
        drawn = pilot_values([own], items)
    except ValueError as error:
        raise AnalysisError(f"{path}: {error}") from None
    return drawn, items, _describe_source(len(drawn.people), normal=False)


def _describe_source(people: int, *, normal: bool) -> str:
    how = "normal people with the spreads of" if normal else "people drawn from"
    return f"{how} the {people} participants of the pilot"


def _count_trials(source: Pilot) -> int:
    """Return how many trials a participant has that the measure counts."""
    return max(1, round(float((~np.isnan(source.residuals)).sum(axis=1).mean())))


def _as_values(design: Design) -> dict[str, object]:
    """Return what the page shows, as plain values."""
    header, rows = build_csv_rows(PAIRED_CURVE if design.is_paired else CURVE, design.curve)
    return {
        "sentence": design_sentence(design),
        "participants": design.smallest.participants,
        "target": design.smallest.target,
        "effects": design.effects,
        "items": design.items,
        "alpha": design.alpha,
        "simulations": design.simulations,
        "source": design.source,
        "unit": design.unit,
        "method": design.curve[0].method,
        "curve": [dict(zip(header, row, strict=True)) for row in rows],
    }


def build_power_page(design: Design) -> Page:
    """Build the page of a sample size, with curve and table."""
    columns = PAIRED_CURVE if design.is_paired else CURVE
    notes = [f"Analysed as: {design.curve[0].method}."]
    blocks: list[Block] = [
        Text(design_sentence(design)),
        _draw_curve_figure(design),
        Table.from_columns("power", "Power by sample size", design.curve, columns, notes),
        Text(
            "Plant the smallest effect that would matter, not the one that the pilot showed, and plan with "
            "a range of spreads: those of a small pilot are uncertain. An effect that differs from item to "
            "item needs more items, not more people."
        ),
    ]
    facts = {"Target": f"{design.smallest.target:g}", "Items": str(design.items)}
    return Page("Sample size", "", facts, [Section("power", "Power by simulation", blocks)])


def _draw_curve_figure(design: Design) -> Figure:
    rates = [(point.participants, point.all) for point in design.curve if point.all]
    sizes = [size for size, _ in rates]
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(6.4, 3.6), layout="constrained")
        axes = canvas.subplots()
        axes.fill_between(
            sizes, [r.interval[0] for _, r in rates], [r.interval[1] for _, r in rates], color=COLOURS[0],
            alpha=0.2, linewidth=0,
        )  # fmt: skip
        axes.plot(sizes, [r.value for _, r in rates], color=COLOURS[0], marker="o", markersize=5)
        axes.axhline(design.smallest.target, color=INK, linewidth=0.9, linestyle="--")
        if design.smallest.participants is not None:
            axes.axvline(design.smallest.participants, color=INK, linewidth=0.9, linestyle=":")
        axes.set_ylim(0, 1.02)
        axes.set_xlabel("Participants" if design.is_paired else "Participants per condition")
        axes.set_ylabel("Power")
        axes.grid(color=GRID, linewidth=0.8)
    spoken = "; ".join(f"{size} participants {format_number(rate.value)}" for size, rate in rates)
    unit = "" if design.is_paired else " per condition"
    caption = f"Power by participants{unit}; the band is the simulation's 95 %, dashes are the target."
    return render_figure(canvas, "power-curve", caption, f"Power curve: {spoken}.")

"""The command ``power --systems``: number of systems a study needs."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..io.errors import AnalysisError
from ..participants.bundle import load_bundle
from ..planning.systems_needed import SCENARIOS, plan_systems
from ..report.page import Page, Section, Text, write_page
from ..report.sections.correlations import measure_noise, tabulate_needed_systems
from ..report.tables import format_number
from ..stats.correlations import Coefficient
from ..study.analysis import Options, analyse
from .options import print_json

RESAMPLES = 500  # of a pilot, for the noise of its means
WHAT_IT_TAKES = (
    "One system counts once; its styles do not add to the number. Plan with several true correlations, and "
    "declare one score: each further one needs more systems, because p is corrected over all of them."
)


def print_systems(
    correlations: Sequence[float],
    *,
    noise: float | None,
    coefficient: Coefficient,
    pilot: Path | None,
    measure: str,
    options: Options,
    target: float,
    alpha: float,
    simulations: int,
    out: Path | None,
    json: bool,
) -> None:
    """Print the number of systems for each true correlation.

    Arguments as in `analysis.commands.power.print_sample_size`.

    Raises:
        AnalysisError: The numbers make no design, or the pilot does not give the noise.
    """
    if noise is None and pilot is not None:
        noise = _measure_pilot_noise(pilot, measure, options)
    rng = np.random.default_rng(options.seed)
    try:
        rows = plan_systems(
            correlations or SCENARIOS, noise, rng, coefficient=coefficient, target=target, alpha=alpha,
            simulations=simulations,
        )  # fmt: skip
    except ValueError as error:
        raise AnalysisError(str(error)) from None
    table = tabulate_needed_systems(rows, noise, coefficient, target=target, alpha=alpha)
    if out is not None:
        page = Page(
            "Number of systems", "", {}, [Section("systems", table.caption, [Text(WHAT_IT_TAKES), table])]
        )
        path = write_page(page, out)[0]
    if json:
        header, values = table.data_header, table.data
        print_json([dict(zip(header, row, strict=True)) for row in values])
        return
    for row in rows:
        noisy = "" if row.noisy is None else f", {row.noisy} with noise {format_number(noise)}"
        sys.stdout.write(f"true correlation {row.correlation:g}: {row.without} systems{noisy}\n")
    if out is not None:
        sys.stdout.write(f"{path}\n")


def _measure_pilot_noise(pilot: Path, measure: str, options: Options) -> float:
    study = analyse(load_bundle(pilot), options)
    for quantity in study.retained.relations.measures:
        if quantity.key == measure:
            noise = measure_noise(quantity)
            if noise is not None:
                return noise
            raise AnalysisError(
                f"{pilot}: its systems differ in {measure} by no more than noise; give --noise instead"
            )
    raise AnalysisError(f"{pilot}: has no {measure} of any system")

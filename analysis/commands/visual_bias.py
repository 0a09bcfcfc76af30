"""The command ``visual-bias``: tables, JSON and a page on label leakage."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from ..io.errors import AnalysisError, InputError
from ..io.whole_files import hash_file, write_text
from ..report.page import write_page
from ..stats.bootstrap_sums import Quantity
from ..visual_bias.examples import read_examples, read_predictions
from ..visual_bias.pairs import VisualBias, group_by_pair
from ..visual_bias.systems import SystemScores, score_system
from .options import Count, print_json
from .visual_bias_page import (
    build_page,
    compute_part_sizes,
    describe_majority_accuracy,
    format_contrast_key,
    format_plain_text,
    tabulate_bias,
    tabulate_systems,
)

Json = dict[str, Any]


def print_visual_bias(
    data: Path,
    /,
    *,
    predictions: Sequence[Path] = (),
    out: Path | None = None,
    json: bool = False,
    resamples: Count = 2000,
    trials: Count = 100_000,
    seed: Count = 1,
) -> None:
    """Measure how much the image pairs of NLVR2-form data give labels away.

    Args:
        data: Examples as JSON lines or as a JSON list.
        predictions: Predictions of a system, CSV or JSON, named as the file; may be repeated.
        out: Folder for the page, tables, figures, JSON and lists of ids.
        json: Print the JSON without the tables above it.
        resamples: Bootstrap replicates; 0 for no confidence intervals.
        trials: Permutations; 0 for no test.
        seed: Seed of the bootstrap and of the permutations.
    """
    examples = read_examples(data)
    if not examples:
        raise InputError(data, "holds no example")
    bias = group_by_pair(examples)
    notes: list[str] = []
    systems: dict[str, SystemScores] = {}
    for name, path in _name_systems(predictions).items():
        predicted = read_predictions(path)
        if unknown := len(predicted.keys() - set(bias.ids)):
            notes.append(
                f"{path}: {unknown} of {len(predicted)} predictions are for no example and do not count"
            )
        # One per system, so that systems do not change each other's figures.
        rng = np.random.default_rng(seed)
        try:
            systems[name] = score_system(bias, predicted, rng=rng, resamples=resamples, trials=trials)
        except AnalysisError as error:
            raise InputError(path, str(error)) from None
    settings = {"resamples": resamples, "trials": trials, "seed": seed}
    result = {
        **_build_bias_json(bias),
        "systems": {name: _build_system_json(scores) for name, scores in systems.items()},
        **settings,
    }
    if out is not None:
        facts = {name.capitalize(): str(settings[name]) for name in ("seed", "resamples", "trials")}
        facts[f"Data {data.name}"] = f"SHA-256 {hash_file(data)}"
        facts |= {f"Predictions {path.name}": f"SHA-256 {hash_file(path)}" for path in predictions}
        write_page(build_page(bias, systems, facts), out)
        write_text(out / "balanced_ids.json", dumps(bias.balanced_ids) + "\n")
        write_text(out / "unbalanced_ids.json", dumps(bias.unbalanced_ids) + "\n")
        write_text(out / "visual-bias.json", dumps(result, indent=2, ensure_ascii=False) + "\n")
    if not json:
        tables = [*tabulate_bias(bias), *(tabulate_systems(systems) if systems else ())]
        sys.stdout.write("\n\n".join([describe_majority_accuracy(bias), *map(format_plain_text, tables), ""]))
    print_json(result, notes)


def _name_systems(paths: Sequence[Path]) -> dict[str, Path]:
    """Name each system as its file."""
    named: dict[str, Path] = {}
    for path in paths:
        if path.stem in named:
            raise InputError(path, f"names its system {path.stem!r} as {named[path.stem]} does; rename one")
        named[path.stem] = path
    return named


def _build_bias_json(bias: VisualBias) -> Json:
    return {
        "examples": len(bias.ids),
        "labelled_true": int(bias.labels.sum()),
        "pairs": len(bias.sizes),
        "majority_label_accuracy": bias.majority_accuracy,
        "pair_frequencies": [asdict(frequency) for frequency in bias.frequencies],
        "parts": {part: asdict(size) for part, size in compute_part_sizes(bias).items()},
    }


def _build_system_json(scores: SystemScores) -> Json:
    return {
        "accuracy": {
            part: {**_build_quantity_json(accuracy), "examples": accuracy.n}
            for part, accuracy in scores.accuracy.items()
        },
        "deltas": {
            format_contrast_key(delta): {**_build_quantity_json(delta.difference), "p": delta.p}
            for delta in scores.deltas
        },
    }


def _build_quantity_json(quantity: Quantity) -> Json:
    values: Json = {"value": quantity.value, "interval": quantity.bounds}
    return {**values, "reason": quantity.reason} if quantity.reason else values

"""The command ``visual-bias``: tables, JSON and a page on label leakage."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from ..io.errors import AnalysisError, InputError
from ..io.whole_files import sha256, write_text
from ..report.page import write_page
from ..stats.bootstrap_sums import Quantity
from ..visual_bias.examples import read_examples, read_predictions
from ..visual_bias.pairs import VisualBias, group
from ..visual_bias.systems import SystemScores, score_system
from .options import Count, print_json
from .visual_bias_page import (
    bias_tables,
    build_page,
    contrast_key,
    format_plain_text,
    majority_sentence,
    part_sizes,
    system_tables,
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
    bias = group(examples)
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
        **_bias_json(bias),
        "systems": {name: _system_json(scores) for name, scores in systems.items()},
        **settings,
    }
    if out is not None:
        facts = {name.capitalize(): str(settings[name]) for name in ("seed", "resamples", "trials")}
        facts[f"Data {data.name}"] = f"SHA-256 {sha256(data)}"
        facts |= {f"Predictions {path.name}": f"SHA-256 {sha256(path)}" for path in predictions}
        write_page(build_page(bias, systems, facts), out)
        write_text(out / "balanced_ids.json", dumps(bias.balanced_ids) + "\n")
        write_text(out / "unbalanced_ids.json", dumps(bias.unbalanced_ids) + "\n")
        write_text(out / "visual-bias.json", dumps(result, indent=2, ensure_ascii=False) + "\n")
    if not json:
        tables = [*bias_tables(bias), *(system_tables(systems) if systems else ())]
        sys.stdout.write("\n\n".join([majority_sentence(bias), *map(format_plain_text, tables), ""]))
    print_json(result, notes)


def _name_systems(paths: Sequence[Path]) -> dict[str, Path]:
    """Name each system as its file."""
    named: dict[str, Path] = {}
    for path in paths:
        if path.stem in named:
            raise InputError(path, f"names its system {path.stem!r} as {named[path.stem]} does; rename one")
        named[path.stem] = path
    return named


def _bias_json(bias: VisualBias) -> Json:
    return {
        "examples": len(bias.ids),
        "labelled_true": int(bias.labels.sum()),
        "pairs": len(bias.sizes),
        "majority_label_accuracy": bias.majority_accuracy,
        "pair_frequencies": [asdict(one) for one in bias.frequencies],
        "parts": {part: asdict(size) for part, size in part_sizes(bias).items()},
    }


def _system_json(scores: SystemScores) -> Json:
    return {
        "accuracy": {part: {**_quantity(one), "examples": one.n} for part, one in scores.accuracy.items()},
        "deltas": {contrast_key(one): {**_quantity(one.difference), "p": one.p} for one in scores.deltas},
    }


def _quantity(quantity: Quantity) -> Json:
    values: Json = {"value": quantity.value, "interval": quantity.bounds}
    return {**values, "reason": quantity.reason} if quantity.reason else values

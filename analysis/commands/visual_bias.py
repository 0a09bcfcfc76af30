"""The command `visual-bias`: a file of the NLVR2 form in; tables and JSON out, with a folder also a page."""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..io.errors import AnalysisError, InputError
from ..io.tabular_files import sha256
from ..report.page import write_page, write_text
from ..stats.bootstrap_sums import Quantity
from ..visual_bias.examples import read_examples, read_predictions
from ..visual_bias.pairs import PARTS, VisualBias, group
from ..visual_bias.systems import SystemScores, score_system
from .visual_bias_page import (
    bias_tables,
    build_page,
    contrast_key,
    majority_sentence,
    plain_text,
    system_tables,
)

Json = dict[str, Any]


def add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    command: Callable[[argparse.Namespace], None],
) -> None:
    """Adds the command. command: runs it; it prints what `result` returns."""
    parser = commands.add_parser(
        "visual-bias", help="whether image pairs of NLVR2-form data give labels away"
    )
    add = parser.add_argument
    add("data", type=Path, metavar="DEV.json", help="examples as JSON lines or as a JSON list")
    add(
        "--predictions",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a system's predictions, CSV or JSON; may be given again. A system is named as its file",
    )
    add("--out", type=Path, metavar="DIR", help="folder for page, tables, figures, JSON and id lists")
    add("--json", action="store_true", help="print the JSON only, without tables above it")
    add("--resamples", type=_count, default=2000, help="of the bootstrap, 0: none (default: %(default)s)")
    add("--trials", type=_count, default=100_000, help="permutations, 0: no test (default: %(default)s)")
    add("--seed", type=_count, default=1, help="(default: %(default)s)")
    parser.set_defaults(command=command)


def result(options: argparse.Namespace) -> tuple[str, Json, list[str]]:
    """Analyses, and writes where there is a folder. Returns tables as text, the JSON, and notes."""
    examples = read_examples(options.data)
    if not examples:
        raise InputError(options.data, "holds no example")
    bias = group(examples)
    notes: list[str] = []
    systems = {
        name: _scored(bias, path, options, notes) for name, path in _named(options.predictions).items()
    }
    found = {**_bias_json(bias), "systems": {name: _system_json(one) for name, one in systems.items()}}
    found |= {"resamples": options.resamples, "trials": options.trials, "seed": options.seed}
    if options.out is not None:
        _write(options, bias, systems, found)
    tables = [*bias_tables(bias), *(system_tables(systems) if systems else ())]
    return "\n\n".join([majority_sentence(bias), *map(plain_text, tables)]), found, notes


def _named(paths: list[Path]) -> dict[str, Path]:
    """Name of the system to its file."""
    named: dict[str, Path] = {}
    for path in paths:
        if path.stem in named:
            raise InputError(path, f"names its system {path.stem!r} as {named[path.stem]} does; rename one")
        named[path.stem] = path
    return named


def _scored(bias: VisualBias, path: Path, options: argparse.Namespace, notes: list[str]) -> SystemScores:
    predictions = read_predictions(path)
    unknown = len(predictions.keys() - set(bias.ids))
    if unknown:
        notes.append(
            f"{path}: {unknown} of {len(predictions)} predictions are for no example and do not count"
        )
    rng = np.random.default_rng(
        options.seed
    )  # of its own, so that systems do not change each other's figures
    try:
        return score_system(bias, predictions, rng=rng, resamples=options.resamples, trials=options.trials)
    except AnalysisError as error:
        raise InputError(path, str(error)) from None


def _write(
    options: argparse.Namespace, bias: VisualBias, systems: dict[str, SystemScores], found: Json
) -> None:
    facts = {"Seed": str(options.seed), "Resamples": str(options.resamples), "Trials": str(options.trials)}
    facts[f"Data {options.data.name}"] = f"SHA-256 {sha256(options.data)}"
    facts |= {f"Predictions {path.name}": f"SHA-256 {sha256(path)}" for path in options.predictions}
    write_page(build_page(bias, systems, facts), options.out)
    write_text(options.out / "balanced_ids.json", json.dumps(bias.balanced_ids) + "\n")
    write_text(options.out / "unbalanced_ids.json", json.dumps(bias.unbalanced_ids) + "\n")
    write_text(options.out / "visual-bias.json", json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def _bias_json(bias: VisualBias) -> Json:
    right = bias.majority_labels == bias.labels
    parts = {}
    for part in PARTS:
        members = bias.examples_of(part)
        parts[part] = {
            "examples": int(members.sum()),
            "pairs": int(bias.pairs_of(part).sum()),
            "majority_label_accuracy": float(right[members].mean()) if members.any() else None,
        }
    return {
        "examples": len(bias.ids),
        "labelled_true": int(bias.labels.sum()),
        "pairs": len(bias.sizes),
        "majority_label_accuracy": bias.majority_accuracy,
        "pair_frequencies": [asdict(one) for one in bias.frequencies],
        "parts": parts,
    }


def _system_json(scores: SystemScores) -> Json:
    return {
        "accuracy": {part: {**_quantity(one), "examples": one.n} for part, one in scores.accuracy.items()},
        "deltas": {contrast_key(one): {**_quantity(one.difference), "p": one.p} for one in scores.deltas},
    }


def _quantity(one: Quantity) -> Json:
    found: Json = {"value": one.value, "interval": list(one.interval.bounds) if one.interval else None}
    return {**found, "reason": one.reason} if one.reason else found


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)

"""Scores of a system on questions with gold answers: answer, facts, joint, LocA and, if asked for, FaRM."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress

from analysis.scores.farm_loca import REMOVALS, farm, loca, reduce_context, removal_order
from analysis.scores.hotpotqa import score
from modelserver.evaluation.predict_file import predict_all, predictions_file
from modelserver.inputs.hotpot import GoldExample, read_gold
from modelserver.registry import load_system
from modelserver.systems.base import System
from modelserver.wire.schema import Context, QAItem, QAPrediction

Scores = dict[str, float | None]


def predict_gold(system: System, gold: Sequence[GoldExample], *, device: str = "cpu") -> list[QAPrediction]:
    """Return the predictions in the order of the questions; PredictionFailed names one that has none."""
    return predict_all(system, [example.item for example in gold], device=device)


def scores(gold: Sequence[GoldExample], predictions: Sequence[QAPrediction]) -> Scores:
    """Return the twelve official scores, and LocA with its shares inside and outside the chosen facts.

    All are in [0, 1]; the last three are None where no answer is a span.
    """
    official = score([example.official for example in gold], predictions_file(predictions))
    where = loca(_location(prediction) for prediction in predictions)
    return {**official, "loca": where.loca, "loca_inside": where.inside, "loca_outside": where.outside}


def farm_scores(
    system: System,
    items: Sequence[QAItem],
    predictions: Sequence[QAPrediction],
    *,
    device: str = "cpu",
    advance: Callable[[int], None] = lambda count: None,
) -> Scores:
    """Return FaRM(k) with c_rel(k) and c_irr(k), k = 1..4; each distinct reduced context is run once."""
    contexts: dict[tuple[str, str], Context] = {}  # by question and what is left of its context
    wanted: dict[tuple[str, int, str], tuple[str, str]] = {}
    for item, prediction in zip(items, predictions, strict=True):
        listed = [(p.title, p.index, p.probability) for p in prediction.fact_probabilities or ()]
        order = removal_order(listed, prediction.facts)
        for side, facts in (("relevant", order.relevant), ("irrelevant", order.irrelevant)):
            for k in REMOVALS:
                context = [(title, sentences) for title, sentences in reduce_context(item.context, facts, k)]
                key = (item.id, json.dumps(context))
                contexts[key] = context
                wanted[side, k, item.id] = key
    questions = {item.id: item.question for item in items}
    answers = _answers(system, questions, contexts, device, advance)
    sides = {
        side: {k: {i: answers[wanted[side, k, i]] for i in questions} for k in REMOVALS}
        for side in ("relevant", "irrelevant")
    }
    result = farm({p.id: p.answer for p in predictions}, sides["relevant"], sides["irrelevant"])
    named = (("farm", result.farm), ("c_rel", result.c_rel), ("c_irr", result.c_irr))
    return {f"{name}_{k}": values[k] for k in REMOVALS for name, values in named}


def _answers(
    system: System,
    questions: dict[str, str],
    contexts: dict[tuple[str, str], Context],
    device: str,
    advance: Callable[[int], None],
) -> dict[tuple[str, str], str]:
    items = [
        QAItem(id=str(number), question=questions[question], context=context)
        for number, ((question, _), context) in enumerate(contexts.items())
    ]
    predictions = predict_all(system, items, device=device, advance=advance)
    return {key: prediction.answer for key, prediction in zip(contexts, predictions, strict=True)}


def _location(prediction: QAPrediction) -> tuple[str, object, object, list[tuple[str, int]]]:
    where = prediction.location
    first, last = (None, None) if where is None else (where.first, where.last)
    return prediction.type or "span", first, last, prediction.facts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("system", metavar="SYSTEM", help="name of a system, as `list` prints it")
    parser.add_argument("data", metavar="DATA.json", type=Path, help="questions with gold, HotpotQA form")
    parser.add_argument("--weights", type=Path, help="folder of weights (default: those shipped)")
    parser.add_argument("--farm", action="store_true", help="FaRM as well: about eight times the work")
    parser.add_argument("--out", metavar="SCORES.json", type=Path, help="write there instead of printing")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 … (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: what torch takes)")


def run(options: argparse.Namespace) -> int:
    """Print the scores as JSON, in [0, 1]; the exit status is 0, and errors are raised."""
    if options.threads:
        torch.set_num_threads(options.threads)
    gold = read_gold(options.data)
    system = load_system(options.system, weights=options.weights, device=options.device)
    result: dict[str, object] = {"system": system.name, "revision": system.revision, "questions": len(gold)}
    predictions = predict_gold(system, gold, device=options.device)
    result |= scores(gold, predictions)
    if options.farm:
        items = [example.item for example in gold]
        with Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task(f"{system.name}: reduced contexts", total=None)
            result |= farm_scores(
                system,
                items,
                predictions,
                device=options.device,
                advance=lambda count: progress.advance(task, count),
            )
    text = json.dumps(result, indent=2) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0

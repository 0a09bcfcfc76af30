"""Scores on questions with gold answers: answer, facts, joint, LocA, FaRM."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from json import dumps
from pathlib import Path

import torch

from analysis.commands.options import Positive
from analysis.io.command_line import always_json
from analysis.scores import farm_loca
from analysis.scores.farm_loca import REMOVALS, error_propagation, loca, reduce_context, removal_order
from analysis.scores.hotpotqa import score, score_question
from modelserver.evaluation.predict_file import build_predictions_file, predict_all
from modelserver.evaluation.progress import progress_bar
from modelserver.inputs.devices import Device
from modelserver.inputs.hotpot import GoldExample, read_gold
from modelserver.inputs.selection import Context, Reasoning, Selection
from modelserver.registry import load_system
from modelserver.wire.schema import QAItem, QAPrediction
from modelserver.wire.system_protocol import Predictor

Scores = dict[str, float | None]


def predict_gold(
    system: Predictor, gold: Sequence[GoldExample], *, device: str = "cpu"
) -> list[QAPrediction]:
    """Return the predictions in the order of the questions.

    Raises:
        PredictionFailed: A question cannot be predicted.
    """
    return predict_all(system, [example.item for example in gold], device=device)


def compute_scores(gold: Sequence[GoldExample], predictions: Sequence[QAPrediction]) -> Scores:
    """Return the official scores, LocA, and error propagation.

    All are in [0, 1]. Those of LocA, with its two shares, are None if no answer is a span. ``em_all_facts``
    and ``em_no_facts`` are the share of exact matches where the predicted facts hold all or none of the gold
    ones (Schuff et al. 2020, App. E); None where no prediction does.
    """
    official = score([example.official for example in gold], build_predictions_file(predictions))
    where = loca(_locate_answer(prediction) for prediction in predictions)
    errors = error_propagation(
        (_matches(example, prediction), prediction.facts, example.supporting_facts)
        for example, prediction in zip(gold, predictions, strict=True)
        if example.supporting_facts
    )
    return {
        **official,
        "loca": where.loca,
        "loca_inside": where.inside,
        "loca_outside": where.outside,
        "em_all_facts": errors.em_all_facts,
        "em_no_facts": errors.em_no_facts,
    }


def _matches(example: GoldExample, prediction: QAPrediction) -> bool:
    scores = score_question(example.answer, example.supporting_facts, prediction.answer, prediction.facts)
    return scores["em"] == 1


def compute_farm_scores(
    system: Predictor,
    items: Sequence[QAItem],
    predictions: Sequence[QAPrediction],
    *,
    device: str = "cpu",
    advance: Callable[[int], None] = lambda count: None,
) -> Scores:
    """Return FaRM(k) with c_rel(k) and c_irr(k), k = 1..4.

    Each distinct reduced context is predicted once.

    Args:
        system: Ready to predict.
        items: The questions with their whole contexts.
        predictions: Of the items, in their order.
        device: Of the system.
        advance: Called with the size of each finished batch.
    """
    reduced: dict[tuple[str, str], QAItem] = {}  # by question and context
    keys: dict[tuple[str, int, str], tuple[str, str]] = {}
    for item, prediction in zip(items, predictions, strict=True):
        listed = [(p.title, p.index, p.probability) for p in prediction.fact_probabilities or ()]
        order = removal_order(listed, prediction.facts)
        for side, facts in (("relevant", order.relevant), ("irrelevant", order.irrelevant)):
            for k in REMOVALS:
                context = [(title, sentences) for title, sentences in reduce_context(item.context, facts, k)]
                key = keys[side, k, item.id] = item.id, dumps(context)
                if key not in reduced:
                    reduced[key] = QAItem(id=str(len(reduced)), question=item.question, context=context)
    answered = predict_all(system, list(reduced.values()), device=device, advance=advance)
    answers = {key: prediction.answer for key, prediction in zip(reduced, answered, strict=True)}
    sides = {
        side: {k: {item.id: answers[keys[side, k, item.id]] for item in items} for k in REMOVALS}
        for side in ("relevant", "irrelevant")
    }
    result = farm_loca.farm({p.id: p.answer for p in predictions}, sides["relevant"], sides["irrelevant"])
    named = (("farm", result.farm), ("c_rel", result.c_rel), ("c_irr", result.c_irr))
    return {f"{name}_{k}": values[k] for k in REMOVALS for name, values in named}


def _locate_answer(prediction: QAPrediction) -> tuple[str, object, object, list[tuple[str, int]]]:
    where = prediction.location
    first, last = (None, None) if where is None else (where.first, where.last)
    return prediction.type or "span", first, last, prediction.facts


@always_json
def evaluate(
    system: str,
    data: Path,
    /,
    *,
    weights: Path | None = None,
    farm: bool = False,
    context: Context = "whole",
    reasoning: Reasoning | None = None,
    out: Path | None = None,
    device: Device = "cpu",
    threads: Positive | None = None,
) -> None:
    """Score a system on questions with gold answers, as JSON in [0, 1].

    Args:
        system: Name of a system, as `list` prints it.
        data: Questions with gold answers in the HotpotQA form.
        weights: Folder of weights; the shipped ones by default.
        farm: Compute FaRM too, which takes about eight times as long.
        context: Part of the contexts to read: all, the supporting facts, or their paragraphs.
        reasoning: Score on the questions with comparing words alone.
        out: Write the scores to this file instead of printing them.
        device: cpu, cuda, cuda:1 …
        threads: CPU threads; torch chooses by default.
    """
    if threads:
        torch.set_num_threads(threads)
    gold = Selection(context, reasoning).of(read_gold(data), data)
    loaded = load_system(system, weights=weights, device=device)
    result: dict[str, object] = {"system": loaded.name, "revision": loaded.revision, "questions": len(gold)}
    predictions = predict_gold(loaded, gold, device=device)
    result |= compute_scores(gold, predictions)
    if farm:
        items = [example.item for example in gold]
        with progress_bar(f"{loaded.name}: reduced contexts", None) as advance:
            result |= compute_farm_scores(loaded, items, predictions, device=device, advance=advance)
    text = dumps(result, indent=2) + "\n"
    if out:
        out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)

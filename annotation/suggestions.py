"""Suggestions of models, from modules and from answers. No Django.

A suggestion is an object or an answer at a node that people can accept, change or reject. Networks suggest
the proposals and words that their modules take; readers and language models suggest labels, texts and spans.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from analysis.programs import Program
from analysis.scores.hotpotqa import normalise_answer
from annotation.content.label_programs import LabelProgram
from annotation.content.labels import ANSWERED, LabelLayer, LabelTask
from annotation.content.operations import Subject
from annotation.content.schemas import Answer, Object, Span
from annotation.formats.texts import build_span, trim_stretch
from foundation.frozen_model import FrozenModel
from modelserver.wire.schema import QAItem, QAPrediction

LIKELY = 0.5  # probability above which a proposal or token is suggested
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*(?=\s)|\n+")

Suggestions = dict[int, list[dict[str, Any]]]


class Fit(FrozenModel):
    """The use of the answers of a reader or language model.

    Answer layers always take the answer to their question. ``marks`` says whether spans come from the answer
    or from the facts; they go to the layer of this number with this label, or in programs to the first step
    at which people draw.
    """

    marks: Literal["answer", "facts", ""] = ""
    layer: int | None = None
    label: str = ""


def choose_default_fit(task: LabelTask | None) -> Fit:
    """Return how answers fit a plain task, or programs without one.

    Facts are the rationale of an answer, and if only spans are asked for, the answer is the span.
    """
    if task is None:
        return Fit(marks="answer")
    layers = [(index, layer) for index, layer in enumerate(task.layers, start=1) if layer.type == "spans"]
    if not layers:
        return Fit()
    is_asked = any(layer.type in ANSWERED for layer in task.layers)
    index, layer = layers[0]
    return Fit(marks="facts" if is_asked else "answer", layer=index, label=layer.labels[0].name)


def build_suggestions(
    key: str,
    program: Program,
    subject: Subject,
    *,
    marks: Mapping[str, Sequence[Mapping[str, Any]]],
    proposals: Sequence[Sequence[Any]] = (),
    modules: Sequence[Mapping[str, Any]] = (),
) -> Suggestions:
    """Return the suggestions of one output by node, each with an ID.

    Args:
        key: The beginning of the IDs; the output's own.
        program: Of the item.
        subject: The item's images or passage.
        marks: Objects and answers by node; a node with some needs no module output.
        proposals: Boxes of each image.
        modules: Outputs of modules: probabilities of proposals, or attention over tokens.
    """
    suggested: Suggestions = {int(node): [dict(mark) for mark in several] for node, several in marks.items()}
    for output in modules:
        node = program.representative[output["index"]]
        if node not in suggested and program.nodes[node].role in ("draw", "choose", "link"):
            suggested[node] = list(
                _select_likely_boxes(proposals, output.get("probabilities", ()))
                if subject.kind == "boxes"
                else _find_attended_spans(output, subject)
            )
    names = {
        suggestion["id"]: f"{key}.{node}.{index}"
        for node, several in suggested.items()
        for index, suggestion in enumerate(several)
        if "id" in suggestion
    }
    return {
        node: [
            _rename_suggestion(suggestion, f"{key}.{node}.{index}", names)
            for index, suggestion in enumerate(several)
        ]
        for node, several in sorted(suggested.items())
        if several
    }


def _rename_suggestion(given: dict[str, Any], name: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a suggestion under its own ID; the ends of a relation follow."""
    ends = {"ends": [names[end] for end in given["ends"]]} if "ends" in given else {}
    return given | {"id": name} | ends


def _select_likely_boxes(
    proposals: Sequence[Sequence[Any]], chances: Sequence[float]
) -> Iterator[dict[str, Any]]:
    boxes = [(image, box) for image, several in enumerate(proposals) for box in several]
    for (image, box), chance in zip(boxes, chances, strict=False):
        if chance > LIKELY:
            yield {"image": image, "box": list(box), "probability": chance}


def _find_attended_spans(output: Mapping[str, Any], subject: Subject) -> Iterator[dict[str, Any]]:
    """Yield runs of tokens that get at least half of the highest attention."""
    weights = output.get("attention", ())
    highest = max(weights, default=0.0)
    taken = [weight > 0 and weight >= highest / 2 for weight in weights]
    edges = [index for index, (before, now) in enumerate(pairwise([False, *taken, False])) if before != now]
    for first, beyond in zip(edges[::2], edges[1::2], strict=True):
        start, end = subject.tokens[first][0], subject.tokens[beyond - 1][1]
        yield {"span": [start, end], "tokens": [first, beyond], "quote": subject.passage[start:end]}


def build_questions(name: str, text: str, program: Program, passage: str, fit: Fit) -> dict[int, QAItem]:
    """Return what a reader is asked about an item, by the node of the answer.

    Args:
        name: The ID of the item.
        text: Its question or title.
        program: Its program or plain task.
        passage: Its text.
        fit: The use of the answers.
    """
    asked: dict[int, str] = {}
    if isinstance(program, LabelProgram):
        for index, layer in enumerate(program.task.layers, start=1):
            if layer.type in ANSWERED:
                asked[index] = _format_question(text, layer)
    marked = _find_marked_node(program, fit)
    if marked is not None and (fit.marks == "answer" or not asked):
        asked[marked] = text or (program.nodes[marked].module)
    context = [("", [passage[start:end] for start, end in split_sentences(passage)])]
    return {
        node: QAItem(id=f"{name[:180]}#{node}", question=question, context=context)
        for node, question in asked.items()
    }


def _format_question(text: str, layer: LabelLayer) -> str:
    parts = [text, layer.hint or ("" if text and not layer.labels else layer.name)]
    options: Sequence[object] = layer.names
    if layer.type == "rating":
        options = range(layer.lowest, layer.highest + 1)
    if options:
        several = "Answer with all that apply of" if layer.type == "choices" else "Answer with one of"
        parts.append(f"{several}: {', '.join(map(str, options))}.")
    return " ".join(part for part in parts if part)


def _find_marked_node(program: Program, fit: Fit) -> int | None:
    if not fit.marks:
        return None
    if isinstance(program, LabelProgram):
        return fit.layer
    drawn = (node.index for node in program.nodes if node.role in ("draw", "link"))
    return next((index for index in drawn if program.representative[index] == index), None)


def split_sentences(passage: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence, without blank parts."""
    ends = [match.end() for match in _SENTENCE_END.finditer(passage)]
    edges = [0, *[end for end in ends if end < len(passage)], len(passage)]
    return [(start, end) for start, end in pairwise(edges) if passage[start:end].strip()]


def build_marks(
    answers: Mapping[int, QAPrediction], program: Program, subject: Subject, fit: Fit
) -> tuple[dict[int, tuple[Object, ...]], float | None]:
    """Return the marks that answers suggest, by node, and their certainty.

    The certainty is the lowest probability of an answer, None if the system gives none.
    """
    marks: dict[int, tuple[Object, ...]] = {}
    sentence_spans = split_sentences(subject.passage)
    for node, prediction in answers.items():
        layer = program.layer(node) if isinstance(program, LabelProgram) else None
        if layer is not None and layer.type in ANSWERED:
            values = list(_interpret_answer(layer, prediction.answer))
            marks[node] = tuple(
                Answer(id=f"{node}.{index}", value=value) for index, value in enumerate(values)
            )
    marked = _find_marked_node(program, fit)
    if marked is not None:
        source = answers.get(marked) if fit.marks == "answer" else next(iter(answers.values()), None)
        stretches = () if source is None else _find_stretches(source, fit, subject.passage, sentence_spans)
        marks[marked] = tuple(_build_spans(marked, stretches, subject, fit.label))
    logprobs = [
        prediction.answer_logprob for prediction in answers.values() if prediction.answer_logprob is not None
    ]
    score = math.exp(min(logprobs)) if logprobs else None
    return {node: several for node, several in marks.items() if several}, score


def _interpret_answer(layer: LabelLayer, answer: str) -> Iterator[str | int]:
    """Yield what an answer means at a layer, possibly nothing."""
    if layer.type == "text":
        if answer.strip():
            yield answer.strip()
    elif layer.type == "rating":
        number = re.search(r"\d+", answer)
        if number and layer.lowest <= int(number[0]) <= layer.highest:
            yield int(number[0])
    else:
        wanted = normalise_answer(answer)
        exact = [name for name in layer.names if normalise_answer(name) == wanted]
        named = exact or [name for name in layer.names if f" {normalise_answer(name)} " in f" {wanted} "]
        if layer.type == "choices" or len(named) == 1:
            yield from named


def _find_stretches(
    prediction: QAPrediction, fit: Fit, passage: str, sentence_spans: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the code points of the answer, or of each fact."""
    if fit.marks == "facts":
        yield from (
            sentence_spans[index] for _title, index in sorted(prediction.facts) if index < len(sentence_spans)
        )
        return
    location = prediction.location
    if location and location.first and location.start is not None and location.end is not None:
        offset = sentence_spans[location.first[1]][0]
        yield offset + location.start, offset + location.end
    elif prediction.answer and prediction.type in ("span", None):
        match = re.search(re.escape(prediction.answer.strip()), passage, re.IGNORECASE)
        if match:
            yield match.span()


def _build_spans(
    node: int, stretches: Sequence[tuple[int, int]] | Iterator[tuple[int, int]], subject: Subject, label: str
) -> Iterator[Span]:
    for index, (start, end) in enumerate(stretches):
        first, beyond = trim_stretch(start, end, subject.passage)
        try:
            span = build_span(f"{node}.{index}", first, beyond, subject.passage, subject.tokens)
        except ValueError:
            continue  # it begins or ends between words of a tokenisation of the project's own
        yield span.model_copy(update={"label": label})

"""`extractive-qa`: a Hugging Face encoder with a span head over windows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Unpack

import numpy as np
import torch
import transformers
from pydantic import TypeAdapter, ValidationError

from modelserver.inputs.decoding import (
    Bools,
    Floats,
    build_prediction,
    compute_span_scores,
    compute_text_logprob,
    find_top_span,
    require_finite_logits,
)
from modelserver.inputs.encoders import find_folder, find_longest_window, hash_files, open_encoder
from modelserver.inputs.features import NO_FACT
from modelserver.inputs.packing import WINDOW_LIMITS, plan_batches
from modelserver.inputs.windows import Encoded, Window, WindowReader, WindowSettings
from modelserver.saliency.attribution import explain
from modelserver.systems.base import Identified, Identity, Labels
from modelserver.systems.extractive_saliency import ExtractiveSaliency, find_answer_spans
from modelserver.wire.errors import UnreadableWeights
from modelserver.wire.schema import Explanation, QAItem, QAPrediction, SaliencyOptions

READING = "reading.json"  # how to read, beside the weights; without it, the defaults of WindowSettings
FIELDS = {field.name for field in fields(WindowSettings)}


class ExtractiveSystem(Identified):
    """An encoder that marks the start and the end of an answer in a text.

    The articles of an item, each its title and then its sentences, are one text, split into overlapping
    windows. A span's score is its start logit plus its end logit, the highest of all windows that hold
    the span. A span lies in one article, not partly in its title, and has at most ``reading.longest``
    tokens after its first. The answer is the span with the highest score; the first wins a tie.

    A sentence's *relevance* is P(s) / P(a): a is the answer, s the most probable of the spans that touch
    the sentence, and P the softmax of the scores over all spans of the item. The ratio is therefore
    exp(score of s − score of a), because the normaliser cancels. The sentences of the answer have
    relevance 1, and others as much as an answer there would be worth to the model: they hold its
    evidence as far as a span head can tell. Sentences above ``reading.threshold`` are the facts, so the
    sentences of the answer always are. A sentence without tokens has relevance 0. If the answer is in a
    title, no sentence need be a fact.

    Such an encoder answers with spans alone: it never predicts yes or no, nor that there is no answer,
    even if it was trained to (SQuAD 2.0).
    """

    def __init__(
        self, model: transformers.PreTrainedModel, reader: WindowReader, **identity: Unpack[Identity]
    ) -> None:
        super().__init__(**identity)
        self.model, self.reader = model, reader

    def cost(self, item: QAItem) -> int:
        """Return the tokens of all windows of the item, each with the question."""
        return sum(map(self.reader.length, self.reader.windows(self.reader.encode(item))))

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for what `WindowReader.encode` refuses."""
        self.reader.encode(item)

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Answer the items, their windows in common batches.

        Raises InvalidRequest as `check` does, and PredictionFailed for logits that are not finite.
        """
        encoded = [self.reader.encode(item) for item in items]
        windows = [self.reader.windows(tokens) for tokens in encoded]
        logits = iter(self.logits([window for of_item in windows for window in of_item]))
        results = []
        for item, tokens, of_item in zip(items, encoded, windows, strict=True):
            scores = merge(of_item, [next(logits) for _ in of_item], tokens, self.reader.reading.longest)
            results.append(answer_item(item, tokens, scores, self.reader.reading.threshold))
        return results

    def explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation]:
        """Return the saliency of each item.

        Raises what `modelserver.saliency.attribution.explain` does.
        """
        return explain(ExtractiveSaliency(self), items, options, revision=self.revision)

    def logits(self, windows: Sequence[Window]) -> list[Floats]:
        """Return start and end logits of each window, [2, end - start]."""
        logits: list[Floats] = [np.empty((2, 0))] * len(windows)
        for batch in plan_batches([self.reader.length(window) for window in windows], WINDOW_LIMITS):
            chosen = [windows[position] for position in batch]
            inputs = self.reader.inputs(chosen, self.model.device)
            with torch.inference_mode():
                outputs = self.model(**inputs.tensors)
            both = torch.stack((outputs.start_logits, outputs.end_logits)).float().cpu().numpy()  # [2, W, T]
            for row, (position, window, offset) in enumerate(zip(batch, chosen, inputs.offset, strict=True)):
                logits[position] = both[:, row, offset : offset + window.end - window.start]
                require_finite_logits(logits[position])
        return logits


def merge(windows: Sequence[Window], logits: Sequence[Floats], encoded: Encoded, longest: int) -> Floats:
    """Return the score of each span of an item, [K, longest + 1].

    The axes are first token and width, as in `compute_span_scores`. A score is the highest of the windows
    that
    hold the span, and -inf for a span that is not allowed.
    """
    scores = np.full((len(encoded), longest + 1), -np.inf)
    if not windows:
        return scores
    for (_, first, end), (start_logits, end_logits) in zip(windows, logits, strict=True):
        part = scores[first:end]
        np.maximum(part, compute_span_scores(start_logits, end_logits, longest), out=part)
    scores[~find_answer_spans(encoded, longest)] = -np.inf
    return scores


def answer_item(item: QAItem, encoded: Encoded, scores: Floats, threshold: float) -> QAPrediction:
    """Return the prediction that a table of span scores makes."""
    best = float(scores.max()) if scores.size else -np.inf
    span, chances = None, [0.0] * len(encoded.facts)
    if np.isfinite(best):
        span, chances = find_top_span(scores), compute_relevance(scores - best, encoded).tolist()
    answered = build_prediction(item, encoded, span=span, kind="span", relevance=chances, threshold=threshold)
    target = None if item.target is None else compute_text_logprob(item, encoded, scores, item.target)
    logprob = compute_text_logprob(item, encoded, scores, answered.answer)
    return answered.model_copy(update={"answer_logprob": logprob, "target_logprob": target})


def compute_relevance(scores: Floats, encoded: Encoded) -> Floats:
    """Return exp of the best score of the spans that touch each sentence, [F].

    The best of all must be 0.
    """
    # From the best span of each first token that reaches at least so far, to the best that covers a token.
    reaching = np.maximum.accumulate(scores[:, ::-1], axis=1)[:, ::-1]  # [K, longest + 1]
    covering = reaching[:, 0].copy()  # [K]
    for width in range(1, min(scores.shape)):
        np.maximum(covering[width:], reaching[:-width, width], out=covering[width:])
    best = np.full(len(encoded.facts), -np.inf)
    inside: Bools = encoded.fact != NO_FACT
    np.maximum.at(best, encoded.fact[inside], covering[inside])
    return np.exp(best)


def load(
    source: Path | str | None, device: torch.device, *, allow_hub: bool = False, **labels: Unpack[Labels]
) -> ExtractiveSystem:
    """Load a folder, or if allowed a model of the hub (`find_folder`).

    Raises UnreadableWeights, naming the file and what is wrong with it.
    """
    if source is None:
        name = labels["name"]
        raise UnreadableWeights(
            f"{name}: no weights are shipped; name a folder: --weights FOLDER, or {name}=FOLDER in --systems"
        )
    folder = find_folder(source, allow_hub=allow_hub)
    revision = hash_files(folder)
    model, tokenizer = open_encoder(folder, device)
    try:
        reader = make_window_reader(tokenizer, read_reading(folder, find_longest_window(model, tokenizer)))
    except ValueError as error:
        raise UnreadableWeights(f"{folder}: {error}") from error
    return ExtractiveSystem(model, reader, revision=revision, **labels)


def make_window_reader(
    tokenizer: transformers.PreTrainedTokenizerBase, reading: WindowSettings
) -> WindowReader:
    """Return what cuts items into windows of a tokenizer.

    Raises ValueError as `WindowReader` does.
    """
    return WindowReader(
        tokenizer.backend_tokenizer,
        reading,
        pad=tokenizer.pad_token_id,
        mask=tokenizer.mask_token_id,
        names=tokenizer.model_input_names,
    )


def read_reading(folder: Path, most: int) -> WindowSettings:
    """Return how to read: the folder's own file, or the default.

    The default is limited to a model of ``most`` tokens. Raises UnreadableWeights for an invalid file,
    and for a window longer than the model's.
    """
    path = folder / READING
    if not path.exists():
        return WindowSettings.of_at_most(most)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise UnreadableWeights(f"{path}: expected an object, found {type(values).__name__}")
        if unknown := sorted(set(values) - FIELDS):
            raise UnreadableWeights(
                f"{path}: {unknown[0]}: no such field; there are {', '.join(sorted(FIELDS))}"
            )
        reading = TypeAdapter(WindowSettings).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise UnreadableWeights(f"{path}: {where}{first['msg']}") from error
    except (OSError, ValueError) as error:
        raise UnreadableWeights(f"{path}: {error}") from error
    if reading.window > most:
        raise UnreadableWeights(f"{path}: window: {reading.window}, but the model reads {most} tokens")
    return reading

"""A trained recurrent reader as the server sees it; its weights folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

import numpy as np
import torch

from modelserver.inputs import encoders
from modelserver.inputs.decoding import (
    Floats,
    build_prediction,
    compute_text_logprob,
    find_top_span,
    require_finite_logits,
    score_allowed_spans,
)
from modelserver.inputs.features import Features, Vocabulary, WordLimit, featurise
from modelserver.inputs.weight_files import (
    load_half_weights,
    name_file_in_errors,
    require_system,
    serialise_half_weights,
)
from modelserver.saliency.attribution import explain
from modelserver.systems import contextual
from modelserver.systems.base import Identified, Identity, Labels
from modelserver.systems.batches import collate
from modelserver.systems.contextual import Contextual, Encoder
from modelserver.systems.recurrent import ANSWER_TYPES, Config, Qi2019, SelectAndForget, build
from modelserver.systems.recurrent_saliency import RecurrentSaliency
from modelserver.wire.schema import LEAST_LOGPROB, Explanation, QAItem, QAPrediction, SaliencyOptions

MAX_TOKENS = 6000  # self-attention takes memory with the square of this
_LIMIT = WordLimit(MAX_TOKENS)


class RecurrentSystem(Identified):
    """A trained reader as the server sees it."""

    def __init__(
        self,
        model: Qi2019 | SelectAndForget,
        config: Config,
        vocabulary: Vocabulary,
        *,
        device: torch.device,
        **identity: Unpack[Identity],
    ) -> None:
        super().__init__(**identity)
        self.config, self.vocabulary, self.device = config, vocabulary, device
        self.model = model.to(device).eval()

    @property
    def examiner(self) -> WordLimit | None:
        """Return a checker of items that needs no weights, if words suffice."""
        return None if isinstance(self.model.embed, Contextual) else _LIMIT

    def cost(self, item: QAItem) -> int:
        """Return the tokens of question and context, and the encoder's pieces."""
        return _LIMIT.cost(item) + self.model.embed.cost(item)

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for an item that the reader cannot take.

        That is a question without words, no article, or more tokens than fit.
        """
        _LIMIT.check(item)
        self.model.embed.cost(item)

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Answer the items as one batch.

        Raises InvalidRequest when `check` would for any of them.
        """
        features = [self.features(item) for item in items]
        return self.predict_features(items, features) if items else []

    def features(self, item: QAItem) -> Features:
        """Turn an item into the numbers that the model looks at.

        Raises InvalidRequest when `check` would.
        """
        numbers = featurise(item, self.vocabulary)
        _LIMIT.require(item, len(numbers.question_word), len(numbers))
        return self.model.embed.prepare(item, numbers)

    def explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation]:
        """Return the saliency of each item.

        Raises what `modelserver.saliency.attribution.explain` does.
        """
        return explain(RecurrentSaliency(self), items, options, revision=self.revision)

    def predict_features(self, items: Sequence[QAItem], features: Sequence[Features]) -> list[QAPrediction]:
        """Answer items that have been turned into numbers already.

        Raises PredictionFailed for logits that are not finite.
        """
        batch = collate(features, self.device)
        with torch.inference_mode():
            outputs = self.model(batch)
        relevance = torch.softmax(outputs.facts.float(), -1)[:, 1].tolist()
        types = [ANSWER_TYPES[i] for i in outputs.type.argmax(-1).tolist()]
        log_types = torch.log_softmax(outputs.type.float(), -1).tolist()
        start, end = (x.float().cpu().numpy() for x in (outputs.start, outputs.end))
        seen = outputs.seen.cpu().numpy()
        require_finite_logits(start, end, *(x.float().cpu().numpy() for x in (outputs.type, outputs.facts)))
        results: list[QAPrediction] = []
        token, fact, threshold = 0, 0, self.config.threshold
        for item, of, kind in zip(items, features, types, strict=True):
            tokens = slice(token, token := token + len(of.word))
            chances = relevance[fact : (fact := fact + len(of.facts))]
            scores = score_allowed_spans(start[tokens], end[tokens], seen[tokens], of)
            span = find_top_span(scores) if np.isfinite(scores).any() else None
            answer = build_prediction(item, of, span=span, kind=kind, relevance=chances, threshold=threshold)
            results.append(_add_logprobs(item, of, answer, scores, log_types[len(results)]))
        return results


def _add_logprobs(
    item: QAItem, located: Features, answer: QAPrediction, scores: Floats, log_types: Sequence[float]
) -> QAPrediction:
    """Add the log-probabilities of an answer and of the item's target.

    That of a span is the type's and that of all spans of this text together; yes and no are types.
    """
    by_type: dict[str, float] = dict(zip(ANSWER_TYPES, log_types, strict=True))

    def logprob(text: str) -> float:
        if text in ("yes", "no"):
            return by_type[text]
        return max(LEAST_LOGPROB, by_type["span"] + compute_text_logprob(item, located, scores, text))

    target = None if item.target is None else logprob(item.target)
    return answer.model_copy(update={"answer_logprob": logprob(answer.answer), "target_logprob": target})


def save(folder: Path, model: Qi2019 | SelectAndForget, config: Config, vocabulary: Vocabulary) -> None:
    """Write weights (16-bit floats), configuration and vocabulary.

    Each file appears whole or not at all. An encoder's weights are among them; its configuration and
    tokenizer go into a folder beside them.
    """
    if isinstance(model.embed, Contextual):
        encoder = Encoder(model.embed.encoder, model.embed.tokenizer)
        contextual.save(folder / contextual.FOLDER, encoder)
    with encoders.stage_files(folder) as part:
        (part / "model.safetensors").write_bytes(serialise_half_weights(model))
        (part / "config.json").write_text(json.dumps(asdict(config), indent=2) + "\n", encoding="utf-8")
        vocabulary.save(part / "vocab.json")


def load(folder: Path, device: torch.device, **labels: Unpack[Labels]) -> RecurrentSystem:
    """Load a weights folder.

    Raises UnreadableWeights, naming the file and what is wrong with it.
    """
    digest = hashlib.sha256()
    with name_file_in_errors(folder / "config.json"):
        fields = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        require_system(fields, labels["name"])
        config = Config(**fields)
    for file in ("config.json", "vocab.json", "model.safetensors"):
        with name_file_in_errors(folder / file):
            digest.update((folder / file).read_bytes())
    with name_file_in_errors(folder / "vocab.json"):
        vocabulary = Vocabulary.load(folder / "vocab.json")
    embed = None
    if config.window:
        with name_file_in_errors(folder / contextual.FOLDER):
            encoder = contextual.open_encoder(folder / contextual.FOLDER, config.window)
            embed = Contextual(encoder.model, encoder.tokenizer, config)
        digest.update(encoders.hash_files(folder / contextual.FOLDER).encode())
    with name_file_in_errors(folder / "model.safetensors"):
        model = build(config, len(vocabulary), embed)
        load_half_weights(model, folder / "model.safetensors")
    revision = digest.hexdigest()[:12]
    return RecurrentSystem(model, config, vocabulary, device=device, revision=revision, **labels)

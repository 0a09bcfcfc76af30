"""`heuristic`: first mention of the expected type in the closest sentence.

Source: Ray Choudhury, Rogers and Augenstein 2022, section 4.5. A question that such a shortcut answers
needs none of the reasoning that it is meant to need.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Unpack, get_args

import numpy as np
import torch
from safetensors.torch import save as save_weights

from modelserver.inputs import encoders
from modelserver.inputs.answer_types import EncoderTypes, WordCNN, compute_type_logprobs
from modelserver.inputs.decoding import Floats
from modelserver.inputs.features import Vocabulary, list_lower_words, require_free_answer
from modelserver.inputs.mentions import TYPES, find_mentions
from modelserver.inputs.weight_files import load_weights, name_file_in_errors, require_system
from modelserver.systems.base import Identified, Identity, Labels, count_words
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import LEAST_LOGPROB, AnswerLocation, QAItem, QAPrediction

Selector = Literal["overlap", "lcs", "position", "encoder"]
Predictor = Literal["words", "encoder"]
SELECTORS: tuple[Selector, ...] = get_args(Selector)
PREDICTORS: tuple[Predictor, ...] = get_args(Predictor)
ENCODER = "encoder"  # folder of the encoder, beside the other files


@dataclass(frozen=True)
class Choice:
    """The choice of the sentence, and the predictor of the answer's type."""

    selector: Selector = "overlap"
    predictor: Predictor = "words"


class HeuristicSystem(Identified):
    """Choose a sentence, then take its first mention of the predicted type.

    The sentence is the one that shares most words with the question (``overlap``), the longest common
    subsequence of words (``lcs``) or the direction of its vector (``encoder``), the first in a tie, or
    just the first (``position``). If it holds no mention of the type, the answer is empty. The chosen
    sentence is the one fact.
    """

    def __init__(
        self, choice: Choice, words_model: WordCNN, encoder: EncoderTypes, **identity: Unpack[Identity]
    ) -> None:
        super().__init__(**identity)
        self.choice = choice
        self.words, self.encoder = words_model.eval(), encoder.eval()

    def cost(self, item: QAItem) -> int:
        """Return the words of question and context."""
        return count_words(item)

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for labels, or texts that lack words."""
        require_free_answer(item)
        if not list_lower_words(item.question):
            raise InvalidRequest("it contains no words", field="question")
        if not any(sentences for _, sentences in item.context):
            raise InvalidRequest("at least one sentence is needed", field="context")

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Answer the items.

        Raises InvalidRequest when `check` would for any of them, and PredictionFailed for logits that are
        not finite.
        """
        for item in items:
            self.check(item)
        if not items:
            return []
        model = self.words if self.choice.predictor == "words" else self.encoder
        chances = compute_type_logprobs(model, [item.question for item in items])
        return [self._answer(item, row) for item, row in zip(items, chances, strict=True)]

    def _answer(self, item: QAItem, log_types: Floats) -> QAPrediction:
        sentences = [
            ((title, number), text) for title, texts in item.context for number, text in enumerate(texts)
        ]
        fact, text = sentences[self.choose_sentence(item.question, [text for _, text in sentences])]
        firsts = {mention.type: mention for mention in reversed(find_mentions(text))}
        answers = [text[m.start : m.end] if (m := firsts.get(kind)) else "" for kind in TYPES]

        def logprob(answer: str) -> float:
            """Return that of all types together whose mention is the answer."""
            same = [chance for chance, given in zip(log_types, answers, strict=True) if given == answer]
            return min(0.0, max(LEAST_LOGPROB, float(np.logaddexp.reduce(same, initial=-np.inf))))

        best = int(log_types.argmax())
        location = None
        if mention := firsts.get(TYPES[best]):
            location = AnswerLocation(first=fact, last=fact, start=mention.start, end=mention.end)
        return QAPrediction(
            id=item.id,
            answer=answers[best],
            type="span",
            location=location,
            facts=[fact],
            answer_logprob=logprob(answers[best]),
            target_logprob=None if item.target is None else logprob(item.target),
        )

    def choose_sentence(self, question: str, sentences: Sequence[str]) -> int:
        """Return the number of the chosen sentence."""
        if self.choice.selector == "position":
            return 0
        if self.choice.selector == "encoder":
            return int(np.argmax(self._cosines(question, sentences)))
        asked = list_lower_words(question)
        measure = count_shared_words if self.choice.selector == "overlap" else measure_common_subsequence
        return int(np.argmax([measure(asked, list_lower_words(text)) for text in sentences]))

    def _cosines(self, question: str, sentences: Sequence[str]) -> list[float]:
        with torch.inference_mode():
            vectors = self.encoder.embed([question, *sentences])  # one item: nothing beside it counts
            return torch.cosine_similarity(vectors[:1], vectors[1:]).tolist()


def count_shared_words(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many different words both have."""
    return len(set(first) & set(second))


def measure_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest word sequence common to both.

    Gaps are allowed.

    >>> measure_common_subsequence(["a", "b", "c", "d"], ["b", "x", "d", "c"])
    2
    """
    lengths = [0] * (len(second) + 1)
    for word in first:
        diagonal = 0
        for column, other in enumerate(second, start=1):
            above = lengths[column]
            lengths[column] = diagonal + 1 if word == other else max(above, lengths[column - 1])
            diagonal = above
    return lengths[-1]


def save(folder: Path, choice: Choice, words_model: WordCNN, encoder: EncoderTypes) -> None:
    """Write both predictors and the choice.

    config.json comes last, so that a folder that has it is complete.
    """
    encoders.save(folder / ENCODER, encoder.encoder, encoder.tokenizer, {})
    sizes = {"size": words_model.embed.embedding_dim, "channels": words_model.convolutions[0].out_channels}
    config = {"system": "heuristic", **asdict(choice), **sizes}
    with encoders.stage_files(folder, last="config.json") as part:
        words_model.vocabulary.save(part / "vocab.json")
        for name, module in (("words", words_model), ("head", encoder.out)):
            weights = {key: tensor.detach().cpu().contiguous() for key, tensor in module.state_dict().items()}
            (part / f"{name}.safetensors").write_bytes(save_weights(weights))
        (part / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def load(
    folder: Path, device: torch.device, *, choice: Choice | None = None, **labels: Unpack[Labels]
) -> HeuristicSystem:
    """Load a weights folder; ``choice`` overrides its config.json.

    Raises UnreadableWeights.
    """
    total = hashlib.sha256()
    with name_file_in_errors(folder / "config.json"):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        require_system(config, "heuristic")
        choice = choice or Choice(config["selector"], config["predictor"])
        if choice.selector not in SELECTORS or choice.predictor not in PREDICTORS:
            raise ValueError(f"no such selector or predictor: {choice.selector!r}, {choice.predictor!r}")
        sizes = {"size": int(config["size"]), "channels": int(config["channels"])}
    for file in ("vocab.json", "words.safetensors", "head.safetensors"):
        with name_file_in_errors(folder / file):
            total.update((folder / file).read_bytes())
    with name_file_in_errors(folder / "vocab.json"):
        words_model = WordCNN(Vocabulary.load(folder / "vocab.json"), **sizes)
    with name_file_in_errors(folder / "words.safetensors"):
        load_weights(words_model, folder / "words.safetensors")
    tokenizer = encoders.open_tokenizer(folder / ENCODER)
    # Saved without a head, so the span head that comes with it is new; nothing uses it.
    reader = encoders.open_model(folder / ENCODER, device, trained=False)
    encoder = EncoderTypes(encoders.extract_encoder(reader, folder / ENCODER), tokenizer)
    with name_file_in_errors(folder / "head.safetensors"):
        load_weights(encoder.out, folder / "head.safetensors")
    total.update(f"{choice}{encoders.hash_files(folder / ENCODER)}".encode())
    revision = total.hexdigest()[:12]
    return HeuristicSystem(choice, words_model.to(device), encoder.to(device), revision=revision, **labels)

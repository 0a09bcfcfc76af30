"""A trained recurrent reader as the server sees it, and the folder of weights that it comes from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as save_weights

from modelserver.inputs import encoders
from modelserver.inputs.decoding import best_span, prediction
from modelserver.inputs.features import Features, Vocabulary, WordLimit, featurise
from modelserver.saliency.attribution import explain
from modelserver.systems import contextual
from modelserver.systems.batches import collate
from modelserver.systems.contextual import Contextual, Encoder
from modelserver.systems.recurrent import ANSWER_TYPES, Config, Qi2019, SelectAndForget, build
from modelserver.systems.recurrent_saliency import RecurrentSaliency
from modelserver.wire.errors import UnreadableWeights
from modelserver.wire.schema import Explanation, QAItem, QAPrediction, SaliencyOptions

MAX_TOKENS = 6000  # self-attention takes memory with the square of this
_LIMIT = WordLimit(MAX_TOKENS)


class RecurrentSystem:
    """A trained reader as the server sees it."""

    def __init__(
        self,
        model: Qi2019 | SelectAndForget,
        config: Config,
        vocabulary: Vocabulary,
        *,
        name: str,
        description: str,
        revision: str,
        device: torch.device,
    ) -> None:
        self.name, self.description, self.revision = name, description, revision
        self.config, self.vocabulary, self.device = config, vocabulary, device
        self.model = model.to(device).eval()

    @property
    def examiner(self) -> WordLimit | None:
        """Return what looks at items in the place of this system, where words are all that it reads."""
        return None if isinstance(self.model.embed, Contextual) else _LIMIT

    def cost(self, item: QAItem) -> int:
        """Return the tokens of question and context, and those that an encoder reads."""
        return _LIMIT.cost(item) + self.model.embed.cost(item)

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for a question without words, no article, or more tokens than fit."""
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
        """Answer items that have been turned into numbers already."""
        batch = collate(features, self.device)
        with torch.inference_mode():
            outputs = self.model(batch)
        relevance = torch.softmax(outputs.facts.float(), -1)[:, 1].tolist()
        types = [ANSWER_TYPES[i] for i in outputs.type.argmax(-1).tolist()]
        start, end = (x.float().cpu().numpy() for x in (outputs.start, outputs.end))
        seen = outputs.seen.cpu().numpy()
        results, token, fact = [], 0, 0
        for item, features_of, kind in zip(items, features, types, strict=True):
            tokens = slice(token, token := token + len(features_of.word))
            facts = slice(fact, fact := fact + len(features_of.facts))
            span = best_span(start[tokens], end[tokens], seen[tokens], features_of)
            results.append(
                prediction(
                    item,
                    features_of,
                    span=span,
                    kind=kind,
                    relevance=relevance[facts],
                    threshold=self.config.threshold,
                )
            )
        return results


def save(folder: Path, model: Qi2019 | SelectAndForget, config: Config, vocabulary: Vocabulary) -> None:
    """Write weights (16-bit floats), configuration and vocabulary; each file appears whole or not at all.

    An encoder's weights are among them; what else it is made from comes to lie in a folder beside them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(model.embed, Contextual):
        encoder = Encoder(model.embed.encoder, model.embed.tokenizer)
        contextual.save(folder / contextual.FOLDER, encoder)
    weights = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).detach().cpu().contiguous()
        for name, tensor in model.state_dict().items()
    }
    (folder / "model.safetensors.part").write_bytes(save_weights(weights))
    (folder / "config.json.part").write_text(json.dumps(asdict(config), indent=2) + "\n", encoding="utf-8")
    vocabulary.save(folder / "vocab.json.part")
    for name in ("model.safetensors", "config.json", "vocab.json"):
        (folder / f"{name}.part").replace(folder / name)


def load(folder: Path, device: torch.device, *, name: str, description: str) -> RecurrentSystem:
    """Load a weights folder.

    Raises UnreadableWeights, naming the file and what is wrong with it.
    """
    digest = hashlib.sha256()
    for file in ("config.json", "vocab.json", "model.safetensors"):
        with _blaming(folder / file):
            digest.update((folder / file).read_bytes())
    with _blaming(folder / "config.json"):
        config = Config(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
        if config.system != name:
            raise ValueError(f"system is {config.system!r}, not {name!r}")
    with _blaming(folder / "vocab.json"):
        vocabulary = Vocabulary.load(folder / "vocab.json")
    embed = None
    if config.window:
        with _blaming(folder / contextual.FOLDER):
            embed = contextual.load(folder / contextual.FOLDER, config)
        digest.update(encoders.digest(folder / contextual.FOLDER).encode())
    with _blaming(folder / "model.safetensors"):
        model = build(config, len(vocabulary), embed)
        weights = load_file(folder / "model.safetensors")
        model.load_state_dict(
            {key: tensor.float() if tensor.is_floating_point() else tensor for key, tensor in weights.items()}
        )
    return RecurrentSystem(
        model,
        config,
        vocabulary,
        name=name,
        description=description,
        revision=digest.hexdigest()[:12],
        device=device,
    )


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Turn whatever reading a file raises into our error, with the file's name."""
    try:
        yield
    except OSError as error:
        raise UnreadableWeights(f"{path}: {error.strerror or error}") from error
    except (TypeError, ValueError, RuntimeError, SafetensorError) as error:
        raise UnreadableWeights(f"{path}: {error}") from error

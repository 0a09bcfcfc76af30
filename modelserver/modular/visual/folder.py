"""A network's folder: config.json, model.safetensors and tokenizer files."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch
import transformers
from pydantic import TypeAdapter, ValidationError
from safetensors.torch import save_file

from modelserver.inputs import encoders
from modelserver.inputs.weight_files import load_weights, require_system
from modelserver.modular.visual.baseline import Baseline
from modelserver.modular.visual.bilinear import MODEL_TYPE, BilinearConfig, BilinearEncoder
from modelserver.modular.visual.network import Config, Encoder, VisualNetwork, VisualSystem
from modelserver.wire.schema import format_first_problem

Network = VisualNetwork | Baseline
NewEncoder = Literal["lxmert", "bilinear"]
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer"
PIECES = 400
LONGEST = 128  # tokens that a new encoder reads


def create_encoder(
    texts: Iterable[str], *, hidden: int, features: int, layers: int = 1
) -> tuple[transformers.LxmertModel, transformers.PreTrainedTokenizerBase]:
    """Return an untrained LXMERT and a tokenizer learned from texts.

    The weights come from torch's generator. There is no layer for regions alone and no dropout: both
    only slow down a network as small as this. The initial weights are larger than transformers' 0.02,
    with which words and regions interact too weakly to learn.
    """
    tokenizer = encoders.create_tokenizer(texts, PIECES)
    config = transformers.LxmertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_attention_heads=4,
        intermediate_size=2 * hidden,
        l_layers=layers,
        r_layers=0,
        x_layers=layers,
        visual_feat_dim=features,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=LONGEST,
        initializer_range=0.1,
    )
    return transformers.LxmertModel(config), tokenizer


def create_bilinear_encoder(
    texts: Iterable[str], *, hidden: int, features: int
) -> tuple[BilinearEncoder, transformers.PreTrainedTokenizerBase]:
    """Return an untrained bilinear encoder and a tokenizer learned from texts."""
    tokenizer = encoders.create_tokenizer(texts, PIECES)
    return BilinearEncoder(BilinearConfig(len(tokenizer), hidden, features, LONGEST)), tokenizer


def open_encoder(folder: Path) -> tuple[transformers.LxmertModel, transformers.PreTrainedTokenizerBase]:
    """Load a pretrained LXMERT and its tokenizer from a transformers folder.

    Raises UnreadableWeights, also for an encoder of another kind.
    """
    with encoders.name_source_in_errors(folder / CONFIG):
        kind = json.loads((folder / CONFIG).read_bytes()).get("model_type")
        if kind != "lxmert":  # transformers would only warn, and leave all weights untrained
            raise ValueError(f"its model_type is {kind}; networks over regions need an lxmert")
    model, tokenizer = encoders.open_encoder(
        folder, torch.device("cpu"), trained=False, kind=transformers.LxmertModel
    )
    return cast(transformers.LxmertModel, model), tokenizer


def build(config: Config, encoder: Encoder, tokenizer: transformers.PreTrainedTokenizerBase) -> Network:
    """Return the network that a configuration asks for, its heads untrained.

    Raises ValueError for the baseline over another encoder than an LXMERT.
    """
    if config.system == "lxmert":
        if isinstance(encoder, BilinearEncoder):
            raise ValueError("lxmert answers from the output of an LXMERT")
        return Baseline(encoder, tokenizer)
    return VisualNetwork(config, encoder, tokenizer)


def save(folder: Path, network: Network, config: Config) -> None:
    """Write a network; config.json last, so that a folder that has it has all."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
    described = {**asdict(config), "encoder": network.encoder.config.to_diff_dict()}
    with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as name:
        part = Path(name)
        network.tokenizer.save_pretrained(part / TOKENIZER)
        # Without it, transformers would look for the kind of the tokenizer on the hub.
        (part / TOKENIZER / CONFIG).write_text('{"model_type": "lxmert"}\n', encoding="utf-8")
        save_file(weights, part / WEIGHTS)
        shutil.rmtree(folder / TOKENIZER, ignore_errors=True)
        (part / TOKENIZER).rename(folder / TOKENIZER)
        (part / WEIGHTS).replace(folder / WEIGHTS)
        (folder / WEIGHTS).chmod(0o644)  # it comes for its owner alone
        (part / CONFIG).write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
        (part / CONFIG).replace(folder / CONFIG)


def load(folder: Path, device: torch.device, *systems: str) -> tuple[Network, Config, str]:
    """Return a folder's network, ready to execute, its config and revision.

    Raises UnreadableWeights, naming the file, also for a network that is not of ``systems``, which by
    default are both.
    """
    total = hashlib.sha256()
    with encoders.name_source_in_errors(folder / CONFIG):
        text = (folder / CONFIG).read_bytes()
        described = json.loads(text)
        require_system(described, *(systems or get_args(VisualSystem)))
        encoder = _build_untrained(described.pop("encoder"))
        # Older configurations lack the field: their networks learned from words at the front.
        config = _parse_config({"positions": "shifted", **described})
        total.update(text)
    with encoders.name_source_in_errors(folder / TOKENIZER):
        tokenizer = encoders.open_tokenizer(folder / TOKENIZER)
        for path in sorted((folder / TOKENIZER).iterdir()):
            total.update(path.read_bytes())
    network = build(config, encoder, tokenizer)
    with encoders.name_source_in_errors(folder / WEIGHTS):
        load_weights(network, folder / WEIGHTS)
        total.update((folder / WEIGHTS).read_bytes())
    return network.to(device).eval(), config, total.hexdigest()[:12]


def _parse_config(described: dict[str, Any]) -> Config:
    Config(**described)  # raises TypeError for a field that there is not
    try:
        return TypeAdapter(Config).validate_python(described)
    except ValidationError as error:
        raise ValueError(format_first_problem(error)) from error


def _build_untrained(described: dict[str, Any]) -> Encoder:
    """Return the encoder of a description in config.json."""
    kind = described.get("model_type")
    if kind == "lxmert":
        return transformers.LxmertModel(transformers.LxmertConfig(**described))
    if kind != MODEL_TYPE:
        raise ValueError(
            f"encoder: its model_type is {kind}; networks over regions need lxmert or {MODEL_TYPE}"
        )
    sizes = {name: value for name, value in described.items() if name != "model_type"}
    return BilinearEncoder(BilinearConfig(**sizes))

"""Load Hugging Face encoders: safetensors only, no code, no pickle.

They come from a folder, or from the hub if that is allowed.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
import transformers
from huggingface_hub import snapshot_download
from safetensors import safe_open
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from torch import nn
from transformers.utils import logging as transformers_logging

from modelserver.inputs.weight_files import describe_error, require_finite
from modelserver.wire.errors import UnreadableWeights

ALLOW_HUB = "MODELSERVER_ALLOW_HUB"  # set to 1, the environment allows the hub
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
# The files of a model and its tokenizer; no other file in the folder affects a prediction.
READ_FILES = (
    "config.json", "reading.json", "model.safetensors", "model.safetensors.index.json", "model-*.safetensors",
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt",
    "vocab.json", "merges.txt", "spiece.model", "spm.model", "sentencepiece.bpe.model",
)  # fmt: skip
WEIGHTS = "model.safetensors"
PART = ".part-"  # begins the name of a folder in which files are made
UNBOUNDED = 1_000_000  # tokenizers without a limit of length state a huge one
NUMBER = re.compile(r"\b[0-9]{2,4}\b")
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
POSITIONS = 512  # that a new encoder reads at once
LOCAL_ONLY = {"local_files_only": True, "trust_remote_code": False}  # no network, and no code of the folder's


def find_folder(source: Path | str, *, allow_hub: bool = False, further: Iterable[str] = ()) -> Path:
    """Return the folder that ``source`` names: a path, or a model of the hub.

    A model of the hub is downloaded, safetensors, tokenizer and ``further`` files alone, if ``allow_hub`` or
    MODELSERVER_ALLOW_HUB=1 permits it; otherwise nothing touches the network. Raises UnreadableWeights.
    """
    folder = Path(source)
    if folder.is_dir():
        return folder
    if not (allow_hub or os.environ.get(ALLOW_HUB) == "1"):
        raise UnreadableWeights(
            f"{source}: there is no such folder; a model of the hub is fetched only with --allow-hub, in "
            f"commands that have it, or with {ALLOW_HUB}=1 in the environment"
        )
    try:
        folder = Path(snapshot_download(str(source), allow_patterns=[*READ_FILES, *further]))
    except Exception as error:  # the edge: network, disk, a missing model, a wrong id
        raise UnreadableWeights(f"{source}: not to be had from the hub: {error}") from error
    if not further and not any(folder.glob("*.safetensors")):
        raise UnreadableWeights(
            f"{source}: the hub has no {WEIGHTS} of it, and nothing else is loaded; if it has "
            f"pytorch_model.bin, run `.venv/bin/python -m modelserver convert {source} --allow-hub "
            "--out FOLDER` and name that folder"
        )
    return folder


def open_encoder(
    folder: Path,
    device: torch.device,
    *,
    trained: bool = True,
    kind: type[Any] | None = None,
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """Load a model as `open_model` does, and a tokenizer that fits it."""
    tokenizer, model = open_tokenizer(folder), open_model(folder, device, trained=trained, kind=kind)
    vocabulary_size = getattr(model.get_input_embeddings(), "num_embeddings", UNBOUNDED)
    if len(tokenizer) > vocabulary_size:
        raise UnreadableWeights(
            f"{folder}: {len(tokenizer)} tokens, but the model knows {vocabulary_size} only"
        )
    # A tokenizer of one family may be beside a model of another that has no types of text, as BERT's is
    # beside some of DistilBERT.
    takes = inspect.signature(model.forward).parameters
    tokenizer.model_input_names = [name for name in tokenizer.model_input_names if name in takes]
    return model, tokenizer


def open_tokenizer(folder: Path) -> transformers.PreTrainedTokenizerBase:
    """Load the tokenizer of a folder.

    Raises UnreadableWeights, also for one that gives no offsets.
    """
    _check_config(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if (folder / name).exists():
            _read_object(folder / name)
    with name_source_in_errors(folder, "tokenizer"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL_ONLY)
        if not tokenizer.is_fast:
            raise ValueError("it gives no offsets, so that answers cannot be found in the text")
        if tokenizer.pad_token_id is None:
            raise ValueError("it has no padding token")
        if len(tokenizer) <= len(tokenizer.all_special_ids):  # made up by the library if files are missing
            raise ValueError("it has no words: neither tokenizer.json nor a vocabulary is there")
    return tokenizer


def open_model(
    folder: Path,
    device: torch.device,
    *,
    trained: bool = True,
    kind: type[Any] | None = None,
) -> transformers.PreTrainedModel:
    """Load a model in 32-bit floats, ready to predict.

    It answers questions, if ``kind`` is no other class of transformers. With ``trained``,
    every weight must be in the files; without, those of the answer head may be new. Raises
    UnreadableWeights, naming the file if one is damaged, and for an encoder-decoder or a part of one.
    """
    _check_config(folder)
    with name_source_in_errors(folder / "config.json"):
        config = transformers.AutoConfig.from_pretrained(folder, **LOCAL_ONLY)
        if config.is_encoder_decoder or type(config).is_encoder_decoder:
            raise ValueError(
                f"{config.model_type} is an encoder-decoder, or the encoder of one; such models are not read"
            )
    _check_weights(folder)
    with name_source_in_errors(folder, "model"), silence_transformers():
        # The library imports its models, for seconds, when the first class of them is named.
        try:
            model, loading_info = (kind or transformers.AutoModelForQuestionAnswering).from_pretrained(
                folder, **LOCAL_ONLY, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
        except RuntimeError as error:
            if "ignore_mismatched_sizes" in str(error):
                raise ValueError("its weights have other shapes than config.json says") from error
            raise
        inside = "" if model.base_model is model else f"{model.base_model_prefix}."  # a head is outside
        missing = sorted(name for name in loading_info["missing_keys"] if trained or name.startswith(inside))
        if missing:
            advice = "; fine-tune it first with `train extractive-qa`" if trained else ""
            raise ValueError(f"weights are missing, {missing[0]} for one{advice}")
        require_finite(model)
    return model.to(device).eval()


def open_untrained(folder: Path) -> transformers.PreTrainedModel:
    """Return the encoder that config.json describes, headless and untrained.

    Raises UnreadableWeights.
    """
    _check_config(folder)
    with name_source_in_errors(folder / "config.json"):
        config = transformers.AutoConfig.from_pretrained(folder, **LOCAL_ONLY)
        model = transformers.AutoModelForQuestionAnswering.from_config(
            config, trust_remote_code=False, dtype=torch.float32
        )
    return extract_encoder(model, folder)


def extract_encoder(model: transformers.PreTrainedModel, source: object) -> transformers.PreTrainedModel:
    """Return the encoder inside a model.

    Raises UnreadableWeights for one that has a decoder too.
    """
    inside = model.base_model
    alone = isinstance(inside, transformers.PreTrainedModel) and inside is not model
    if not alone or model.config.is_encoder_decoder or not hasattr(model.config, "hidden_size"):
        raise UnreadableWeights(f"{source}: {model.config.model_type} is not an encoder alone")
    return cast(transformers.PreTrainedModel, inside)


def create_encoder(
    texts: Iterable[str],
    device: torch.device,
    *,
    hidden: int,
    layers: int,
    heads: int,
    pieces: int,
    rotary: bool = False,
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """Return an untrained encoder with a span head, and a new tokenizer.

    The encoder is a BERT or, if ``rotary``, a RoFormer without dropout, whose tokenizer knows numbers of
    two to four digits as wholes: a small one can learn to look up and compare values. Otherwise the
    tokenizer has at most ``pieces``, learned from texts. The weights come from torch's generator;
    the same texts give the same tokenizer in every process. Raises UnreadableWeights for a hidden size
    that the heads do not divide.
    """
    tokenizer = create_tokenizer(texts, pieces, numbers=rotary)
    sizes: dict[str, Any] = {
        "vocab_size": len(tokenizer), "hidden_size": hidden, "num_hidden_layers": layers,
        "num_attention_heads": heads, "intermediate_size": 4 * hidden, "max_position_embeddings": POSITIONS,
    }  # fmt: skip
    with name_source_in_errors(Path("new encoder")), device:
        if not rotary:
            return transformers.BertForQuestionAnswering(transformers.BertConfig(**sizes)), tokenizer
        config = transformers.RoFormerConfig(
            embedding_size=hidden, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **sizes
        )
        return transformers.RoFormerForQuestionAnswering(config), tokenizer


def create_tokenizer(
    texts: Iterable[str], pieces: int, *, numbers: bool = False
) -> transformers.PreTrainedTokenizerBase:
    """Return a tokenizer of at most ``pieces``, deterministic in the texts.

    With ``numbers``, those of two to four digits in the texts are further pieces.
    """
    texts = list(texts)
    whole = sorted({number for text in texts for number in NUMBER.findall(text)}) if numbers else []
    learned = _learn_pieces(texts, pieces, whole)
    return transformers.BertTokenizer(
        vocab={piece: number for number, piece in enumerate(learned)}, model_max_length=POSITIONS
    )


def _learn_pieces(texts: Sequence[str], most: int, whole: Sequence[str]) -> list[str]:
    """Return the special tokens and learned pieces, sorted.

    They are at most ``most``, and the words ``whole`` beside them.
    """
    learned = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106 - no secret
    learned.normalizer = normalizers.BertNormalizer()
    learned.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    counts = Counter(sign for text in texts for sign in learned.normalizer.normalize_str(text))
    del counts[" "]
    signs = sorted(counts, key=lambda sign: (-counts[sign], sign))[: most // 4]
    # Left to itself, the trainer numbers characters by chance, and by their numbers it chooses among pieces
    # that are equally frequent. Given as special tokens, they have numbers from the start.
    alphabet = [form for sign in sorted(signs) for form in (sign, f"##{sign}")]
    trainer = trainers.WordPieceTrainer(
        vocab_size=most + len(whole), special_tokens=[*SPECIALS, *alphabet, *whole], limit_alphabet=0,
        show_progress=False,
    )  # fmt: skip
    learned.train_from_iterator(texts, trainer)
    return [*SPECIALS, *sorted(set(learned.get_vocab()) - set(SPECIALS))]


@contextmanager
def stage_files(folder: Path, *, last: str = "") -> Iterator[Path]:
    """Give a folder to write in; its files move to ``folder`` at the end.

    Each appears whole or not at all, and the one called ``last`` after all others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{PART}*"):  # by a training that was killed here
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=PART, dir=folder) as part:
        yield Path(part)
        for path in sorted(Path(part).iterdir(), key=lambda path: (path.name == last, path.name)):
            path.replace(folder / path.name)


def save(
    folder: Path,
    model: transformers.PreTrainedModel,
    tokenizer: transformers.PreTrainedTokenizerBase,
    beside: Mapping[str, str],
) -> None:
    """Write model, tokenizer and the texts ``beside`` by name.

    Each file appears whole or not at all, and the weights last, so that a folder that has them has all.
    """
    with stage_files(folder, last=WEIGHTS) as part, silence_transformers():
        tokenizer.save_pretrained(part)
        model.save_pretrained(part, max_shard_size="1TB")  # one file, which one step replaces
        for name, text in beside.items():
            (part / name).write_text(text, encoding="utf-8")
        shutil.copymode(part / "config.json", part / WEIGHTS)  # this one comes for its owner alone


def find_longest_window(model: nn.Module, tokenizer: transformers.PreTrainedTokenizerBase) -> int:
    """Return the most tokens the model reads at once; huge if unlimited."""
    limits = [tokenizer.model_max_length]
    for name, module in model.named_modules():
        if name.endswith(("position_embeddings", "embed_positions")) and isinstance(module, nn.Embedding):
            # The RoBERTa family numbers positions from after the padding's.
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - unused)
    return int(min(*limits, UNBOUNDED))


def hash_files(folder: Path) -> str:
    """Return 12 hex digits that change with any file of model or tokenizer."""
    total = hashlib.sha256()
    for path in sorted({path for pattern in READ_FILES for path in folder.glob(pattern)}):
        with name_source_in_errors(path), path.open("rb") as file:
            total.update(path.name.encode())
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:12]


def _check_weights(folder: Path) -> None:
    files = sorted(
        {path for pattern in READ_FILES if "safetensors" in pattern for path in folder.glob(pattern)}
    )
    if not files:
        pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
        why = f" ({pickles[0]} may be a pickle, which can run code: run `convert` first)" if pickles else ""
        raise UnreadableWeights(f"{folder}: no model.safetensors, and nothing else is loaded{why}")
    for path in files:
        if path.suffix == ".json":
            _read_object(path)
            continue
        with name_source_in_errors(path), safe_open(path, framework="pt"):
            pass  # reads the header and compares it with the length of the file


def _check_config(folder: Path) -> None:
    """Raise UnreadableWeights if a folder is of a system of ours."""
    path = folder / "config.json"
    described = _read_object(path)
    if "system" in described and "model_type" not in described:
        raise UnreadableWeights(
            f"{path}: the folder holds weights of {described['system']}, not a model of transformers"
        )


def _read_object(path: Path) -> dict[str, Any]:
    with name_source_in_errors(path):
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError(f"expected a JSON object, found {type(value).__name__}")
        return value


@contextmanager
def name_source_in_errors(path: Path, part: str = "") -> Iterator[None]:
    """Turn any error of reading into UnreadableWeights with the path."""
    try:
        yield
    except UnreadableWeights:
        raise
    except Exception as error:  # the edge: a damaged file makes the libraries raise anything
        raise UnreadableWeights(f"{path}: {part}{': ' if part else ''}{describe_error(error)}") from error


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Keep the library's output off stderr, which holds our JSON log."""
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)

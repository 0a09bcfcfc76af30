"""The encoder or word vectors that a recurrent reader starts from."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import torch
import transformers
from cyclopts import Group, Parameter
from cyclopts.validators import mutually_exclusive
from torch import nn

from analysis.io.command_line import only_with
from modelserver.inputs import encoders
from modelserver.inputs.encoders import create_encoder, extract_encoder, find_folder
from modelserver.systems.contextual import Encoder
from modelserver.training.options import Count, EncoderRate, Hub, Whole, options_of_command

NEW = re.compile(r"new:([1-9]\d{0,4})x([1-9]\d{0,2})(-rotary)?")
HEAD = 32  # hidden size of an attention head of a new encoder
RATE, NEW_RATE = 3e-5, 5e-4  # learning rate of a pretrained encoder (Devlin et al. 2019), and of a new one
_WORDS = Group(validator=mutually_exclusive)
WITH_ENCODER, WITH_WORD_VECTORS = only_with("--encoder"), only_with("--word-vectors")


def check_encoder(_: type, name: str | None) -> None:
    """Refuse a malformed name of a new encoder.

    Raises:
        ValueError: It begins with new: but no sizes follow.
    """
    if name is not None and name.startswith("new:") and not NEW.fullmatch(name):
        raise ValueError("a new encoder is new:HIDDENxLAYERS, such as new:128x2 or new:128x2-rotary")


EncoderName = Annotated[str, Parameter(validator=check_encoder)]


@options_of_command
class EncoderOptions(Hub):
    """The encoder or word vectors to start from.

    Attributes:
        encoder: Contextual encoder instead of word embeddings: folder of a
            Hugging Face model, an id of the hub (with --allow-hub), or
            new:HIDDENxLAYERS[-rotary].
        word_vectors: File of fixed word vectors in the form of GloVe.
        encoder_rate: Learning rate of the encoder; 3e-5, or 5e-4 for a new
            one, by default.
        vocabulary_size: Word pieces of a new encoder's tokenizer, at most.
        most_vectors: Lines of --word-vectors kept for words that the data
            does not hold.
    """

    encoder: Annotated[EncoderName | None, Parameter(group=(_WORDS, WITH_ENCODER))] = None
    word_vectors: Annotated[Path | None, Parameter(group=(_WORDS, WITH_WORD_VECTORS))] = None
    encoder_rate: Annotated[EncoderRate | None, Parameter(group=WITH_ENCODER)] = None
    vocabulary_size: Annotated[Count, Parameter(group=WITH_ENCODER)] = 8000
    most_vectors: Annotated[Whole, Parameter(group=WITH_WORD_VECTORS)] = 50_000

    def open_encoder(self, texts: Iterable[str]) -> Encoder | None:
        """Return the encoder to start from, None without one.

        A new encoder has a tokenizer made from ``texts``, and weights from
        torch's generator.

        Raises:
            UnreadableWeights: The encoder cannot be read.
        """
        if self.encoder is None:
            return None
        return open_named(self.encoder, texts, self.vocabulary_size, allow_hub=self.allow_hub)

    def learning_rate(self) -> float | None:
        """Return the learning rate of the encoder, None without one."""
        if self.encoder is None:
            return None
        return self.encoder_rate or (NEW_RATE if NEW.fullmatch(self.encoder) else RATE)


def open_reader_model(
    name: str, texts: Iterable[str], vocabulary_size: int, *, allow_hub: bool, device: torch.device
) -> tuple[transformers.PreTrainedModel, transformers.PreTrainedTokenizerBase]:
    """Return the model and tokenizer that a name stands for.

    Args:
        name: Folder, id of the hub, or new:HIDDENxLAYERS[-rotary].
        texts: A new tokenizer is made from them.
        vocabulary_size: Word pieces of a new tokenizer, at most.
        allow_hub: Download what is not a folder.
        device: Device of the model.

    Raises:
        UnreadableWeights: The encoder cannot be read.
    """
    if sizes := NEW.fullmatch(name):
        hidden, layers = int(sizes[1]), int(sizes[2])
        return create_encoder(
            texts, device, hidden=hidden, layers=layers, heads=max(1, hidden // HEAD), pieces=vocabulary_size,
            rotary=bool(sizes[3]),
        )  # fmt: skip
    return encoders.open_encoder(find_folder(name, allow_hub=allow_hub), device, trained=False)


def open_named(
    name: str, texts: Iterable[str], vocabulary_size: int, *, allow_hub: bool, dropout: bool = True
) -> Encoder:
    """Return the named encoder without its head, on the CPU.

    Takes what `open_reader_model` takes, and raises as it does. Without
    ``dropout`` a new encoder learns without it.
    """
    device = torch.device("cpu")
    model, tokenizer = open_reader_model(name, texts, vocabulary_size, allow_hub=allow_hub, device=device)
    if not dropout and NEW.fullmatch(name):
        for part in model.modules():
            if isinstance(part, nn.Dropout):
                part.p = 0.0
        for rate in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            setattr(model.config, rate, 0.0)
    return Encoder(extract_encoder(model, name), tokenizer)

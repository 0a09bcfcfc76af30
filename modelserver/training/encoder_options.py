"""The arguments that name an encoder for the recurrent readers to start from, and the encoder they name."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import torch

from modelserver.inputs import encoders
from modelserver.inputs.encoders import find_folder, new_encoder, without_head
from modelserver.systems.contextual import Encoder
from modelserver.training.extractive import HEAD, NEW

RATE, NEW_RATE = 3e-5, 5e-4  # learning rate of a pretrained encoder, and of a new one
PIECES = 8000  # of a new tokenizer


def add_arguments(parser: argparse.ArgumentParser, exclusive: Any) -> None:
    """Declare the arguments; ``exclusive`` is a group of ``parser`` of which one argument may be given."""
    exclusive.add_argument(
        "--encoder",
        type=_encoder,
        help="in the place of words' vectors: folder of a Hugging Face model, an id of the hub (with "
        "--allow-hub), or new:HIDDENxLAYERS (default: none)",
    )
    text = f"the encoder's learning rate (default: {RATE:g}, of a new one {NEW_RATE:g})"
    parser.add_argument("--encoder-rate", type=_rate, help=text)
    text = "fetch the encoder from the hub where it is no folder"
    parser.add_argument("--allow-hub", action="store_true", help=text)
    text = "pieces of a new encoder's tokenizer, at most (default: %(default)s)"
    parser.add_argument("--pieces", type=int, default=PIECES, help=text)


def _encoder(text: str) -> str:
    if text.startswith("new:") and not NEW.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: a new encoder is new:HIDDENxLAYERS, such as new:128x2")
    return text


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1")
    return rate


def open_encoder(options: argparse.Namespace, texts: Iterable[str]) -> Encoder | None:
    """Return the encoder that the arguments name, a new one with a tokenizer made from ``texts``, or None.

    A new encoder's weights come from torch's generator. Raises UnreadableWeights.
    """
    if options.encoder is None:
        return None
    if new := NEW.fullmatch(options.encoder):
        hidden, layers = int(new[1]), int(new[2])
        model, tokenizer = new_encoder(
            texts,
            torch.device("cpu"),
            hidden=hidden,
            layers=layers,
            heads=max(1, hidden // HEAD),
            pieces=options.pieces,
        )
    else:
        folder = find_folder(options.encoder, allow_hub=options.allow_hub)
        model, tokenizer = encoders.open_encoder(folder, torch.device("cpu"), trained=False)
    return Encoder(without_head(model, options.encoder), tokenizer)


def learning_rate(options: argparse.Namespace) -> float | None:
    """Return the learning rate of the encoder that the arguments name, None without one."""
    if options.encoder is None:
        return None
    return options.encoder_rate or (NEW_RATE if NEW.fullmatch(options.encoder) else RATE)

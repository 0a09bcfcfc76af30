"""The table of systems that this package carries, and how one is loaded by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import torch

from modelserver.modular.text import system as text_nmn
from modelserver.modular.visual import system as visual
from modelserver.systems import extractive, heuristic, reader
from modelserver.systems.base import ModularSystem, System
from modelserver.wire.errors import InvalidRequest, UnknownSystem
from modelserver.wire.schema import SystemKind

WEIGHTS = Path(__file__).resolve().parent / "weights"


@dataclass(frozen=True)
class SystemSpec:
    """A system by name. ``load`` takes a weights folder (None: the shipped one) and a device.

    It returns a System where ``kind`` is "reader", a ModularSystem where it is "modular".
    """

    name: str
    description: str
    load: Callable[[Path | None, torch.device], System | ModularSystem]
    kind: SystemKind = "reader"


def _recurrent(name: str, description: str) -> SystemSpec:
    def load(weights: Path | None, device: torch.device) -> System:
        return reader.load(weights or WEIGHTS / name, device, name=name, description=description)

    return SystemSpec(name, description, load)


def _heuristic(name: str, description: str) -> SystemSpec:
    def load(weights: Path | None, device: torch.device) -> System:
        return heuristic.load(weights or WEIGHTS / name, device, name=name, description=description)

    return SystemSpec(name, description, load)


def _extractive(name: str, description: str) -> SystemSpec:
    return SystemSpec(name, description, partial(extractive.load, name=name, description=description))


def _visual(name: str, description: str) -> SystemSpec:
    def load(weights: Path | None, device: torch.device) -> ModularSystem:
        return visual.load(weights or WEIGHTS / name, device, name=name, description=description)

    return SystemSpec(name, description, load, kind="modular")


def _text(name: str, description: str) -> SystemSpec:
    def load(weights: Path | None, device: torch.device) -> ModularSystem:
        return text_nmn.load(weights or WEIGHTS / name, device, name=name, description=description)

    return SystemSpec(name, description, load, "modular")


def _encoder(name: str, description: str) -> SystemSpec:
    def load(weights: Path | None, device: torch.device) -> System:
        return extractive.load(weights or WEIGHTS / name, device, name=name, description=description)

    return SystemSpec(name, description, load)


# Weights of `extractive-qa` that are shipped; `train extractive-qa` makes others.
ENCODERS = ("encoder-small", "encoder-mini")


SYSTEMS: dict[str, SystemSpec] = {
    spec.name: spec
    for spec in (
        _recurrent("qi2019", "BiDAF++ with joint fact and answer heads over one shared encoding"),
        _recurrent("select-and-forget", "Selects facts, then answers from the selected facts alone"),
        _recurrent("qi2019-reg", "qi2019, trained with the answer-fact coupling regulariser"),
        _recurrent("select-and-forget-reg", "select-and-forget, trained with the same regulariser"),
        _heuristic("heuristic", "Takes the first mention of the expected type in the closest sentence"),
        _visual("visual-nmn", "Modular network over LXMERT: executes a program over one or two images"),
        _visual("lxmert", "End-to-end baseline: judges a sentence about one or two images"),
        _encoder("encoder-small", "extractive-qa on a new encoder of 2 layers of 64"),
        _encoder("encoder-mini", "extractive-qa on a new encoder of 2 layers of 32"),
        _extractive("extractive-qa", "Marks an answer's start and end with any Hugging Face encoder"),
        _text("text-nmn", "Writes a program for a question and executes it over the words of a passage"),
    )
}


def load_system(name: str, *, weights: Path | None = None, device: str | torch.device = "cpu") -> System:
    """Return the named reader, ready to predict.

    Raises UnknownSystem for a name not in SYSTEMS, InvalidRequest for a modular network and
    UnreadableWeights for a damaged weights folder.
    """
    if _spec(name).kind != "reader":
        raise InvalidRequest(f"{name} is a modular network, which executes programs and answers no questions")
    return cast(System, _spec(name).load(weights, torch.device(device)))


def load_modular_system(
    name: str, *, weights: Path | None = None, device: str | torch.device = "cpu"
) -> ModularSystem:
    """Return the named modular network, ready to execute. Raises as `load_system` does."""
    if _spec(name).kind != "modular":
        raise InvalidRequest(f"{name} is a reader, which executes no programs")
    return cast(ModularSystem, _spec(name).load(weights, torch.device(device)))


def _spec(name: str) -> SystemSpec:
    if name not in SYSTEMS:
        raise UnknownSystem(f"no system {name!r}; known systems: {', '.join(SYSTEMS)}")
    return SYSTEMS[name]

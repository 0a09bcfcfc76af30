"""The table of systems that this package ships, and loading one by name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import cast

import torch

from modelserver.modular.text import system as text_nmn
from modelserver.modular.visual import system as visual
from modelserver.systems import extractive, heuristic, reader
from modelserver.systems.language import causal, chat
from modelserver.wire.errors import InvalidRequest, UnknownSystem
from modelserver.wire.schema import ProgramKind, SystemKind
from modelserver.wire.system_protocol import Executor, Predictor, Served

MODULAR: dict[Callable[..., Served], ProgramKind] = {
    visual.load: "boxes",
    text_nmn.load: "spans",
}
SPAN_READERS: tuple[Callable[..., Predictor], ...] = (reader.load, heuristic.load, extractive.load)
WEIGHTS = Path(__file__).resolve().parent / "weights"


@dataclass(frozen=True)
class SystemSpec:
    """A system of this package.

    Attributes:
        name: As people type it.
        description: One line for lists.
        load: Takes a weights folder (None: the shipped one) and a device, and
            returns a Predictor if the kind is "reader", else an Executor.
        kind: Reader or modular network.
        programs: The kind of programs that a modular network executes.
        spans_only: The reader answers with words of the articles, yes or no, and chooses no labels.
    """

    name: str
    description: str
    load: Callable[[Path | None, torch.device], Served]
    kind: SystemKind = "reader"
    programs: ProgramKind | None = None
    spans_only: bool = False


def _make_spec(
    name: str, description: str, load: Callable[..., Served], *, is_shipped: bool = True
) -> SystemSpec:
    shipped = WEIGHTS / name if is_shipped else None

    def open_system(weights: Path | None, device: torch.device) -> Served:
        return load(weights or shipped, device, name=name, description=description)

    kind: SystemKind = "modular" if load in MODULAR else "reader"
    return SystemSpec(name, description, open_system, kind, MODULAR.get(load), load in SPAN_READERS)


SYSTEMS: dict[str, SystemSpec] = {
    spec.name: spec
    for spec in (
        _make_spec(
            "qi2019", "BiDAF++ with joint fact and answer heads over one shared encoding", reader.load
        ),
        _make_spec(
            "select-and-forget", "Selects facts, then answers from the selected facts alone", reader.load
        ),
        _make_spec("qi2019-reg", "qi2019, trained with the answer-fact coupling regulariser", reader.load),
        _make_spec(
            "select-and-forget-reg", "select-and-forget, trained with the same regulariser", reader.load
        ),
        _make_spec(
            "heuristic",
            "Takes the first mention of the expected type in the closest sentence",
            heuristic.load,
        ),
        _make_spec(
            "visual-nmn",
            "Modular network over image regions: executes a program over one or two images",
            visual.load,
        ),
        _make_spec("lxmert", "End-to-end baseline: judges a sentence about one or two images", visual.load),
        _make_spec("encoder-small", "extractive-qa on a new encoder of 2 layers of 64", extractive.load),
        _make_spec("encoder-mini", "extractive-qa on a new encoder of 2 layers of 48", extractive.load),
        _make_spec(
            "extractive-qa",
            "Marks an answer's start and end with any Hugging Face encoder",
            extractive.load,
            is_shipped=False,
        ),
        _make_spec(
            "chat",
            "Asks a language model behind an OpenAI-compatible server, as a YAML file says",
            chat.load,
            is_shipped=False,
        ),
        _make_spec(
            "causal-lm",
            "Answers with a causal language model of Hugging Face in a local folder",
            causal.load,
            is_shipped=False,
        ),
        _make_spec(
            "world-lm",
            "Small causal language model: quotes sentences, cites them by number, then answers",
            causal.load,
        ),
        _make_spec(
            "world-lm-answer-first", "world-lm, but it answers before it quotes and cites", causal.load
        ),
        _make_spec(
            "text-nmn",
            "Writes a program for a question and executes it over the words of a passage",
            text_nmn.load,
        ),
    )
}


def load_system(name: str, *, weights: Path | None = None, device: str | torch.device = "cpu") -> Predictor:
    """Return the named reader, ready to predict.

    Args:
        name: One of SYSTEMS.
        weights: Folder of weights; the shipped one by default.
        device: Device of its weights.

    Raises:
        UnknownSystem: The name is not in SYSTEMS.
        InvalidRequest: It is a modular network.
        UnreadableWeights: The weights folder is damaged.
    """
    if _find_spec(name).kind != "reader":
        raise InvalidRequest(f"{name} is a modular network, which executes programs and answers no questions")
    return cast(Predictor, _find_spec(name).load(weights, torch.device(device)))


def load_modular_system(
    name: str, *, weights: Path | None = None, device: str | torch.device = "cpu"
) -> Executor:
    """Return the named modular network; takes and raises as `load_system`."""
    if _find_spec(name).kind != "modular":
        raise InvalidRequest(f"{name} is a reader, which executes no programs")
    return cast(Executor, _find_spec(name).load(weights, torch.device(device)))


def _find_spec(name: str) -> SystemSpec:
    if name not in SYSTEMS:
        raise UnknownSystem(f"no system {name!r}; known systems: {', '.join(SYSTEMS)}")
    return SYSTEMS[name]


def list_systems(*, json: bool = False) -> None:
    """List the systems, and which have shipped weights.

    Args:
        json: Print a JSON list instead of a table.
    """
    systems = [
        {"name": name, "weights": (WEIGHTS / name).is_dir(), "description": spec.description}
        for name, spec in SYSTEMS.items()
    ]
    if json:
        sys.stdout.write(dumps(systems, indent=2) + "\n")
        return
    width = max(map(len, SYSTEMS))
    sys.stdout.write(f"{'SYSTEM':<{width}}  WEIGHTS  DESCRIPTION\n")
    for system in systems:
        weights = "shipped" if system["weights"] else "none"
        sys.stdout.write(f"{system['name']:<{width}}  {weights:<7}  {system['description']}\n")

"""From what the command line names to what the server loads: folders, devices, half precision."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import torch
from transformers import PreTrainedModel

from modelserver.asking import Executor, Explainer, Outcome, Predictor, Served, explainer, kind_of
from modelserver.batching import thread_number
from modelserver.choices import Carried, Choice, Own, Remote
from modelserver.errors import LoadFailed, UnknownSystem, UnreadableWeights
from modelserver.schema import Explanation, ModuleItem, QAItem, SaliencyOptions
from modelserver.shelf import Source, weight_bytes
from modelserver.systems import SYSTEMS, WEIGHTS, own
from modelserver.systems.remote import RemoteSystem

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Hardware:
    """What systems run on: a copy of each on every device.

    ``half`` computes in bfloat16 where torch holds that safe; the weights stay as they are, and since the
    answers do not, the revision says so. ``compiled``
    translates encoders for the device. ``remote_seconds`` bounds a wait for a server elsewhere.
    """

    devices: tuple[str, ...] = ("cpu",)
    half: bool = False
    compiled: bool = False
    remote_seconds: float = 60.0


S = TypeVar("S", Predictor, Executor)


class _OnDevices(Generic[S]):
    """A system under the name it is served by, with a copy on every device.

    Each model thread asks the copy of its own device: the thread's number modulo the number of copies.
    """

    def __init__(self, name: str, copies: Sequence[S], hardware: Hardware) -> None:
        self._first: S = copies[0]
        self.name, self.description = name, self._first.description
        self.revision = f"{self._first.revision}-bf16" if hardware.half else self._first.revision
        self.copies: tuple[S, ...] = tuple(copies)
        self.weight_bytes = weight_bytes(self._first)  # on each device
        self._hardware = hardware

    @contextlib.contextmanager
    def _here(self) -> Iterator[S]:
        """Give the copy on the device of this thread, in the precision asked for."""
        number = thread_number() % len(self.copies)
        with in_half(self._hardware.devices[number]) if self._hardware.half else contextlib.nullcontext():
            yield self.copies[number]


class Copies(_OnDevices[Predictor]):
    """A reader on every device."""

    def cost(self, item: QAItem) -> int:
        """As the system says."""
        return self._first.cost(item)

    def check(self, item: QAItem) -> None:
        """As the system does."""
        self._first.check(item)

    def predict(self, items: Sequence[QAItem]) -> Sequence[Outcome]:
        """Predict on the device of this thread."""
        with self._here() as copy:
            return copy.predict(items)

    @property
    def explain(self) -> Explainer | None:
        """Return what gives the saliency of items, or None where the system has none."""
        return None if explainer(self._first) is None else self._explain

    def _explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation]:
        with self._here() as copy:
            explain = explainer(copy)
            assert explain is not None  # they are copies of one system
            return [one.model_copy(update={"revision": self.revision}) for one in explain(items, options)]


class ModularCopies(_OnDevices[Executor]):
    """A modular network on every device."""

    def __init__(self, name: str, copies: Sequence[Executor], hardware: Hardware) -> None:
        super().__init__(name, copies, hardware)
        self.warm_up = self._first.warm_up

    def cost(self, item: ModuleItem) -> int:
        """As the system says."""
        return self._first.cost(item)

    def check(self, item: ModuleItem) -> None:
        """As the system does."""
        self._first.check(item)

    def execute(self, items: Sequence[ModuleItem]) -> Sequence[Outcome]:
        """Execute on the device of this thread."""
        with self._here() as copy:
            return copy.execute(items)


def in_half(device: str) -> torch.autocast:
    """Return a context in which torch computes in bfloat16.

    Not in float16: its largest number is 65,504, and the logit of probability 0 lies far beyond.
    """
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16)


def sources(chosen: Sequence[Choice] | None, hardware: Hardware) -> dict[str, Source]:
    """Return how to load each chosen system; None chooses all with shipped weights.

    Raises UnknownSystem for a name that is none, UnreadableWeights when nothing is left to serve, and
    LoadFailed for a device that is not there.
    """
    if chosen is None:
        chosen = [Carried(name, name) for name in SYSTEMS if (WEIGHTS / name).is_dir()]
    if not chosen:
        raise UnreadableWeights("nothing to serve: train a system, or name one with --systems NAME=FOLDER")
    for device in hardware.devices:
        _require_device(device)
    return {choice.name: _source(choice, hardware) for choice in chosen}


def _require_device(device: str) -> None:
    try:
        torch.empty(0, device=torch.device(device))
    except (AssertionError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise LoadFailed(f"the device {device!r} cannot be used: {reason}") from error


def _source(choice: Choice, hardware: Hardware) -> Source:
    match choice:
        case Carried(name, system, folder):
            return _carried(name, system, folder, hardware)
        case Own(name, file, class_name):
            make = partial(own.load, file, class_name, name=name)
            return Source(partial(_copies, name, make, hardware))
        case Remote(name, url, revision):
            load = partial(RemoteSystem, url, name=name, revision=revision, timeout=hardware.remote_seconds)
            return Source(load, elsewhere=True)


def _carried(name: str, system: str, folder: Path | None, hardware: Hardware) -> Source:
    if system not in SYSTEMS:
        renamed = folder is not None and system == name
        hint = f"; for one of these under a name of its own, write {name}=SYSTEM:{folder}" if renamed else ""
        raise UnknownSystem(f"no system {system!r}; known systems: {', '.join(SYSTEMS)}{hint}")
    spec = SYSTEMS[system]

    def make(device: str) -> Served:
        return spec.load(folder, torch.device(device))

    expect = partial(expected_bytes, folder or WEIGHTS / system)
    return Source(partial(_copies, name, make, hardware), spec.description, expect, kind=spec.kind)


def _copies(name: str, make: Callable[[str], Served], hardware: Hardware) -> Served:
    copies = [make(device) for device in hardware.devices]
    if hardware.compiled:
        for copy in copies:
            _compile(name, copy)
    if kind_of(copies[0]) == "modular":
        return ModularCopies(name, cast(Sequence[Executor], copies), hardware)
    return Copies(name, cast(Sequence[Predictor], copies), hardware)


def _compile(name: str, system: Any) -> None:
    """Have torch translate the system's encoders when they are first called, for inputs of any length.

    Not the recurrent layers: a loop over tokens is translated step by step, and for each length anew.
    """
    model = getattr(system, "model", None)
    modules = model.modules() if isinstance(model, torch.nn.Module) else ()
    encoders = [module for module in modules if isinstance(module, PreTrainedModel)]
    for encoder in encoders[:1]:  # the others are parts of it
        encoder.compile(dynamic=True)
    if not encoders:
        fields = {"system": name, "reason": "it has no encoder of transformers"}
        logger.warning("not compiled", extra={"fields": fields})


def expected_bytes(folder: Path) -> int:
    """Return the bytes that a folder's safetensors files take when loaded as 32-bit floats.

    The number comes from the head of each file, which lists the shapes; a file that has none counts 0, for
    loading it will say what is wrong.
    """
    return sum(map(_float_bytes, folder.glob("*.safetensors")))


def _float_bytes(file: Path) -> int:
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            head = json.loads(stream.read(min(length, 100_000_000)))
        return sum(4 * math.prod(one["shape"]) for key, one in head.items() if key != "__metadata__")
    except (OSError, ValueError, struct.error, KeyError, TypeError, AttributeError):
        return 0

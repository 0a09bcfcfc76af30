"""Load systems in a worker: from command line names to weights on devices."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import struct
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import torch
import transformers

from modelserver.inputs.devices import check_device
from modelserver.registry import SYSTEMS, WEIGHTS
from modelserver.serving.devices import Hardware
from modelserver.serving.model_cache import AvailableSystem, Source
from modelserver.serving.system_spec import ClassSpec, LocalSpec, ShippedSpec
from modelserver.systems import own
from modelserver.systems.base import count_weight_bytes
from modelserver.wire.errors import LoadFailed, UnknownSystem, UnreadableWeights
from modelserver.wire.schema import Explanation, LanguageModel, ModuleItem, QAItem, SaliencyOptions
from modelserver.wire.system_protocol import (
    Executor,
    Explainer,
    Outcome,
    Predictor,
    Served,
    find_explainer,
    find_kind,
)

logger = logging.getLogger(__name__)


S = TypeVar("S", Predictor, Executor)


class _Served(Generic[S]):
    """A system under its served name, computing in the requested precision."""

    def __init__(self, name: str, inner: S, hardware: Hardware) -> None:
        self.name, self.description = name, inner.description
        self.revision = f"{inner.revision}-bf16" if hardware.half else inner.revision
        self.weight_bytes = count_weight_bytes(inner)
        self.examiner: object = getattr(inner, "examiner", None)
        self.language_model: LanguageModel | None = getattr(inner, "language_model", None)
        self._inner: S = inner
        self._hardware = hardware
        self.cost: Callable[[Any], int] = inner.cost
        self.check: Callable[[Any], None] = inner.check

    def _precision(self) -> contextlib.AbstractContextManager[object]:
        return use_half_precision(self._hardware.device) if self._hardware.half else contextlib.nullcontext()


class ServedReader(_Served[Predictor]):
    """A reader."""

    def predict(self, items: Sequence[QAItem]) -> Sequence[Outcome]:
        """Predict as the system does."""
        with self._precision():
            return self._inner.predict(items)

    @property
    def explain(self) -> Explainer | None:
        """Return the function that gives saliency, or None if there is none."""
        return None if find_explainer(self._inner) is None else self._explain

    def _explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation]:
        explain = find_explainer(self._inner)
        assert explain is not None  # `explain` gives this method only then
        with self._precision():
            return [
                explanation.model_copy(update={"revision": self.revision})
                for explanation in explain(items, options)
            ]


class ServedNetwork(_Served[Executor]):
    """A modular network."""

    def __init__(self, name: str, inner: Executor, hardware: Hardware) -> None:
        super().__init__(name, inner, hardware)
        self.warm_up = inner.warm_up

    def execute(self, items: Sequence[ModuleItem]) -> Sequence[Outcome]:
        """Execute as the system does."""
        with self._precision():
            return self._inner.execute(items)


def use_half_precision(device: str) -> torch.autocast:
    """Return a context in which torch computes in bfloat16.

    Not in float16: its largest number is 65,504, and the logit of probability 0 lies far beyond.
    """
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16)


def list_sources(chosen: Sequence[LocalSpec] | None, hardware: Hardware) -> dict[str, Source]:
    """Return how to load each chosen system; None chooses all shipped ones.

    Raises UnknownSystem for an unknown name, UnreadableWeights if nothing is left to serve, and
    LoadFailed for a device that is not there.
    """
    if chosen is None:
        chosen = [ShippedSpec(name, name) for name in SYSTEMS if (WEIGHTS / name).is_dir()]
        if not chosen:
            raise UnreadableWeights("nothing to serve: train a system, or name one: --systems NAME=FOLDER")
    _require_device(hardware.device)
    return {choice.name: _make_source(choice, hardware) for choice in chosen}


def _require_device(device: str) -> None:
    try:
        check_device(str, device)
    except ValueError as error:
        raise LoadFailed(f"the device {device!r} cannot be used. {error}") from error


def _make_source(choice: LocalSpec, hardware: Hardware) -> Source:
    if isinstance(choice, ClassSpec):
        make = partial(own.load, choice.file, choice.class_name, hardware.device, name=choice.name)
        return Source(partial(_load_served, choice.name, make, hardware))
    return _make_shipped_source(choice.name, choice.system, choice.folder, hardware)


def _make_shipped_source(name: str, system: str, folder: Path | None, hardware: Hardware) -> Source:
    if system not in SYSTEMS:
        renamed = folder is not None and system == name
        hint = f"; for one of these under a name of its own, write {name}=SYSTEM:{folder}" if renamed else ""
        raise UnknownSystem(f"no system {system!r}; known systems: {', '.join(SYSTEMS)}{hint}")
    spec = SYSTEMS[system]
    make = partial(spec.load, folder, torch.device(hardware.device))
    expected = estimate_bytes(folder or WEIGHTS / system)
    about = AvailableSystem(spec.description, expected, spec.kind, spec.programs, spec.spans_only)
    return Source(partial(_load_served, name, make, hardware), about)


def _load_served(name: str, make: Callable[[], Served], hardware: Hardware) -> Served:
    system = make()
    if hardware.compiled:
        _compile(name, system)
    if find_kind(system) == "modular":
        return ServedNetwork(name, cast(Executor, system), hardware)
    return ServedReader(name, cast(Predictor, system), hardware)


def _compile(name: str, system: Any) -> None:
    """Compile the system's encoders with torch, for inputs of any length.

    Compilation happens at the first call. Recurrent layers are left out: torch would compile a loop over
    tokens step by step, and again for each length.
    """
    model = getattr(system, "model", None)
    modules = model.modules() if isinstance(model, torch.nn.Module) else ()
    encoders = [module for module in modules if isinstance(module, transformers.PreTrainedModel)]
    for encoder in encoders[:1]:  # the others are parts of it
        encoder.compile(dynamic=True)
    if not encoders:
        fields = {"system": name, "reason": "it has no encoder of transformers"}
        logger.warning("not compiled", extra={"fields": fields})


def estimate_bytes(folder: Path) -> int:
    """Return the bytes of a folder's safetensors files as 32-bit floats.

    The number comes from the header of each file, which lists the shapes. A file without one counts 0,
    because loading it reports the problem.
    """
    return sum(map(_count_float_bytes, folder.glob("*.safetensors")))


def _count_float_bytes(file: Path) -> int:
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            head = json.loads(stream.read(min(length, 100_000_000)))
        return sum(4 * math.prod(entry["shape"]) for key, entry in head.items() if key != "__metadata__")
    except (OSError, ValueError, struct.error, KeyError, TypeError, AttributeError):
        return 0

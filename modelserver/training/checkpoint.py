"""Checkpoints: the state of an unfinished training on disk.

A run that continues from one ends with the same weights as an uninterrupted
run; on a CPU they are the same to the bit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from modelserver.wire.errors import UnreadableData

Rows = list[dict[str, float | None]]


def write(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, rows: Rows, settings: Mapping[str, Any]
) -> None:
    """Write a checkpoint. The file appears whole or not at all.

    Args:
        path: File to write.
        model: Its parameters and buffers are stored.
        optimiser: Its moments are stored, not its learning rates.
        rows: The log up to here.
        settings: Values that a continued run must share, as JSON.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": tensor for name, tensor in state.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_initialized():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    part = path.with_name(path.name + ".part")
    save_file(
        # Copies: safetensors refuses tensors that share memory, as tied weights do.
        {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()},
        part,
        {"rows": json.dumps(rows), "settings": json.dumps(settings)},
    )
    part.replace(path)


@dataclass(frozen=True)
class State:
    """A checkpoint in memory: the log rows up to it and its tensors."""

    rows: Rows
    tensors: Mapping[str, Tensor]

    def load(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        """Restore the model, the optimiser and torch's random numbers."""
        model.load_state_dict(_select_by_prefix(self.tensors, "model."))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _select_by_prefix(self.tensors, "optimiser.").items():
            number, _, key = name.partition(".")
            moments.setdefault(int(number), {})[key] = tensor
        optimiser.load_state_dict(optimiser.state_dict() | {"state": moments})
        torch.set_rng_state(self.tensors["random.cpu"])
        if "random.cuda" in self.tensors and torch.cuda.is_initialized():
            torch.cuda.set_rng_state(self.tensors["random.cuda"])


def read(path: Path, settings: Mapping[str, Any]) -> State:
    """Read a checkpoint.

    Args:
        path: File that `write` wrote.
        settings: Those of the run that is to continue.

    Raises:
        UnreadableData: The file is damaged, or was written under other
            settings, which the message names.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        then, rows = json.loads(metadata["settings"]), json.loads(metadata["rows"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UnreadableData(f"{path}: not the state of a training: {error}") from error
    require_same(path, then, settings)
    return State(rows, tensors)


def require_same(path: Path, then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise UnreadableData naming the settings in which a run differs now.

    ``then`` was read from ``path``, as JSON.
    """
    now = json.loads(json.dumps(now))
    if differing := sorted(key for key in {*now, *then} if now.get(key) != then.get(key)):
        raise UnreadableData(
            f"{path}: this training was begun with another {', '.join(differing)}; "
            "use the same, name another folder, or add --overwrite to start again"
        )


def _select_by_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}

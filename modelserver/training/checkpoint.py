"""The state of a training on disk, from which it goes on after a kill as if nothing had happened."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    """Write model, optimiser, random numbers, log rows and settings; the file appears whole or not at all."""
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


def read(path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, settings: Mapping[str, Any]) -> Rows:
    """Put everything back as it was written and return the log rows.

    Raises UnreadableData for a damaged file, and for one written under other settings, which it names.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        then, rows = json.loads(metadata["settings"]), json.loads(metadata["rows"])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UnreadableData(f"{path}: not the state of a training: {error}") from error
    now = json.loads(json.dumps(settings))
    if differing := sorted(key for key in now | then if now.get(key) != then.get(key)):
        raise UnreadableData(f"{path}: this training was begun with another {', '.join(differing)}")
    model.load_state_dict(_below(tensors, "model."))
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in _below(tensors, "optimiser.").items():
        number, _, key = name.partition(".")
        moments.setdefault(int(number), {})[key] = tensor
    optimiser.load_state_dict(optimiser.state_dict() | {"state": moments})
    torch.set_rng_state(tensors["random.cpu"])
    if "random.cuda" in tensors and torch.cuda.is_initialized():
        torch.cuda.set_rng_state(tensors["random.cuda"])
    return rows


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}

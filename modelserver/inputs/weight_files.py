"""Read and write files of weights folders; errors name the file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from analysis.io.errors import describe_os_error
from modelserver.wire.errors import UnreadableWeights

LONGEST_MESSAGE = 300  # characters of a library's message


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Turn any error of reading a file into UnreadableWeights with its path."""
    try:
        yield
    except (OSError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        raise UnreadableWeights(f"{path}: {describe_error(error)}") from error


def describe_error(error: Exception) -> str:
    """Return the message of any library in one line.

    That is its first line, and the rest of it if that line only announces what follows.
    """
    if isinstance(error, OSError):
        return describe_os_error(error)
    if isinstance(error, KeyError):
        return f"{error} is missing"
    first, _, rest = str(error).strip().partition("\n")
    message = f"{first} {rest}" if first.rstrip().endswith(":") else first
    return textwrap.shorten(message, LONGEST_MESSAGE, placeholder=" …") or type(error).__name__


def require_system(described: Any, *systems: str) -> None:
    """Check that the weights beside a configuration are of one of the systems.

    Args:
        described: Content of config.json.
        systems: Names of those that can be read.

    Raises:
        ValueError: It is of another system, or of none.
    """
    values = described if isinstance(described, dict) else {}
    if values.get("system") in systems:
        return
    expected = " or ".join(systems)
    if "system" in values:
        raise ValueError(f"the folder holds weights of {values['system']}, not of {expected}")
    if "model_type" in values:
        raise ValueError(
            f"the folder holds a model of transformers ({values['model_type']}), not weights of {expected}"
        )
    raise ValueError(f"it names no system, so the folder holds no weights of {expected}")


def serialise_half_weights(model: nn.Module) -> bytes:
    """Return the content of a safetensors file with 16-bit floats."""
    return save(
        {
            name: (tensor.half() if tensor.is_floating_point() else tensor).detach().cpu().contiguous()
            for name, tensor in model.state_dict().items()
        }
    )


def load_half_weights(model: nn.Module, path: Path) -> None:
    """Load what `serialise_half_weights` gave, as 32-bit floats.

    Raises ValueError for numbers that are not finite.
    """
    weights = load_file(path)
    model.load_state_dict({k: t.float() if t.is_floating_point() else t for k, t in weights.items()})
    require_finite(model)


def load_weights(model: nn.Module, path: Path) -> None:
    """Load a safetensors file as it is; raises as `load_half_weights` does."""
    model.load_state_dict(load_file(path))
    require_finite(model)


def require_finite(model: nn.Module) -> None:
    """Raise ValueError, naming the tensor, for a weight that is not finite."""
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ValueError(f"{name}: {int((~torch.isfinite(tensor)).sum())} of its numbers are not finite")

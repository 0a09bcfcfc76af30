"""Read and write files of weights folders; errors name the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from modelserver.wire.errors import UnreadableWeights


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Turn any error of reading a file into UnreadableWeights with its path."""
    try:
        yield
    except OSError as error:
        raise UnreadableWeights(f"{path}: {error.strerror or error}") from error
    except (KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        raise UnreadableWeights(f"{path}: {error}") from error


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

"""The command ``convert``: a model's pickled weights as safetensors."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from modelserver.inputs.encoders import READ_FILES, WEIGHTS, find_folder, name_source_in_errors, stage_files
from modelserver.wire.errors import UnreadableWeights

PICKLE, INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
SHARDS = "pytorch_model-*.bin"


def convert(source: str, /, *, out: Path, allow_hub: bool = False) -> None:
    """Convert a model's pickled weights to safetensors, running no code.

    The tensors of pytorch_model.bin, or of its parts, become
    model.safetensors; configuration and tokenizer are copied. A pickle that
    holds anything but tensors by name is rejected.

    Args:
        source: Folder of a Hugging Face model, or with --allow-hub its id.
        out: Folder to write; it must not hold model.safetensors.
        allow_hub: Download the model from the hub if it is not a folder.

    Raises:
        UnreadableWeights: There is no such file, or it holds something else.
    """
    if (out / WEIGHTS).exists():
        raise UnreadableWeights(f"{out}: holds {WEIGHTS} already; name a new folder with --out")
    folder = find_folder(source, allow_hub=allow_hub, further=(PICKLE, INDEX, SHARDS))
    tensors = {name: tensor for path in _find_pickles(folder) for name, tensor in _read_tensors(path).items()}
    with name_source_in_errors(out), stage_files(out, last=WEIGHTS) as part:
        for path in sorted({path for pattern in READ_FILES for path in folder.glob(pattern)}):
            if "safetensors" not in path.name:
                shutil.copyfile(path, part / path.name)
        save_file(dict(_separate(tensors)), part / WEIGHTS, metadata={"format": "pt"})
        (part / WEIGHTS).chmod(0o644)  # it comes for its owner alone
    sys.stderr.write(f"{out / WEIGHTS}: {len(tensors)} tensors of {folder}\n")


def _find_pickles(folder: Path) -> list[Path]:
    """Return the pickles of a folder's model."""
    if (folder / WEIGHTS).exists():
        raise UnreadableWeights(f"{folder}: holds {WEIGHTS}, so there is nothing to convert")
    if (folder / PICKLE).exists():
        return [folder / PICKLE]
    if not (folder / INDEX).exists():
        raise UnreadableWeights(f"{folder}: there is no {PICKLE} in it")
    with name_source_in_errors(folder / INDEX):
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        if not isinstance(index, dict) or not isinstance(index.get("weight_map"), dict):
            raise ValueError("weight_map: is missing, or no table of tensors by name")
        names = sorted(set(index["weight_map"].values()))
        if not all(isinstance(name, str) and Path(name).match(SHARDS) for name in names):
            raise ValueError(f"weight_map: names files other than {SHARDS}")
    return [folder / Path(name).name for name in names]


def _read_tensors(path: Path) -> Mapping[str, Tensor]:
    """Return the tensors of a pickle by name; nothing else is built."""
    with name_source_in_errors(path):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch's advice is for its own users
                # A zip archive is mapped into memory; the older form cannot be.
                mapped = zipfile.is_zipfile(path)
                content = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
        except pickle.UnpicklingError as error:
            named = re.search(r"GLOBAL (\S+)", str(error))
            what = f"asks for {named[1]}" if named else "holds more than tensors, or is damaged"
            raise UnreadableWeights(
                f"{path}: its pickle {what}; no code of a pickle is run, so it is not converted"
            ) from None
        except OSError:
            raise
        except Exception as error:  # what a damaged file makes torch raise says nothing
            raise ValueError("it is damaged, or nothing that torch wrote") from error
        others = not isinstance(content, Mapping) or [
            name
            for name, value in content.items()
            if not (isinstance(name, str) and isinstance(value, Tensor))
        ]
        if others or not content:
            first = f", {others[0]!r} for one" if isinstance(others, list) and others else ""
            raise ValueError(f"holds something else than tensors by name{first}")
        for name, value in content.items():
            if value.is_floating_point() and not value.isfinite().all():
                raise ValueError(f"{name}: a number is not finite")
        return content


def _separate(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors; copy those that share memory, as tied weights do."""
    seen: set[int] = set()
    for name, tensor in tensors.items():
        shared = tensor.untyped_storage().data_ptr() in seen
        seen.add(tensor.untyped_storage().data_ptr())
        yield name, tensor.detach().clone().contiguous() if shared else tensor.detach().contiguous()

"""Region features in HDF5 files and LMDB, whose libraries are optional.

- HDF5, one group for each image, as VL-T5 writes them (Cho et al. 2021): ``NAME/features`` [m, width] and
  ``NAME/boxes`` [m, 4], in pixels if ``NAME/img_w`` and ``NAME/img_h`` are there.
- HDF5, the arrays of `arrays.ArrayFolder`: ``features``, ``boxes`` and ``names``.
- LMDB, by name what `arrays.NpzFolder` holds in a file. Values that others pickle are never read.
"""

from __future__ import annotations

import importlib
import io
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from modelserver.modular.visual.region_files.arrays import Rows, check_npz, select_arrays
from modelserver.modular.visual.region_files.base import FRACTIONS, Raw, RegionFile, name_origin_in_errors
from modelserver.wire.errors import UnreadableData


def _import_library(name: str, path: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise UnreadableData(f"{path}: needs the library {name}; run `pip install {name}`") from None


def open_h5(path: Path) -> RegionFile:
    """Open an HDF5 file of either form."""
    h5py = _import_library("h5py", path)
    with name_origin_in_errors(path):
        file = h5py.File(path, "r")
        if not isinstance(file.get("features"), h5py.Dataset):
            return H5Groups(path, file)
        for field in ("names", "boxes"):
            if field not in file:
                raise KeyError(f"it has features, but no {field}")
        names = [name.decode("utf-8") if isinstance(name, bytes) else str(name) for name in file["names"][:]]
        fields = ("features", "boxes", "num_boxes", "sizes")
        return Rows(path, names, {field: file[field] for field in fields if field in file})


class H5Groups(RegionFile):
    """An HDF5 file with one group for each image."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self.file = path, file
        self.index = dict.fromkeys(file)

    def describe_source(self, name: str) -> str:
        """Return the file and the group of an image."""
        if name not in self.index:
            raise KeyError(name)
        return f"{self.path}, image {name!r}"

    def raw(self, name: str) -> Raw:
        """Read an image's group."""
        group, size = self.file[name], FRACTIONS
        if not hasattr(group, "keys"):
            raise ValueError("it is an array, not a group with boxes and features")
        for field in ("boxes", "features"):
            if field not in group:
                raise KeyError(f"there is no {field} in it")
        if "img_w" in group and "img_h" in group:
            size = float(group["img_w"][()]), float(group["img_h"][()])
        return Raw(group["boxes"][()], group["features"][()], size)


class Lmdb(RegionFile):
    """An LMDB whose values are ``.npz`` files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lmdb = _import_library("lmdb", path)
        try:
            self.store = lmdb.open(str(path), subdir=path.is_dir(), readonly=True, lock=False)
        except lmdb.Error as error:
            raise UnreadableData(f"{path}: {error}") from error
        weakref.finalize(self, self.store.close)

    def describe_source(self, name: str) -> str:
        """Return the file and the key of an image."""
        if name not in self:
            raise KeyError(name)
        return f"{self.path}, image {name!r}"

    def raw(self, name: str) -> Raw:
        """Read an image's value, never unpickling."""
        with self.store.begin() as reading:
            value = reading.get(name.encode())
        check_npz(value[:2])
        with np.load(io.BytesIO(value), allow_pickle=False) as arrays:
            return select_arrays(arrays)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not 0 < len(name.encode()) <= self.store.max_key_size():
            return False
        with self.store.begin(buffers=True) as reading:
            return reading.get(name.encode()) is not None

    def __iter__(self) -> Iterator[str]:
        with self.store.begin() as reading, reading.cursor() as cursor:
            for key in cursor.iternext(keys=True, values=False):
                yield key.decode("utf-8", "replace")

    def __len__(self) -> int:
        return int(self.store.stat()["entries"])

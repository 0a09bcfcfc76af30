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
from numpy.typing import NDArray

from modelserver.modular.visual.region_files.arrays import (
    NPZ_SIDES,
    Rows,
    check_npz,
    find_array,
    find_size,
    select_arrays,
)
from modelserver.modular.visual.region_files.base import Raw, RegionFile, name_origin_in_errors
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
        fields = ("features", "boxes", "num_boxes", "sizes")
        arrays = {field: file[field] for field in fields if field in file}
        for field, array in arrays.items():
            if not isinstance(array, h5py.Dataset):
                raise ValueError(f"{field}: expected an array, not a group")
        return Rows(path, _decode_names(find_array(file, "names")), arrays)


def _decode_names(names: NDArray[Any]) -> list[str]:
    if names.ndim != 1:
        raise ValueError(f"names: shape {names.shape}, expected one name for each image")
    try:
        return [name.decode("utf-8") if isinstance(name, bytes) else str(name) for name in names]
    except UnicodeDecodeError as error:
        raise ValueError(f"names: {error}") from error


H5_SIDES = ("img_w", "img_h")


class H5Groups(RegionFile):
    """An HDF5 file with one group for each image."""

    size_fields = " and ".join(H5_SIDES)

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
        group = self.file[name]
        if not hasattr(group, "keys"):
            raise ValueError("it is an array, not a group with boxes and features")
        boxes, features = find_array(group, "boxes"), find_array(group, "features")
        return Raw(boxes, features, find_size(group, H5_SIDES))


class Lmdb(RegionFile):
    """An LMDB whose values are ``.npz`` files."""

    size_fields = " and ".join(NPZ_SIDES)

    def __init__(self, path: Path) -> None:
        self.path = path
        lmdb = _import_library("lmdb", path)
        try:
            self.store = lmdb.open(str(path), subdir=path.is_dir(), readonly=True, lock=False)
        except lmdb.Error as error:  # which may begin with the path
            raise UnreadableData(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
        weakref.finalize(self, self.store.close)
        with name_origin_in_errors(path):
            self._check_length(path / "data.mdb" if path.is_dir() else path)

    def _check_length(self, data: Path) -> None:
        """Raise ValueError if the file lacks pages.

        The library maps it into memory, and reading beyond its end would kill the process.
        """
        expected = (self.store.info()["last_pgno"] + 1) * self.store.stat()["psize"]
        length = data.stat().st_size
        if length < expected:  # unused pages at the end can be missing, too
            advice = "copy it again or, if it is whole, compact it with `mdb_copy -c`"
            raise ValueError(f"it is cut off: {length} bytes of {expected}; {advice}")

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
        with name_origin_in_errors(self.path), self.store.begin(buffers=True) as reading:
            return reading.get(name.encode()) is not None

    def __iter__(self) -> Iterator[str]:
        with name_origin_in_errors(self.path), self.store.begin() as reading, reading.cursor() as cursor:
            for key in cursor.iternext(keys=True, values=False):
                yield _decode_key(key)

    def __len__(self) -> int:
        return int(self.store.stat()["entries"])


def _decode_key(key: bytes) -> str:
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"key {key!r}: {error}") from error

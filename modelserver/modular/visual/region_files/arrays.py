"""Region features in folders of NumPy files.

- ``NAME.npz``, one for each image: ``boxes`` or ``bbox`` [m, 4], ``features`` or ``x`` [m, width]; boxes in
  pixels if ``image_w`` and ``image_h`` are there, else fractions.
- ``features.npy`` [n, m, width], ``boxes.npy`` [n, m, 4] and ``names.txt``, one name a line; optional are
  ``num_boxes.npy`` [n], if images have fewer than m regions, and ``sizes.npy`` [n, 2], width and height of
  images whose boxes are in pixels. The arrays are mapped into memory, not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modelserver.modular.visual.region_files.base import (
    FRACTIONS,
    Raw,
    RegionFile,
    describe_error,
    name_origin_in_errors,
)

NPZ_SIDES = ("image_w", "image_h")


def select_arrays(arrays: Mapping[str, Any]) -> Raw:
    """Return the arrays of one image by their names in an ``.npz``."""
    boxes, features = find_array(arrays, "boxes", "bbox"), find_array(arrays, "features", "x")
    return Raw(boxes, features, find_size(arrays, NPZ_SIDES))


def find_size(arrays: Mapping[str, Any], sides: tuple[str, str]) -> tuple[float, float]:
    """Return the width and height of an image by the names of its sides.

    They are `FRACTIONS` if neither is there.

    Raises:
        KeyError: Only one of them is there.
        ValueError: One of them is not a number.
    """
    if not any(side in arrays for side in sides):
        return FRACTIONS
    width, height = (_parse_side(side, find_array(arrays, side)) for side in sides)
    return width, height


def _parse_side(name: str, array: NDArray[Any]) -> float:
    if array.size != 1 or array.dtype.kind not in "fiu":
        raise ValueError(f"{name}: expected a number, not {array.dtype} of shape {array.shape}")
    return float(array.item())


def check_npz(start: bytes) -> None:
    """Raise ValueError if a file that begins so is no ``.npz``.

    NumPy's own message advises to unpickle it.
    """
    if not start.startswith(b"PK"):
        pickled = ", but a pickle, which can run code" if start.startswith(b"\x80") else ""
        raise ValueError(f"it is not a valid .npz file{pickled}; write one with numpy.savez")


def _map_file(path: Path) -> NDArray[Any]:
    """Map an ``.npy`` file into memory."""
    with path.open("rb") as file:
        if not file.read(6).startswith(b"\x93NUMPY"):
            raise ValueError("it is not a valid .npy file; write one with numpy.save")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "mmap length" in str(error):
            raise ValueError("it is shorter than its head says: it was cut off") from error
        raise


def find_array(arrays: Mapping[str, Any], *names: str) -> NDArray[Any]:
    """Return the array that has one of some names.

    Raises:
        KeyError: None of them is there.
        ValueError: It is damaged, or not an array; names it.
    """
    name = next((candidate for candidate in names if candidate in arrays), None)
    if name is None:
        raise KeyError(f"there is no {' or '.join(names)} in it")
    try:
        array = arrays[name]
        if isinstance(array, Mapping):  # a group of HDF5
            raise ValueError("expected an array, not a group")
        return np.asarray(array)
    except Exception as error:  # the edge, as in `name_origin_in_errors`
        raise ValueError(f"{name}: {describe_error(error)}") from error


class NpzFolder(RegionFile):
    """A folder with one ``.npz`` for each image."""

    size_fields = " and ".join(NPZ_SIDES)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index = dict.fromkeys(sorted(file.stem for file in path.glob("*.npz")))

    def describe_source(self, name: str) -> str:
        """Return the file of an image."""
        if name not in self.index:
            raise KeyError(name)
        return str(self.path / f"{name}.npz")

    def raw(self, name: str) -> Raw:
        """Read an image's file, never unpickling."""
        with open(self.describe_source(name), "rb") as file:
            check_npz(file.read(2))
        with np.load(self.describe_source(name), allow_pickle=False) as arrays:
            return select_arrays(arrays)


class Rows(RegionFile):
    """Arrays whose first axis is the image, on disk: mapped or in HDF5.

    ``arrays`` are ``features`` and ``boxes``, and ``num_boxes`` and ``sizes`` if they are there.
    """

    size_fields = "sizes"

    def __init__(self, path: Path, names: list[str], arrays: Mapping[str, Any]) -> None:
        self.path, self.arrays = path, arrays
        self.index = {name: row for row, name in enumerate(names)}
        for row, name in enumerate(names):
            if not name:
                raise ValueError(f"names: number {row + 1} is empty")
            if self.index[name] != row:
                raise ValueError(f"names: {name!r} is in it twice")
        axes = {"features": 3, "boxes": 3, "num_boxes": 1, "sizes": 2}
        for field, array in arrays.items():
            is_sized = field != "sizes" or array.shape[-1:] == (2,)
            if len(array.shape) != axes[field] or array.shape[0] != len(names) or not is_sized:
                raise ValueError(f"{field}: shape {array.shape}, for {len(names)} names")
            if array.dtype.kind not in "fiu":
                raise ValueError(f"{field}: holds {array.dtype}, not numbers")

    def describe_source(self, name: str) -> str:
        """Return the file and the row of an image."""
        return f"{self.path}, image {name!r} (row {self.index[name]})"

    def raw(self, name: str) -> Raw:
        """Read the rows of an image."""
        row, size = self.index[name], FRACTIONS
        most = self.arrays["features"].shape[1]
        n = self.arrays["num_boxes"][row] if "num_boxes" in self.arrays else most
        if not (0 <= n <= most and n == int(n)):
            expected = f"a whole number up to {most}, the regions that the arrays have for an image"
            raise ValueError(f"num_boxes: {n:g}, but it must be {expected}")
        n = int(n)
        if "sizes" in self.arrays:
            width, height = self.arrays["sizes"][row]
            size = float(width), float(height)
        return Raw(self.arrays["boxes"][row, :n], self.arrays["features"][row, :n], size)


class ArrayFolder(Rows):
    """A folder of ``.npy`` files, mapped into memory."""

    size_fields = "sizes.npy"

    def __init__(self, path: Path) -> None:
        with name_origin_in_errors(path / "names.txt"):
            names = (path / "names.txt").read_text(encoding="utf-8").splitlines()
        arrays = {}
        for field in ("features", "boxes", "num_boxes", "sizes"):
            file = path / f"{field}.npy"
            if field in ("features", "boxes") or file.exists():
                with name_origin_in_errors(file):
                    arrays[field] = _map_file(file)
        with name_origin_in_errors(path):
            super().__init__(path, names, arrays)

"""Checks and messages that all files of region features share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.io.errors import describe_os_error
from modelserver.modular.visual.regions import Numbers, Regions
from modelserver.wire.errors import UnreadableData

FRACTIONS = (1.0, 1.0)  # the size of an image whose boxes are fractions


class Raw(NamedTuple):
    """An image's arrays as its file holds them.

    Boxes [m, 4] in pixels of an image of ``size``, width and height; features [m, width].
    """

    boxes: NDArray[Any]
    features: NDArray[Any]
    size: tuple[float, float] = FRACTIONS


class RegionFile(Mapping[str, Regions]):
    """Regions of images by name; each access reads from the disk.

    Attributes:
        width: Features of each region, once known; an image with others is rejected.
        index: By each name, what tells where its regions are.
        size_fields: The fields that hold an image's width and height, for messages.
    """

    width: int | None = None
    index: Mapping[str, Any]
    size_fields: str

    @abstractmethod
    def describe_source(self, name: str) -> str:
        """Return the place of an image for messages.

        Raises KeyError for an unknown image.
        """

    @abstractmethod
    def raw(self, name: str) -> Raw:
        """Read the arrays of a known image.

        Raises ValueError, or what its library does, for a malformed one.
        """

    def __getitem__(self, name: str) -> Regions:
        """Read and check the regions of an image; raises UnreadableData."""
        with name_origin_in_errors(self.describe_source(name)):
            return self._check_regions(self.raw(name))

    def __contains__(self, name: object) -> bool:
        return name in self.index

    def __iter__(self) -> Iterator[str]:
        return iter(self.index)

    def __len__(self) -> int:
        return len(self.index)

    def _check_regions(self, raw: Raw) -> Regions:
        """Return regions with boxes in fractions.

        Raises ValueError for shapes, numbers or edges that cannot be.
        """
        boxes, features, size = raw
        if boxes.ndim != 2 or boxes.shape[1] != 4 or features.ndim != 2 or len(features) != len(boxes):
            raise ValueError(f"boxes are {boxes.shape} and features {features.shape}, not (m, 4), (m, size)")
        for field, array in (("boxes", boxes), ("features", features)):
            if array.dtype.kind not in "fiu":
                raise ValueError(f"{field}: expected numbers, not {array.dtype}")
        if not all(np.isfinite(side) and side > 0 for side in size):
            raise ValueError(f"the image is {size[0]:g} by {size[1]:g} pixels; both must be above 0")
        if not len(boxes):
            return Regions(np.zeros((0, 4), np.float32), np.zeros((0, self.width or 0), np.float32))
        if self.width not in (None, features.shape[1]):
            raise ValueError(f"features: {features.shape[1]} a region; images before it have {self.width}")
        with np.errstate(over="ignore", invalid="ignore"):  # the check below rejects what float32 cannot hold
            features = np.array(features, np.float32)  # a copy: no view of the file
            scaled = np.divide(boxes.astype(np.float32), np.array([*size, *size], np.float32))
        for field, numbers in (("boxes", scaled), ("features", features)):
            if not np.isfinite(numbers).all():
                raise ValueError(f"{field}: a number is not finite as float32")
        self._check_edges(boxes, scaled, size)
        return Regions(scaled.clip(0, 1), features)

    def _check_edges(self, boxes: NDArray[Any], scaled: Numbers, size: tuple[float, float]) -> None:
        """Raise ValueError for a box outside its image, or a reversed one.

        Args:
            boxes: Boxes [m, 4] as the file holds them, for messages.
            scaled: The boxes as fractions.
            size: Width and height of the image.
        """
        outside = ((scaled < -0.01) | (scaled > 1.01)).any(axis=1)
        if outside.any():
            shown = _format_box(boxes[outside.argmax()])
            if size == FRACTIONS:
                rule = f"without {self.size_fields} boxes are fractions of the image"
                raise ValueError(f"boxes: {shown} lies outside its image; {rule}")
            raise ValueError(f"boxes: {shown} lies outside its image of {size[0]:g} × {size[1]:g}")
        turned = (scaled[:, 2:] < scaled[:, :2]).any(axis=1)
        if turned.any():
            shown = _format_box(boxes[turned.argmax()])
            raise ValueError(f"boxes: {shown} ends before it starts; the order is left, top, right, bottom")


def _format_box(box: NDArray[Any]) -> str:
    return f"[{', '.join(f'{edge:g}' for edge in box)}]"


@contextmanager
def name_origin_in_errors(where: object) -> Iterator[None]:
    """Turn any error of reading into UnreadableData with its place."""
    try:
        yield
    except UnreadableData:
        raise
    except Exception as error:  # the edge: a damaged file makes the libraries raise anything
        raise UnreadableData(f"{where}: {describe_error(error)}") from error


def describe_error(error: Exception) -> str:
    """Return one line on an error of reading, ours or a library's."""
    message = str(error.args[0]) if error.args else type(error).__name__
    match error:
        case MemoryError():
            message = "its arrays are larger than the memory"
        case OSError():
            message = describe_os_error(error)
        case ValueError():
            message = str(error) or message
        case KeyError():
            pass  # str would add quotation marks
        case _:
            message = f"it cannot be read: {message}"
    return message.strip().partition("\n")[0]

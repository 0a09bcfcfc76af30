"""Checks and messages that all files of region features share."""

from __future__ import annotations

import zipfile
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from modelserver.modular.visual.regions import Regions
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
    """

    width: int | None = None
    index: Mapping[str, Any]

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

        Raises ValueError for shapes, numbers or places that cannot be.
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
        scaled = np.asarray(boxes, np.float32) / np.array([*size, *size], np.float32)
        for field, numbers in (("boxes", scaled), ("features", features)):
            if not np.isfinite(numbers).all():
                raise ValueError(f"{field}: a number is not finite")
        if scaled.min() < -0.01 or scaled.max() > 1.01:
            raise ValueError("boxes: one lies outside its image")
        return Regions(scaled.clip(0, 1), np.array(features, np.float32))  # a copy: no view of the file


@contextmanager
def name_origin_in_errors(where: object) -> Iterator[None]:
    """Turn any error of reading into UnreadableData with its place."""
    try:
        yield
    except UnreadableData:
        raise
    except KeyError as error:
        raise UnreadableData(f"{where}: {error.args[0]}") from error
    except OSError as error:
        raise UnreadableData(f"{where}: {error.strerror or error}") from error
    except MemoryError as error:
        raise UnreadableData(f"{where}: its arrays are larger than the memory") from error
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise UnreadableData(f"{where}: {error}") from error

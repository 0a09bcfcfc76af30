"""Files of region features as detectors of the Faster R-CNN family are run to make them.

- A TSV with LXMERT's columns: ``img_id img_h img_w objects_id objects_conf attrs_id attrs_conf num_boxes
  boxes features``, arrays in base64, boxes in pixels (Anderson et al. 2018; Tan and Bansal 2019).
- A folder of ``NAME.npz``, one for each image: ``boxes`` or ``bbox`` [m, 4], ``features`` or ``x`` [m, size];
  boxes in pixels where ``image_w`` and ``image_h`` are there, else fractions.
"""

from __future__ import annotations

import base64
import binascii
import csv
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import numpy as np

from modelserver.modular.visual.regions import Numbers, Regions
from modelserver.wire.errors import UnreadableData

COLUMNS = (
    "img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf", "num_boxes", "boxes",
    "features",
)  # fmt: skip


def read_regions(path: Path) -> Mapping[str, Regions]:
    """Return the regions of images by name: a TSV is read whole, the files of a folder when asked for.

    Raises UnreadableData, naming the file and for a TSV the line.
    """
    if path.is_dir():
        return _Folder(path)
    csv.field_size_limit(sys.maxsize)
    found: dict[str, Regions] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.DictReader(file, COLUMNS, delimiter="\t"), 1):
                with _blaming(f"{path}, line {number}"):
                    found[row["img_id"]] = _of_row(row)
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    return found


def of_image(regions: Mapping[str, Regions], name: str) -> Regions | None:
    """Return the regions of an image by its name, or that without folders and ending; None where unknown."""
    return next((regions[key] for key in (name, PurePosixPath(name).stem) if key in regions), None)


class _Folder(Mapping[str, Regions]):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = {each.stem for each in path.glob("*.npz")}

    def __getitem__(self, name: str) -> Regions:
        if name not in self.names:
            raise KeyError(name)
        path = self.path / f"{name}.npz"
        with _blaming(str(path)), np.load(path, allow_pickle=False) as arrays:
            boxes = arrays["boxes" if "boxes" in arrays else "bbox"]
            features = arrays["features" if "features" in arrays else "x"]
            size = (float(arrays["image_w"]), float(arrays["image_h"])) if "image_w" in arrays else (1.0, 1.0)
            return _checked(boxes, features, size)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _of_row(row: Mapping[str, str]) -> Regions:
    n = int(row["num_boxes"])
    boxes, features = (
        np.frombuffer(base64.b64decode(row[name], validate=True), np.float32).reshape(n, -1)
        for name in ("boxes", "features")
    )
    return _checked(boxes, features, (float(row["img_w"]), float(row["img_h"])))


def _checked(boxes: Numbers, features: Numbers, size: tuple[float, float]) -> Regions:
    """Return regions in fractions of the image.

    Raises ValueError for shapes or places that cannot be.
    """
    if boxes.ndim != 2 or boxes.shape[1] != 4 or features.ndim != 2 or len(features) != len(boxes):
        raise ValueError(f"boxes are {boxes.shape} and features {features.shape}, not (m, 4) and (m, size)")
    scaled = np.asarray(boxes, np.float32) / np.array([*size, *size], np.float32)
    if not (np.isfinite(scaled).all() and np.isfinite(features).all()):
        raise ValueError("a box or a feature is no finite number")
    if scaled.min(initial=0) < -0.01 or scaled.max(initial=0) > 1.01:
        raise ValueError("a box lies outside its image")
    return Regions(scaled.clip(0, 1), np.asarray(features, np.float32))


@contextmanager
def _blaming(place: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, OSError, binascii.Error, zipfile.BadZipFile) as error:
        raise UnreadableData(f"{place}: {error}") from error

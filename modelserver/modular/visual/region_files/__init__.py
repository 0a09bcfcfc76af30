"""Files of region features as Faster R-CNN detectors usually write them.

Every form is read lazily: opening a file takes the names of its images, and an image's arrays are read when
they are asked for. Names are those of images without an ending. Forms:

- ``.tsv``, arrays in base64, or a folder of them (`tables`).
- A folder of ``NAME.npz``, one for each image; ``features.npy`` beside ``boxes.npy`` and ``names.txt``
  (`arrays`).
- ``.h5``, a group for each image or arrays of all; LMDB, an ``.npz`` for each image (`stores`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from modelserver.modular.visual.region_files.arrays import ArrayFolder, NpzFolder
from modelserver.modular.visual.region_files.base import RegionFile
from modelserver.modular.visual.region_files.stores import Lmdb, open_h5
from modelserver.modular.visual.region_files.tables import Table, TableFolder
from modelserver.modular.visual.regions import Regions
from modelserver.wire.errors import UnreadableData

FORMS = "a .tsv, a folder of .tsv or .npz files, features.npy, an .h5 file or an LMDB folder"


def read_regions(path: Path) -> Mapping[str, Regions]:
    """Return the regions of images by name, each read when it is asked for.

    The first image with regions is read at once, so that a file of another form is rejected here.

    Raises:
        UnreadableData: The file is missing or malformed; names the file, and the line or image and its
            field. Access to an image raises it too.
    """
    file = _open(path)
    first = next((regions for regions in map(file.__getitem__, file) if len(regions.boxes)), None)
    if first is None:
        raise UnreadableData(f"{path}: holds no image with regions")
    file.width = first.features.shape[1]
    return file


def find_name(regions: Mapping[str, Regions], image: str) -> str | None:
    """Return the name, or else the stem, under which an image has regions."""
    return next((key for key in (image, PurePosixPath(image).stem) if key in regions), None)


def find_regions(regions: Mapping[str, Regions], image: str) -> Regions | None:
    """Return an image's regions by its name, or its stem; None if unknown."""
    name = find_name(regions, image)
    return None if name is None else regions[name]


def _open(path: Path) -> RegionFile:
    if path.is_dir():
        if (path / "data.mdb").exists():
            return Lmdb(path)
        if (path / "features.npy").exists():
            return ArrayFolder(path)
        return TableFolder(path) if any(path.glob("*.tsv")) else NpzFolder(path)
    if not path.exists():
        raise UnreadableData(f"{path}: there is no such file or folder")
    if path.suffix == ".tsv":
        return Table(path)
    if path.suffix in (".h5", ".hdf5"):
        return open_h5(path)
    if path.suffix in (".mdb", ".lmdb"):
        return Lmdb(path)
    if path.name == "features.npy":
        return ArrayFolder(path.parent)
    raise UnreadableData(f"{path}: not a form of region features that is read; name {FORMS}")

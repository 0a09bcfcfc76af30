"""Region features in a TSV: one image a line, arrays as float32 in base64.

The number of columns says what they are, unless a first line names them:

- 10, of LXMERT (Tan and Bansal 2019): boxes in pixels.
- 6, of bottom-up attention (Anderson et al. 2018): boxes in pixels.
- 4, without the size of the image: boxes as fractions.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections import Counter
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from modelserver.modular.visual.region_files.base import FRACTIONS, Raw, RegionFile, name_origin_in_errors
from modelserver.wire.errors import UnreadableData

COLUMNS = {
    10: ("img_id", "img_h", "img_w", "objects_id", "objects_conf", "attrs_id", "attrs_conf", "num_boxes",
         "boxes", "features"),
    6: ("img_id", "img_w", "img_h", "num_boxes", "boxes", "features"),
    4: ("img_id", "num_boxes", "boxes", "features"),
}  # fmt: skip
NEEDED = COLUMNS[4]
ALSO_CALLED = {"image_id": "img_id", "image_w": "img_w", "image_h": "img_h"}
SIZE_FIELDS = "img_w and img_h"
MOST_DIGITS = 9  # of a number of regions
LONGEST_LINE = 1 << 26  # bytes; 36 regions of 2,048 features take 0.4 MB


class _Row(NamedTuple):
    """The position of a row in bytes, and the number of its line."""

    offset: int
    length: int
    line: int


class Table(RegionFile):
    """A TSV, which has only the positions of its rows in memory."""

    size_fields = SIZE_FIELDS

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: tuple[str, ...] = ()
        self.index: dict[str, _Row] = {}
        with name_origin_in_errors(path), path.open("rb") as file:
            offset = 0
            for number in count(1):
                line = file.readline(LONGEST_LINE)
                if not line:
                    break
                with name_origin_in_errors(f"{path}, line {number}"):
                    self._add(line, offset, number)
                offset += len(line)

    def _add(self, line: bytes, offset: int, number: int) -> None:
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise ValueError(f"longer than {LONGEST_LINE >> 20} MiB, the most for a row of region features")
        if not line.strip():
            return
        columns = line.count(b"\t") + 1
        if not self.columns:
            named = _parse_header(line)
            self.columns = named or COLUMNS.get(columns, ())
            if named:
                return
            if not self.columns:
                expected = "4, 6 or 10 are read, or a first line that names them"
                raise ValueError(f"{columns} columns separated by tabs; {expected}")
        if columns != len(self.columns):
            raise ValueError(f"{columns} columns, not {len(self.columns)} as in the lines before")
        name = _decode_name(_split_cells(line)[self.columns.index("img_id")])
        if not name:
            raise ValueError("img_id: empty")
        if name in self.index:
            raise ValueError(f"img_id: {name!r} is in line {self.index[name].line} already")
        self.index[name] = _Row(offset, len(line), number)

    def describe_source(self, name: str) -> str:
        """Return file and line of an image."""
        return f"{self.path}, line {self.index[name].line}"

    def raw(self, name: str) -> Raw:
        """Read an image's row."""
        row = self.index[name]
        with self.path.open("rb") as file:  # opened each time: threads and processes share no position
            line = os.pread(file.fileno(), row.length, row.offset)
        cells = dict(zip(self.columns, _split_cells(line), strict=False))
        if len(cells) != len(self.columns) or cells["img_id"] != name.encode():
            raise ValueError("the file has changed since it was opened; load it again")
        n = _parse_whole_number("num_boxes", cells["num_boxes"])
        size = FRACTIONS
        if "img_w" in cells:
            size = _parse_side("img_w", cells["img_w"]), _parse_side("img_h", cells["img_h"])
        return Raw(
            _decode_numbers("boxes", cells["boxes"], n),
            _decode_numbers("features", cells["features"], n),
            size,
        )


class TableFolder(RegionFile):
    """A folder of TSVs, such as one for each split of a corpus."""

    size_fields = SIZE_FIELDS

    def __init__(self, path: Path) -> None:
        self.index: dict[str, Table] = {}
        for file in sorted(path.glob("*.tsv")):
            table = Table(file)
            if (twice := next((name for name in table if name in self.index), None)) is not None:
                earlier = self.index[twice].describe_source(twice)
                raise UnreadableData(
                    f"{table.describe_source(twice)}: img_id: {twice!r} is in {earlier} already"
                )
            self.index |= dict.fromkeys(table, table)

    def describe_source(self, name: str) -> str:
        """Return file and line of an image."""
        return self.index[name].describe_source(name)

    def raw(self, name: str) -> Raw:
        """Read an image's row."""
        return self.index[name].raw(name)


def _split_cells(line: bytes) -> list[bytes]:
    return line.rstrip(b"\r\n").split(b"\t")


def _parse_header(line: bytes) -> tuple[str, ...] | None:
    """Return the columns that a first line names, None for a row of data."""
    cells = [cell.decode("utf-8", "replace") for cell in _split_cells(line)]
    named = tuple(ALSO_CALLED.get(cell, cell) for cell in cells)
    if "features" not in named:
        return None
    missing = [name for name in NEEDED if name not in named]
    if not missing and ("img_w" in named) != ("img_h" in named):
        missing = [f"{SIZE_FIELDS} together"]
    if missing:
        raise ValueError(f"its columns lack {', '.join(missing)}")
    if twice := [name for name, count in Counter(named).items() if count > 1]:
        raise ValueError(f"its first line names {', '.join(map(repr, twice))} more than once")
    return named


def _decode_name(cell: bytes) -> str:
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"img_id: {error}") from None


def _parse_whole_number(field: str, cell: bytes) -> int:
    if not cell.isdigit() or len(cell) > MOST_DIGITS:
        raise ValueError(f"{field}: {_format_cell(cell)} is not a whole number up to {MOST_DIGITS} digits")
    return int(cell)


def _parse_side(field: str, cell: bytes) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{field}: {_format_cell(cell)} is not a number") from None


def _decode_numbers(field: str, cell: bytes, n: int) -> NDArray[np.float32]:
    """Return the float32 array in a cell, [n, width]."""
    try:
        data = base64.b64decode(cell, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{field}: not base64: {error}") from None
    if not n and not data:
        return np.zeros((0, 4), np.float32)
    if not n or not data or len(data) % (4 * n) or (field == "boxes" and len(data) != 16 * n):
        expected = "4 float32" if field == "boxes" else "as many float32"
        raise ValueError(f"{field}: {len(data)} bytes, which are not {expected} for each of {n} regions")
    return np.frombuffer(data, "<f4").reshape(n, -1)


def _format_cell(cell: bytes) -> str:
    return repr(cell[:40].decode("utf-8", "replace"))

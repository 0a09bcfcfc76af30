"""Write gold as the two released tables: boxes (CSV), programs (TSV).

An untouched file is written byte for byte, with its blanks, repeated cells, boxes past the edge, extra
columns, and unusable examples; so are the programs of its examples, in their order. Cells of changed boxes
are rewritten, in every equal step.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from analysis.io.spreadsheet import escape_formula
from analysis.programs import Program
from annotation.content.completeness import resolve_references
from annotation.content.schemas import Box, Document, ItemRecord
from annotation.formats.checks import parse_program_text
from annotation.formats.faithful_nmn.gold import ANNOTATED, build_gold
from annotation.formats.faithful_nmn.reader import NAME
from annotation.formats.faithful_nmn.tables import BOX_COLUMNS, PROGRAM_COLUMNS, BoxRow, Cell, ProgramRow
from annotation.formats.texts import tokenize
from annotation.formats.writing import encode_json, write_file
from foundation.imports.findings import Findings
from foundation.messages import field_error

DIGITS = 6  # of drawn fractions: 1/50 pixel in an image of 20,000


def write_faithful_nmn(
    records: Iterable[ItemRecord], boxes: Path, programs: Path, examples: Path | None = None
) -> int:
    """Write the gold of the items, and return the number of items with gold.

    All is held in memory, to be sorted.

    Args:
        records: The items.
        boxes: The CSV to write.
        programs: The TSV to write.
        examples: If given, the file for sentences and labels, as NLVR2 lines.

    Raises:
        ValueError: An item is not an image pair, or its program is not a statement.
    """
    box_rows: list[tuple[int, int, list[str]]] = []  # position in the file, position among new rows, cells
    program_rows: dict[int | str, list[str]] = {}
    programs_of: dict[str, list[str]] = {}
    lines: list[str] = []
    count = 0
    for record in records:
        if record.gold is None:
            continue
        count += 1
        kept = record.extra.get(NAME)
        program = _parse_program(record)
        rows = _update_rows(record, program, kept) if kept else _build_new_rows(record, program, record.gold)
        last = max((number for number, _cells in (kept or {}).get("rows", [])), default=_END)
        for number, cells in rows:
            box_rows.append(
                (last if number is None else number, len(box_rows) if number is None else -1, cells)
            )
        box_rows.extend((number, -1, cells) for number, cells in (kept or {}).get("other_rows", []))
        for key, cells in _build_program_rows(record, program, kept).items():
            # Readers join programs by sentence alone.
            if programs_of.setdefault(cells[0].strip().lower(), cells[1:3]) != cells[1:3]:
                raise field_error(record.external_id, "another item has its sentence with another program")
            program_rows[key] = cells
        lines.append(_format_example(record))
    _number_examples(box_rows)
    _write_table(
        boxes, ",", BOX_COLUMNS, (cells for _number, _new, cells in sorted(box_rows, key=lambda row: row[:2]))
    )
    _write_table(programs, "\t", PROGRAM_COLUMNS, _sort_rows(program_rows))
    if examples is not None:
        with write_file(examples) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
    return count


_END = 1 << 60  # sorts after every row that was read
_UNNUMBERED = ""


def _parse_program(record: ItemRecord) -> Program:
    if record.kind != "boxes" or len(record.images) != 2 or not record.program:
        raise field_error(record.external_id, "faithful-nmn files hold programs over image pairs only")
    program = parse_program_text(record.program, "boxes")
    if program.type != "truth":
        raise field_error(
            record.external_id, "faithful-nmn programs are statements; this gives %(type)s", type=program.type
        )
    return program


Placed = tuple[int | None, list[str]]  # None: a new row, after those of its example


def _update_rows(record: ItemRecord, program: Program, kept: dict[str, Any]) -> Iterator[Placed]:
    """Yield the rows that were read, with new cells where the gold differs."""
    assert record.gold is not None
    rows = [BoxRow(number, tuple(cells)) for number, cells in kept["rows"]]
    before = build_gold(program, rows, Findings())
    was, now = (_Pictured(program, document) for document in (before, record.gold))
    flags = before.problem != record.gold.problem
    cells_read = {row.cell for row in rows}
    for index, row in enumerate(rows):
        cells = list(row.cells)
        if was.content(row.cell) != now.content(row.cell):
            cells[5] = now.text(row.cell)
        if flags:
            cells[0] = _format_flag(record.gold) if index == 0 else ""
        yield row.number, cells
    for cell in _list_cells(program):
        if cell not in cells_read and was.content(cell) != now.content(cell):
            yield None, _build_row(rows[0].cells[1], record, program, cell, now.text(cell))


def _build_new_rows(record: ItemRecord, program: Program, gold: Document) -> Iterator[Placed]:
    pictured = _Pictured(program, gold)
    for index, cell in enumerate(_list_cells(program)):
        cells = _build_row(_UNNUMBERED, record, program, cell, pictured.text(cell))
        if index == 0:
            cells[0] = _format_flag(gold)
        yield None, cells


def _list_cells(program: Program) -> Iterator[Cell]:
    """Yield the cells of an example in the order of the release.

    It goes from the last line up, left before right.
    """
    for node in reversed(program.nodes):
        if node.module in ANNOTATED:
            yield Cell(node.index, 0)
            yield Cell(node.index, 1)


def _build_row(number: str, record: ItemRecord, program: Program, cell: Cell, text: str) -> list[str]:
    node = program.nodes[cell.node]
    name = node.module.replace("-", "_")
    label = name if node.argument is None else f"{name}[{','.join(node.argument.split(' '))}]"
    return ["", number, record.external_id, f"q{number}-m{cell.node}-{cell.image}", label, text]


def _number_examples(rows: list[tuple[int, int, list[str]]]) -> None:
    """Give examples without a number the numbers after the largest."""
    numbers = [int(cells[1]) for _number, _new, cells in rows if cells[1].isdecimal()]
    following = max(numbers, default=-1) + 1
    given: dict[str, str] = {}
    for _number, _new, cells in rows:
        if cells[2] and not cells[1]:
            number = given.setdefault(cells[2], str(following + len(given)))
            cells[1], cells[3] = number, f"q{number}{cells[3][1:]}"


def _format_flag(gold: Document) -> str:
    """Return ``1`` to leave the example out, followed by a reason to keep it."""
    problem = gold.problem
    if problem is None:
        return ""
    if problem.kind == "other" and problem.note.startswith("1"):
        return problem.note
    where = "" if problem.node is None else f" at line {problem.node}"
    note = f": {problem.note}" if problem.note else ""
    return f"1 ({problem.kind}{where}{note})"


class _Pictured:
    """The boxes of a document by cell."""

    def __init__(self, program: Program, document: Document) -> None:
        self._program = program
        self._layers = document.layers
        self._boxes = {
            node: [box for box in objects if isinstance(box, Box)]
            for node, objects in resolve_references(document, program).items()
        }

    def content(self, cell: Cell) -> Any:
        """Return the comparable content of a cell.

        Boxes are in order; a count has what it counts, and its value.
        """
        node = self._program.nodes[cell.node]
        if node.module == "count":
            layer = self._layers.get(self._program.representative[cell.node])
            return self._list_counted_boxes(node.children[0], cell.image), layer.value if layer else None
        return self._list_boxes(cell.node, cell.image)

    def text(self, cell: Cell) -> str:
        """Return the cell as JSON; blank without objects."""
        node = self._program.nodes[cell.node]
        if node.module == "count":
            counted = self._list_counted_boxes(node.children[0], cell.image)
            return "" if counted is None else str(len(counted))
        return _format_boxes(self._list_boxes(cell.node, cell.image) or [])

    def _list_boxes(self, node: int, image: int) -> list[tuple[float, ...]] | None:
        boxes = self._boxes.get(self._program.representative[node])
        return None if boxes is None else [box.box for box in boxes if box.image == image]

    def _list_counted_boxes(self, child: int, image: int) -> list[tuple[float, ...]] | None:
        """Return the boxes below a count, or None if one image alone has none."""
        node = self._program.nodes[child]
        if node.role != "compute":
            return self._list_boxes(child, image)
        if node.module not in ("in-left-image", "in-right-image"):
            return None
        side = 0 if node.module == "in-left-image" else 1
        return self._list_counted_boxes(node.children[0], image) if image == side else []


def _format_boxes(boxes: Iterable[tuple[float, ...]]) -> str:
    values = [
        {
            "left": _format_decimals(x),
            "top": _format_decimals(y),
            "width": _format_decimals(u - x),
            "height": _format_decimals(v - y),
        }
        for x, y, u, v in boxes
    ]
    return encode_json(values).decode() if values else ""


def _format_decimals(fraction: float) -> str:
    """Format at least three decimals, as in the release, and more if needed."""
    text = f"{fraction:.{DIGITS}f}"
    return text[: -(DIGITS - 3)] + text[-(DIGITS - 3) :].rstrip("0")


def _build_program_rows(
    record: ItemRecord, program: Program, kept: dict[str, Any] | None
) -> dict[int | str, list[str]]:
    """Return the row of the item's program, read or new, and unused rows."""
    if kept is None:
        return {record.text.strip().lower(): _build_program_row(record, program)}
    number, cells = kept["program"]
    same = str(ProgramRow(number, tuple(cells)).program()) == str(program)
    return {**dict(kept["other_programs"]), number: cells if same else _build_program_row(record, program)}


def _build_program_row(record: ItemRecord, program: Program) -> list[str]:
    """Return the program with positions for words.

    Words that are not in the sentence are appended to it.
    """
    tokens = [record.text[start:end] for start, end in tokenize(record.text)]
    lines = []
    for node in program.nodes:
        name = "." * node.depth + node.module.replace("-", "_")
        if node.argument is None:
            lines.append(name)
            continue
        words = node.argument.split(" ")
        tokens.extend(word for word in dict.fromkeys(words) if word not in tokens)
        lines.append(f"{name}[{','.join(str(tokens.index(word)) for word in words)}]")
    return [record.text, "\n".join(lines), repr(dict(enumerate(tokens))), "1", "0"]


def _sort_rows(rows: dict[int | str, list[str]]) -> Iterator[list[str]]:
    """Yield rows that were read in the order of their file, then new ones."""
    yield from (rows[key] for key in sorted(key for key in rows if isinstance(key, int)))
    yield from (row for key, row in rows.items() if isinstance(key, str))


def _format_example(record: ItemRecord) -> str:
    content = {
        "identifier": record.external_id,
        "sentence": record.text,
        "label": None if record.answer is None else str(record.answer),
        **record.extra.get("nlvr2", {}),
    }
    return encode_json(content).decode()


def _write_table(path: Path, delimiter: str, columns: list[str], rows: Iterable[list[str]]) -> None:
    with write_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
        table.writerow(columns)
        table.writerows(map(escape_formula, row) for row in rows)
        text.detach()

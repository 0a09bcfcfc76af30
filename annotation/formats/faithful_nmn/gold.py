"""Read gold from the released cells, with repairs.

Every annotated step has a cell for each image: a list of boxes, blank if there are none, or a number for
counts. The files draw equal steps of a program several times, this site once; differences are reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from analysis.programs import Program
from annotation.content.schemas import Box, Chosen, Document, Layer, Object, Problem
from annotation.formats.boxes import Edges, clip_box
from annotation.formats.faithful_nmn.tables import BoxRow, Cell
from foundation.imports.findings import Findings
from foundation.messages import extract_message, field_error, say

ANNOTATED = frozenset({"find", "filter", "with-relation", "project", "count"})
SLACK = 0.005  # three decimals let a right edge pass 1; by up to 0.003 in the release

REPEATED_CELL = "cell given again alike, the last counts"
CONFLICTING_CELL = "cell given again with something else, the last counts"
BOX_WITHOUT_LIST = "box without a list around it"
REPEATED_BOX = "cell that gives a box twice, kept once"
COUNT_BOXES = "count cell that holds boxes, their number is taken"
COUNT_BLANK = "count cell left blank though there are boxes below"
UNMATCHED_BOX = "box of a choosing step that equals none of the step below, kept as a new one"
CONFLICTING_STEPS = "equal steps with different cells, those of the first count"
FLAGGED_PROGRAM = "program flagged with a reason, kept with the reason"

Cells = Mapping[Cell, BoxRow]


def index_rows_by_cell(rows: list[BoxRow], findings: Findings) -> dict[Cell, BoxRow]:
    """Return the row of each cell; the last counts, as in the paper's reader."""
    cells: dict[Cell, BoxRow] = {}
    for row in rows:
        before = cells.get(row.cell)
        if before is not None:
            findings.note_repair(
                REPEATED_CELL if before.text == row.text else CONFLICTING_CELL, f"line {row.line}"
            )
        cells[row.cell] = row
    return cells


Content = (
    int | tuple[tuple[int, Edges], ...] | None
)  # a number; boxes with their positions in the list; blank


def parse_cell_content(row: BoxRow, findings: Findings) -> Content:
    """Parse and repair the content of a cell.

    Raises:
        ValueError: It cannot be read.
    """
    if not row.text.strip():
        return None
    try:
        value = json.loads(row.text)
    except ValueError as error:
        raise field_error("annotation", "not JSON: %(problem)s", problem=extract_message(error)) from error
    if isinstance(value, dict):
        findings.note_repair(BOX_WITHOUT_LIST, f"line {row.line}")
        value = [value]
    if isinstance(value, list):
        boxes = _parse_boxes(row, value, findings)
        if row.module != "count":
            return boxes
        findings.note_repair(COUNT_BOXES, f"line {row.line}")
        return len(boxes)
    if row.module != "count" or not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise field_error("annotation", "expected a list of boxes, or for counts a number")
    return value


def _parse_boxes(row: BoxRow, values: list[Any], findings: Findings) -> tuple[tuple[int, Edges], ...]:
    boxes: dict[Edges, int] = {}
    for number, value in enumerate(values):
        edges = _parse_edges(row, number, value, findings)
        if edges is not None:
            boxes.setdefault(edges, number)
    if any(value in values[:number] for number, value in enumerate(values)):
        findings.note_repair(REPEATED_BOX, f"line {row.line}")
    return tuple((number, edges) for edges, number in boxes.items())


def _parse_edges(row: BoxRow, number: int, value: Any, findings: Findings) -> Edges | None:
    """Parse a box ``{"left", "top", "width", "height"}`` of fractions."""
    where = f"line {row.line}"
    try:
        left, top, width, height = (float(value[name]) for name in ("left", "top", "width", "height"))
        edges = (left, top, left + width, top + height)
        return clip_box(edges, slack=SLACK, findings=findings, path=where)
    except (KeyError, TypeError) as error:
        message = say("expected left, top, width and height")
        raise field_error(
            "annotation", "box %(number)s: %(message)s", number=number, message=message
        ) from error
    except ValueError as error:
        raise field_error(
            "annotation", "box %(number)s: %(problem)s", number=number, problem=extract_message(error)
        ) from error


def build_gold(program: Program, rows: list[BoxRow], findings: Findings) -> Document:
    """Return the gold of an example's rows, which `content` has checked.

    It reports only repairs across cells.
    """
    cells = index_rows_by_cell(rows, findings)
    layers: dict[int, Layer] = {}
    drawn: dict[int, list[Box]] = {}  # by layer, with references followed
    for index in program.walk:
        source = _find_source_step(program, cells, index, findings)
        if source is None:
            continue
        if program.nodes[index].module == "count":
            layers[index] = _build_count_layer(program, cells, source, drawn, findings)
        else:
            drawn[index] = _list_boxes(cells, source)
            objects = _build_objects(program, index, drawn, layers, cells, source, findings)
            layers[index] = Layer(state="done" if objects else "nothing", objects=objects)
    flag = next((row.flag for row in rows if row.flag), "")
    return Document(layers=dict(sorted(layers.items())), problem=_build_problem(flag, rows, findings))


def _build_problem(flag: str, rows: list[BoxRow], findings: Findings) -> Problem | None:
    if not flag:
        return None
    findings.note_repair(FLAGGED_PROGRAM, rows[0].identifier)
    return Problem(kind="other", note=flag)


def _find_source_step(program: Program, cells: Cells, index: int, findings: Findings) -> int | None:
    """Return the first of the equal steps that has any cells."""
    equal = [node for node, first in enumerate(program.representative) if first == index]
    given = [node for node in equal if Cell(node, 0) in cells or Cell(node, 1) in cells]
    for other in given[1:]:
        if any(
            _read_cell_text(cells, other, image) != _read_cell_text(cells, given[0], image)
            for image in (0, 1)
        ):
            row = cells.get(Cell(other, 0)) or cells[Cell(other, 1)]
            findings.note_repair(CONFLICTING_STEPS, f"line {row.line}")
    return given[0] if given else None


def _read_cell_text(cells: Cells, node: int, image: int) -> str:
    row = cells.get(Cell(node, image))
    return row.text if row is not None else ""


def _list_boxes(cells: Cells, node: int) -> list[Box]:
    """Return the boxes of a step in both images, in their order."""
    return [
        Box(id=f"m{node}-{image}-{number}", image=image, box=edges)
        for image in (0, 1)
        if isinstance(boxes := _read_cell(cells, node, image), tuple)
        for number, edges in boxes
    ]


def _read_cell(cells: Cells, node: int, image: int) -> Content:
    row = cells.get(Cell(node, image))
    return None if row is None else parse_cell_content(row, Findings())


def _build_objects(
    program: Program,
    index: int,
    drawn: Mapping[int, list[Box]],
    layers: Mapping[int, Layer],
    cells: Cells,
    source: int,
    findings: Findings,
) -> tuple[Object, ...]:
    """Return boxes as objects, or as references at choosing steps."""
    if program.nodes[index].role != "choose":
        return tuple(drawn[index])
    offered = {
        (box.image, box.box): object_.id
        for child in reversed(_find_offering_steps(program, program.nodes[index].children[0]))
        for box, object_ in zip(
            drawn.get(child, ()), layers[child].objects if child in layers else (), strict=True
        )
    }
    objects: list[Object] = []
    for box in drawn[index]:
        equal = offered.get((box.image, box.box))
        if equal is None:
            findings.note_repair(UNMATCHED_BOX, f"line {cells[Cell(source, box.image)].line}")
            objects.append(box.model_copy(update={"reason": "as released: equals no box of the step below"}))
        else:
            objects.append(Chosen(id=box.id, ref=equal))
    return tuple(objects)


def _find_offering_steps(program: Program, child: int) -> list[int]:
    """Return the steps whose objects a step chooses from.

    A computed child hands on those of its own.
    """
    if program.nodes[child].role != "compute":
        return [program.representative[child]]
    return [
        index for inner in program.nodes[child].children for index in _find_offering_steps(program, inner)
    ]


def _build_count_layer(
    program: Program, cells: Cells, node: int, drawn: Mapping[int, list[Box]], findings: Findings
) -> Layer:
    """Return a count's layer.

    Its value is the sum over the pair, unless it counts in each image alone.
    """
    numbers = [_read_cell(cells, node, image) for image in (0, 1)]
    for image in (0, 1):
        row = cells.get(Cell(node, image))
        below = _find_offering_steps(program, program.nodes[node].children[0])
        counted = any(box.image == image for child in below for box in drawn.get(child, ()))
        if row is not None and numbers[image] is None and counted:
            findings.note_repair(COUNT_BLANK, f"line {row.line}")
    left, right = numbers
    if not isinstance(left, int) or not isinstance(right, int) or _is_run_per_image(program, node):
        return Layer()
    return Layer(state="done", value=left + right)


def _is_run_per_image(program: Program, node: int) -> bool:
    """Return True if a step runs on each image alone."""
    above = program.nodes[node].parent
    while above is not None:
        if program.nodes[above].module in ("in-each-image", "in-at-least-one-image", "in-one-other-image"):
            return True
        above = program.nodes[above].parent
    return False

"""Gold and outputs from files: one example a line, as JSON.

Gold of boxes is {"id", "modules": [{"index", "module", "boxes": [[[x1, y1, x2, y2], …] per image]}]}, with
the node's words as "argument" if known, and outputs are {"id", "proposals": [[[x1, y1, x2, y2], …] per
image], "modules": [{"index", "module", "probabilities": [p of the first image's proposals, then of the next
one's, …]}]}.

Gold of spans is {"id", "modules": [{"module", "spans": [[start, end], …]}]}, in tokens, end exclusive, and
outputs are {"id", "modules": [{"module", "attention": [p of each token]}]}; several attentions that stand for
one gold list may be a list of lists. The outputs that the code of nmn-drop writes are read as they are:
{"query_id", "qtype", "predicted_logical_form", "module_outputs": [[module, [p of each token]], …]}.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..io.errors import InputError, Malformed
from ..io.whole_files import parse_model, read_json, read_lines
from ..stats.arrays import Array
from .examples import GoldExample, GoldModule, OutputExample, OutputModule, is_scored, normalise_module_name
from .overlap import Index
from .spans import GoldSpans, SpanOutput

# The type of question that each program of nmn-drop answers.
_FIND, _FILTERED = "find_PassageAttention", "(filter_PassageAttention find_PassageAttention)"
NMN_DROP_TYPES = {
    f"(find_PassageNumber {_FIND})": "num_find_qtype",
    f"(find_PassageNumber {_FILTERED})": "num_filterfind_qtype",
    f"(passageAttn2Count {_FIND})": "count_find_qtype",
    f"(passageAttn2Count {_FILTERED})": "count_filterfind_qtype",
    f"(find_passageSpanAnswer (relocate_PassageAttention {_FIND}))": "relocate_find_qtype",
    f"(find_passageSpanAnswer (relocate_PassageAttention {_FILTERED}))": "relocate_filterfind_qtype",
    f"(year_difference_single_event {_FIND})": "yeardiff_find_qtype",
    f"(year_difference {_FIND} {_FIND})": "yeardiff_find2_qtype",
    **{
        f"(find_passageSpanAnswer (compare_{kind}_{sign}_than {_FIND} {_FIND}))": type_
        for kind, type_ in (("date", "date_comparison"), ("num", "number_comparison"))
        for sign in ("lesser", "greater")
    },
    **{
        form.format(f"({side}NumPattn {found})"): type_.format(side, filtered)
        for side in ("min", "max")
        for found, filtered in ((_FIND, ""), (_FILTERED, "filter"))
        for form, type_ in (
            ("(find_PassageNumber {})", "{}_{}find_qtype"),
            ("(find_passageSpanAnswer (relocate_PassageAttention {}))", "relocate_{}{}find_qtype"),
        )
    },
}

Number = Annotated[float, Field(allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1 + 1e-6, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]
Place = Annotated[int, Field(ge=0)]
Boxes = list[tuple[Number, Number, Number, Number]]


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _GoldNode(_Line):
    index: Place
    module: Name
    boxes: list[Boxes] | None = None
    argument: str = ""


class _OutputNode(_Line):
    index: Place
    module: Name
    probabilities: list[Probability] | None = None


class _GoldList(_Line):
    module: Name
    spans: list[tuple[Place, Place]]


class _Attention(_Line):
    module: Name
    attention: list[Probability] | list[list[Probability]]


Node = TypeVar("Node", _GoldNode, _GoldList, _Attention)


class _Example(_Line, Generic[Node]):
    id: Name
    modules: list[Node]


class _NmnDrop(_Line):
    query_id: Name
    qtype: Name
    predicted_logical_form: str
    module_outputs: list[tuple[Name, list[Probability]]]

    @property
    def id(self) -> str:
        return self.query_id


class _Output(_Line):
    id: Name
    proposals: list[Boxes]
    modules: list[_OutputNode]


Wire = TypeVar("Wire", bound=_Line)
Made = TypeVar("Made", GoldExample, OutputExample, GoldSpans, SpanOutput)


def read_box_gold(path: Path) -> list[GoldExample]:
    """Read gold boxes.

    Args:
        path: File of JSON lines, in the form that `analysis.faithfulness.files` describes.

    Returns:
        Examples in the file's order.

    Raises:
        InputError: The file is missing or malformed; names file, line and field.
    """
    return _read(path, _Example[_GoldNode], _parse_box_gold)


def read_box_outputs(path: Path) -> dict[str, OutputExample]:
    """Read a system's boxes.

    Args:
        path: File of JSON lines, in the form that `analysis.faithfulness.files` describes.

    Returns:
        Outputs by ID, in the file's order.

    Raises:
        InputError: The file is missing or malformed; names file, line and field.
    """
    return {output.id: output for output in _read(path, _Output, _parse_box_output)}


def read_span_gold(path: Path) -> list[GoldSpans]:
    """Read gold spans.

    Args:
        path: File of JSON lines, in the form that `analysis.faithfulness.files` describes, or the released
            DROP annotations (`.json`).

    Returns:
        Questions in the file's order.

    Raises:
        InputError: The file is missing or malformed; names file, line (or question) and field.
    """
    if path.suffix == ".json":
        return _read_released_drop(path)
    return _read(path, _Example[_GoldList], _parse_span_gold)


@dataclass(frozen=True)
class SpanOutputs:
    """A system's attentions by ID.

    other_program: the questions of nmn-drop's outputs whose predicted program is not of their type; None for
    other files.
    """

    by_id: dict[str, SpanOutput]
    other_program: tuple[str, ...] | None = None


def read_span_outputs(path: Path) -> dict[str, SpanOutput]:
    """Read a system's attentions, as `load_span_outputs` does.

    Args:
        path: File of JSON lines, in the form that `analysis.faithfulness.files` describes, or the outputs of
            nmn-drop.

    Returns:
        Outputs by ID, without those of nmn-drop with another program than their type asks for.

    Raises:
        InputError: The file is missing or malformed; names file, line and field.
    """
    return load_span_outputs(path).by_id


def load_span_outputs(path: Path) -> SpanOutputs:
    """Read a system's attentions; the first line decides on the form.

    Of nmn-drop's outputs those with another program than their type asks for are left out, as the released
    script does.

    Raises:
        InputError: Names file, line and field.
    """
    if not _is_nmn_drop(path):
        return SpanOutputs(
            {output.id: output for output in _read(path, _Example[_Attention], _parse_span_output)}
        )
    fits = {output.id: output for output in _read(path, _NmnDrop, _parse_released_output)}
    others = tuple(id for id, output in fits.items() if not output.modules)
    return SpanOutputs({id: output for id, output in fits.items() if output.modules}, others)


def _is_nmn_drop(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b'"module_outputs"' in file.readline()
    except OSError:
        return False  # reading it as another file says why


def find_line(path: Path, id: str) -> int | None:
    """Find the line of an example in JSON lines; None without it."""

    def read_id_and_line(number: int, line: bytes) -> tuple[str, int]:
        example = json.loads(line)
        return example.get("id", example.get("query_id")), number

    ids = read_lines(path, read_id_and_line, what="example")
    return next((number for name, number in ids if name == id), None)


def _read(path: Path, wire: type[Wire], make: Callable[[Wire], Made]) -> list[Made]:
    """Parse every line of a file; an ID must not repeat."""
    lines: dict[str, int] = {}

    def read(number: int, line: bytes) -> Made:
        where = f"line {number}"
        try:
            example = make(parse_model(wire, line, path, where=where))
        except Malformed as error:
            raise InputError(path, error.problem, where=where, field=error.field) from None
        first = lines.setdefault(example.id, number)
        if first != number:
            raise InputError(path, f"{example.id!r} is already in line {first}", where=where, field="id")
        return example

    return read_lines(path, read, what="example")


def _parse_box_gold(wire: _Example[_GoldNode]) -> GoldExample:
    _check_indices([node.index for node in wire.modules])
    scored = (node for node in wire.modules if is_scored(normalise_module_name(node.module)))
    images = {len(node.boxes) for node in scored if node.boxes is not None}
    if len(images) > 1:
        raise Malformed("nodes differ in their number of images", "modules")
    nodes = []
    for position, node in enumerate(wire.modules):
        boxes = None
        if node.boxes is not None:
            boxes = tuple(
                _parse_boxes(image, f"modules.{position}.boxes.{k}") for k, image in enumerate(node.boxes)
            )
        nodes.append(GoldModule(node.index, normalise_module_name(node.module), boxes, node.argument))
    return GoldExample(wire.id, tuple(nodes))


def _parse_box_output(wire: _Output) -> OutputExample:
    _check_indices([node.index for node in wire.modules])
    proposals = tuple(_parse_boxes(image, f"proposals.{k}") for k, image in enumerate(wire.proposals))
    total = sum(map(len, proposals))
    nodes = []
    for position, node in enumerate(wire.modules):
        if node.probabilities is None:
            continue
        if len(node.probabilities) != total:
            problem = f"there are {len(node.probabilities)} probabilities for {total} proposals"
            raise Malformed(problem, f"modules.{position}.probabilities")
        nodes.append(
            OutputModule(node.index, normalise_module_name(node.module), np.array(node.probabilities))
        )
    return OutputExample(wire.id, proposals, tuple(nodes))


def _parse_span_gold(wire: _Example[_GoldList]) -> GoldSpans:
    return GoldSpans(wire.id, tuple((node.module, _parse_spans(node.spans)) for node in wire.modules))


def _parse_span_output(wire: _Example[_Attention]) -> SpanOutput:
    modules = []
    for position, node in enumerate(wire.modules):
        field = f"modules.{position}.attention"
        rows = node.attention if node.attention and isinstance(node.attention[0], list) else [node.attention]
        if len({len(row) for row in rows}) != 1:
            raise Malformed("attentions to be merged must be over the same tokens", field)
        modules.append((node.module, np.array(rows, dtype=float)))
    return SpanOutput(wire.id, tuple(modules))


def _parse_released_output(wire: _NmnDrop) -> SpanOutput:
    """Return a question's outputs; none if its program is of another type."""
    if NMN_DROP_TYPES.get(wire.predicted_logical_form) != wire.qtype:
        return SpanOutput(wire.query_id, ())
    rows = tuple((name, np.array([attention], dtype=float)) for name, attention in wire.module_outputs)
    return SpanOutput(wire.query_id, rows, goes_on=True)


def _check_indices(indices: list[int]) -> None:
    for position, index in enumerate(indices):
        if index in indices[:position]:
            raise Malformed(f"node {index} is there twice", f"modules.{position}.index")


def _parse_boxes(boxes: Boxes, field: str) -> Array:
    array = np.array(boxes, dtype=float).reshape(-1, 4)
    turned = (array[:, 2] < array[:, 0]) | (array[:, 3] < array[:, 1])
    if turned.any():
        problem = "a box must be [left, top, right, bottom], with right and bottom not below left and top"
        raise Malformed(problem, f"{field}.{int(turned.argmax())}")
    return array


def _parse_spans(spans: list[tuple[int, int]]) -> Index:
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _read_released_drop(path: Path) -> list[GoldSpans]:
    """Read the released DROP module outputs: one example per question."""
    passages = read_json(path)
    questions = []
    try:
        for passage in passages.values():
            for question in passage["qa_pairs"]:
                lists = ((name, _parse_spans(spans)) for name, spans in question["module_output_annotations"])
                questions.append(GoldSpans(question["query_id"], tuple(lists)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"is not of the form of the released DROP module outputs ({type(error).__name__}: {error})"
        raise InputError(path, problem, where=f"after {len(questions)} questions") from None
    return questions

"""Read Label Studio tasks, with unknown data for a round trip."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.programs import Program, ProgramError, describe
from annotation.content.schemas import (
    AnnotationRecord,
    Chosen,
    Document,
    Image,
    ItemRecord,
    Kind,
    Layer,
    Object,
    Problem,
)
from annotation.formats.checks import check_record, parse_program_text
from annotation.formats.images import ImageFolder
from annotation.formats.label_studio.results import BOXES, SPANS, parse_box_result, parse_span_result
from annotation.formats.references import build_document
from annotation.formats.source import Source
from annotation.formats.texts import Tokens, tokenize
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.imports.import_fields import list_errors
from foundation.imports.json_stream import read_values
from foundation.messages import extract_message, field_error, prefix_field

NAME = "label_studio"  # the part of `extra` for a lossless round trip
OURS = "touchstone"  # the field that we add to tasks and annotations
REASON = "drawn in Label Studio"

OTHER_RESULT = "result other than a box or span, kept aside"
RENAMED_ID = "result whose id cannot be used or came before, renamed"
SECOND_GOLD = "second ground truth of a task, kept as a person's annotation"

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_CONTROL = re.compile(r"m(\d+)(?:-(state|note|value))?")


class TaskAnnotation(BaseModel):
    """One annotation of a task."""

    model_config = ConfigDict(extra="allow", frozen=True)

    completed_by: int | str | dict[str, Any] | None = None
    ground_truth: bool = False
    was_cancelled: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    result: list[dict[str, Any]] = []
    touchstone: dict[str, Any] = {}

    @property
    def annotator(self) -> str:
        """Return the name of its author."""
        by = self.completed_by
        if isinstance(by, dict):
            by = by.get("email") or by.get("username") or by.get("id")
        return str(by) if by is not None else "unknown"


class _Ours(BaseModel):
    """The fields of an item that a task lacks."""

    images: list[dict[str, Any]] = []
    tokens: list[tuple[int, int]] = []
    extra: dict[str, Any] = {}


class _Meta(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    touchstone: _Ours = _Ours()


class Task(BaseModel):
    """A task of an export."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: int | str | None = None
    data: dict[str, Any]
    meta: _Meta | None = None
    annotations: list[TaskAnnotation] = []


def read_label_studio(source: Source) -> Iterator[ItemRecord]:
    """Yield the items of a JSON export, one task in memory at a time.

    The export is a list of tasks, or has one a line. The ground truth becomes the gold; the others are
    people's annotations. Without images the results tell their sizes.

    Raises:
        BadFile: Names line and field.
    """
    path, findings = source.path, source.findings
    elements = read_values(path, on_progress=source.on_progress, on_error=findings.on_error)
    for number, element in enumerate(elements):
        try:
            task = Task.model_validate(element.value)
            record = _Reading(task, number, source.images, findings).record()
            findings.note_entry(record.external_id, path, line=element.line, field="data.external_id")
        except (ValueError, BadFile) as error:  # BadFile of an image
            findings.refuse(error, path, element=element, entry=f"task {number}")
        else:
            yield record


class _Reading:
    """One task being read."""

    def __init__(self, task: Task, number: int, folder: ImageFolder | None, findings: Findings) -> None:
        self._task = task
        self._number = number
        self._findings = findings
        self._ours = (task.meta or _Meta()).touchstone
        self._kept: dict[str, Any] = {}
        data = task.data
        numbered = (key for key in data if re.fullmatch(r"image\d+", key))
        keys = sorted(numbered, key=lambda key: int(key.removeprefix("image")))
        keys = keys or [key for key in ("image",) if key in data]
        self._images = tuple(self._image(path, data, key, folder) for path, key in enumerate(keys))
        self._passage = "" if self._images else str(data.get("passage", ""))
        self._tokens: Tokens = self._ours.tokens or tokenize(self._passage)
        text = str(data.get("program") or "")
        try:
            kind: Kind = "boxes" if self._images else "spans"
            self._program = parse_program_text(text, kind) if text else None
        except ProgramError as error:
            raise ValueError(prefix_field("data.program", extract_message(error))) from error

    def record(self) -> ItemRecord:
        """Return the item.

        Raises:
            ValueError: Names the field that cannot be read.
        """
        gold: Document | None = None
        people: list[AnnotationRecord] = []
        for number, annotation in enumerate(self._task.annotations):
            path = f"annotations[{number}]"
            first = annotation.ground_truth and gold is None
            if annotation.ground_truth and not first:
                self._findings.note_repair(SECOND_GOLD, self._path)
            key = "gold" if first else str(len(people))
            document = self._document(annotation, path, key)
            if first:
                gold = document
            else:
                people.append(build_annotation_record(annotation, document))
        data = self._task.data
        external_id = data.get("external_id", self._task.id)
        return check_record(
            ItemRecord(
                external_id=str(external_id if external_id is not None else self._number),
                kind="boxes" if self._images else "spans",
                program="" if self._program is None else str(self._program),
                text=str(data.get("text", "")),
                passage=self._passage,
                tokens=tuple(self._tokens),
                images=self._images,
                answer=data.get("answer"),
                gold=gold,
                annotations=tuple(people),
                extra={**self._ours.extra, **self._build_extra()},
            )
        )

    @property
    def _path(self) -> str:
        return f"task {self._number}"

    def _image(self, path: int, data: dict[str, Any], key: str, folder: ImageFolder | None) -> Image:
        if key not in data:
            raise field_error(f"data.{key}", "is missing")
        if folder is not None:
            return folder.find(str(data[key]))
        ours = self._ours.images
        sizes = (
            (result.get("original_width"), result.get("original_height"))
            for annotation in self._task.annotations
            for result in annotation.result
            if result.get("to_name") in (key, f"image{path}")
        )
        width, height = next((size for size in sizes if all(size)), (None, None))
        return Image(
            name=str(data[key]), **(ours[path] if path < len(ours) else {"width": width, "height": height})
        )

    def _build_extra(self) -> dict[str, Any]:
        """Return the data of the task that an item has no field for."""
        task = self._task.model_dump(exclude={"annotations", "data"}, exclude_unset=True)
        if OURS in (task.get("meta") or {}):
            task["meta"] = {key: value for key, value in task["meta"].items() if key != OURS}
            task = {key: value for key, value in task.items() if key != "meta" or value}
        item_keys = {"external_id", "program", "answer", "text", "passage"}
        item_keys |= {f"image{path}" for path in range(len(self._images))}
        kept = {
            "task": task,
            "data": {key: value for key, value in self._task.data.items() if key not in item_keys},
            "works": self._kept,
        }
        return {NAME: kept} if any(kept.values()) else {}

    def _document(self, annotation: TaskAnnotation, path: str, key: str) -> Document:
        """Return the document of an annotation; keep unknown results by key."""
        drawn: dict[int, list[Object]] = {}
        layers: dict[int, dict[str, Any]] = {}
        kept: dict[str, Any] = {"fields": _collect_unknown_fields(annotation), "results": {}, "aside": []}
        names: set[str] = set()
        problem = None
        for number, result in enumerate(annotation.result):
            try:
                layer_value = self._layer_result(result)
                if result.get("from_name") == "problem" and result.get("type") == "textarea":
                    problem = Problem.model_validate(json.loads(result["value"]["text"][0]))
                elif layer_value is not None:
                    node, name, value = layer_value
                    layers.setdefault(node, {})[name] = value
                elif result.get("type") in (*BOXES, *SPANS):
                    self._take(result, names, drawn, kept, path)
                else:
                    self._findings.note_repair(OTHER_RESULT, f"{self._path}: {result.get('type')}")
                    kept["aside"].append(result)
            except (AttributeError, KeyError, IndexError, TypeError) as error:
                raise field_error(
                    f"{path}.result[{number}]", "%(problem)s is not as expected", problem=repr(error)
                ) from error
            except ValidationError as error:
                _path, field, reason = list_errors(error)[0]
                raise ValueError(prefix_field(f"{path}.result[{number}].{field}", reason)) from error
            except ValueError as error:
                raise ValueError(prefix_field(f"{path}.result[{number}]", extract_message(error))) from error
        if any(kept.values()):
            self._kept[key] = {name: value for name, value in kept.items() if value}
        if self._program is None:
            return Document(problem=problem)
        given_layers = {node: Layer.model_validate(values) for node, values in layers.items()}
        return build_document(
            self._program,
            drawn,
            reason=REASON,
            findings=self._findings,
            path=self._path,
            layers=given_layers,
            problem=problem,
        )

    def _layer_result(self, result: dict[str, Any]) -> tuple[int, str, Any] | None:
        """Return the node, name and value of a result for a layer's own field."""
        match = _CONTROL.fullmatch(str(result.get("from_name")))
        if match is None or not match[2]:
            return None
        if match[2] == "state":
            return int(match[1]), "state", result["value"]["choices"][0]
        text = result["value"]["text"][0]
        return int(match[1]), match[2], json.loads(text) if match[2] == "value" else text

    def _take(
        self,
        result: dict[str, Any],
        names: set[str],
        drawn: dict[int, list[Object]],
        kept: dict[str, Any],
        path: str,
    ) -> None:
        """Add the object of a box or span to its node."""
        if self._program is None:
            raise field_error("data.program", "is missing, and objects need the steps of one")
        node = self._node(self._program, result)
        name = self._name(str(result.get("id", "")), names)
        drawn_object: Object | None
        if result["type"] in BOXES:
            drawn_object = parse_box_result(result, name, self._images, self._findings, self._path)
        else:
            drawn_object = parse_span_result(
                result, name, self._passage, self._tokens, self._findings, self._path
            )
        if drawn_object is None:
            return
        ours = (result.get("meta") or {}).get(OURS, {})
        if "ref" in ours:
            drawn_object = Chosen(id=name, ref=ours["ref"])
        elif ours:
            drawn_object = drawn_object.model_copy(
                update={"links": tuple(ours.get("links", ())), "reason": ours.get("reason", "")}
            )
        drawn.setdefault(node, []).append(drawn_object)
        if rest := _collect_other_fields(result, describe(self._program.nodes[node])):
            kept["results"][name] = rest

    def _node(self, program: Program, result: dict[str, Any]) -> int:
        control = str(result.get("from_name"))
        match = _CONTROL.fullmatch(control)
        if match is None:
            raise field_error("from_name", "%(control)r is not m and the number of a step", control=control)
        node = int(match[1])
        if node >= len(program.nodes):
            raise field_error("from_name", "the program has no step %(node)s", node=node)
        return node

    def _name(self, given: str, names: set[str]) -> str:
        name = given if _ID.fullmatch(given) else "r"
        if name != given or name in names:
            self._findings.note_repair(RENAMED_ID, self._path)
            name = next(
                new for number in range(len(names) + 2) if (new := f"{name[:56]}.{number}") not in names
            )
        names.add(name)
        return name


def build_annotation_record(annotation: TaskAnnotation, document: Document) -> AnnotationRecord:
    """Return an annotation with author, status and times."""
    status = annotation.touchstone.get("status", "skipped" if annotation.was_cancelled else "submitted")
    return AnnotationRecord(
        annotator=annotation.annotator,
        document=document,
        status=status,
        revision=annotation.touchstone.get("revision", 0),
        started=annotation.created_at,
        submitted=annotation.updated_at,
        predictions_shown=tuple(annotation.touchstone.get("predictions_shown", ())),
    )


def _collect_unknown_fields(annotation: TaskAnnotation) -> dict[str, Any]:
    """Return unknown fields of an annotation, and unusual authors."""
    fields = dict(annotation.model_extra or {})
    if annotation.completed_by is not None and (
        annotation.ground_truth or not isinstance(annotation.completed_by, str)
    ):
        fields["completed_by"] = annotation.completed_by
    return fields


def _collect_other_fields(result: dict[str, Any], label: str) -> dict[str, Any]:
    """Return the fields of a result that are not its position."""
    placed = {"id", "from_name", "to_name", "value", "image_rotation", "original_width", "original_height"}
    rest = {key: value for key, value in result.items() if key not in placed}
    if rest["type"] in (BOXES[0], SPANS[0]):  # as in all that we write
        del rest["type"]
    numbers = {"x", "y", "width", "height", "rotation", "start", "end", "text"}
    value = {
        key: inner
        for key, inner in result.get("value", {}).items()
        if key not in numbers and not (key in (BOXES[0], SPANS[0]) and inner == [label])
    }
    if isinstance(rest.get("meta"), dict):
        rest["meta"] = {key: inner for key, inner in rest["meta"].items() if key != OURS}
    return {key: inner for key, inner in {**rest, "value": value}.items() if inner not in ({}, None)}

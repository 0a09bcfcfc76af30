"""Reads Label Studio tasks. What an item has no place for is kept, and goes out again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.programs import Program, ProgramError, describe
from annotation.formats.checks import check_record, program_of_text
from annotation.formats.images import ImageFolder
from annotation.formats.label_studio.results import BOXES, SPANS, box_of, span_of_result
from annotation.formats.references import document_of
from annotation.formats.report import Report
from annotation.formats.texts import Tokens, tokenize
from annotation.schemas import (
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
from foundation.errors import BadFile
from foundation.import_fields import first_error
from foundation.json_stream import read_values

NAME = "label_studio"  # of the part of `extra` that holds what a task needs to go out again
OURS = "touchstone"  # of what we add to a task's and an annotation's own fields
REASON = "drawn in Label Studio"

ASIDE = "result that is no box or span, kept aside"
RENAMED = "result whose id cannot be used or came before, renamed"
SECOND_GOLD = "second ground truth of a task, kept as the work of a person"

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_CONTROL = re.compile(r"m(\d+)(?:-(state|note|value))?")


@dataclass(frozen=True)
class TaskFields:
    """Where in a task's data things lie, for tasks that were not written here.

    nodes: the step of each control that is not called ``m{index}``. program: the nested text of tasks whose
    data has none.
    """

    images: tuple[str, ...] = ()
    passage: str = "passage"
    text: str = "text"
    program: str = ""
    nodes: Mapping[str, int] | None = None


class _Work(BaseModel):
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
        by = self.completed_by
        if isinstance(by, dict):
            by = by.get("email") or by.get("username") or by.get("id")
        return str(by) if by is not None else "unknown"


class _Task(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    id: int | str | None = None
    data: dict[str, Any]
    meta: dict[str, Any] | None = None
    annotations: list[_Work] = []


def read_label_studio(
    path: Path,
    *,
    fields: TaskFields | None = None,
    images: ImageFolder | None = None,
    report: Report | None = None,
    told: Callable[[int], None] | None = None,
) -> Iterator[ItemRecord]:
    """Yield the items of a JSON export (a list of tasks, or one a line), a task in memory at a time.

    The ground truth becomes the gold, the other annotations the work of people. images: the folder of the
    pictures; without one their sizes are those that the results say. Raises BadFile with line and field.
    """
    report = report if report is not None else Report()
    seen: set[str] = set()
    for number, (line, value) in enumerate(read_values(path, told=told)):
        try:
            task = _Task.model_validate(value)
            record = _Reading(task, number, fields or TaskFields(), images, report).record()
            if record.external_id in seen:
                raise ValueError(f"data.external_id: {record.external_id!r} came before")
        except ValidationError as error:
            raise BadFile(path, f"task {number}: {first_error(error)}", line=line) from error
        except ValueError as error:
            raise BadFile(path, f"task {number}: {error}", line=line) from error
        seen.add(record.external_id)
        yield record


class _Reading:
    """One task being read."""

    def __init__(
        self, task: _Task, number: int, fields: TaskFields, folder: ImageFolder | None, report: Report
    ) -> None:
        self._task = task
        self._number = number
        self._fields = fields
        self._report = report
        self._ours: dict[str, Any] = (task.meta or {}).get(OURS, {})
        self._kept: dict[str, Any] = {}
        data = task.data
        numbered = (key for key in data if re.fullmatch(r"image\d+", key))
        keys = fields.images or tuple(sorted(numbered, key=lambda key: int(key.removeprefix("image"))))
        keys = keys or tuple(key for key in ("image",) if key in data)
        self._images = tuple(self._image(place, data, key, folder) for place, key in enumerate(keys))
        self._passage = "" if self._images else str(data.get(fields.passage, ""))
        self._tokens: Tokens = self._ours.get("tokens") or tokenize(self._passage)
        text = str(data.get("program") or fields.program)
        try:
            kind: Kind = "boxes" if self._images else "spans"
            self._program = program_of_text(text, kind) if text else None
        except ProgramError as error:
            raise ValueError(f"data.program: {error}") from error

    def record(self) -> ItemRecord:
        """The item. Raises ValueError, which names the field, where something cannot be read."""
        gold: Document | None = None
        people: list[AnnotationRecord] = []
        for number, work in enumerate(self._task.annotations):
            place = f"annotations[{number}]"
            first = work.ground_truth and gold is None
            if work.ground_truth and not first:
                self._report.add(SECOND_GOLD, self._place)
            key = "gold" if first else str(len(people))
            document = self._document(work, place, key)
            if first:
                gold = document
            else:
                people.append(_annotation(work, document))
        data = self._task.data
        external_id = data.get("external_id", self._task.id)
        return check_record(
            ItemRecord(
                external_id=str(external_id if external_id is not None else self._number),
                kind="boxes" if self._images else "spans",
                program="" if self._program is None else str(self._program),
                text=str(data.get(self._fields.text, "")),
                passage=self._passage,
                tokens=tuple(self._tokens),
                images=self._images,
                answer=data.get("answer"),
                gold=gold,
                annotations=tuple(people),
                extra={**self._ours.get("extra", {}), **self._extra()},
            )
        )

    @property
    def _place(self) -> str:
        return f"task {self._number}"

    def _image(self, place: int, data: dict[str, Any], key: str, folder: ImageFolder | None) -> Image:
        if key not in data:
            raise ValueError(f"data.{key}: is missing")
        if folder is not None:
            return folder.find(str(data[key]))
        ours = self._ours.get("images", [])
        sizes = (
            (result.get("original_width"), result.get("original_height"))
            for work in self._task.annotations
            for result in work.result
            if result.get("to_name") in (key, f"image{place}")
        )
        width, height = next((size for size in sizes if all(size)), (None, None))
        return Image(
            name=str(data[key]), **(ours[place] if place < len(ours) else {"width": width, "height": height})
        )

    def _extra(self) -> dict[str, Any]:
        """What the task has and an item has not."""
        task = self._task.model_dump(exclude={"annotations", "data"}, exclude_unset=True)
        if OURS in (task.get("meta") or {}):
            task["meta"] = {key: value for key, value in task["meta"].items() if key != OURS}
            task = {key: value for key, value in task.items() if key != "meta" or value}
        known = {"external_id", "program", "answer", self._fields.text, self._fields.passage}
        known |= {f"image{place}" for place in range(len(self._images))}
        kept = {
            "task": task,
            "data": {key: value for key, value in self._task.data.items() if key not in known},
            "works": self._kept,
        }
        return {NAME: kept} if any(kept.values()) else {}

    def _document(self, work: _Work, place: str, key: str) -> Document:
        """What an annotation says; what is neither box nor span nor ours is kept under the key."""
        drawn: dict[int, list[Object]] = {}
        layers: dict[int, dict[str, Any]] = {}
        kept: dict[str, Any] = {"fields": _unknown(work), "results": {}, "aside": []}
        names: set[str] = set()
        problem = None
        for number, result in enumerate(work.result):
            try:
                told = self._told(result)
                if result.get("from_name") == "problem" and result.get("type") == "textarea":
                    problem = Problem.model_validate(json.loads(result["value"]["text"][0]))
                elif told is not None:
                    node, name, value = told
                    layers.setdefault(node, {})[name] = value
                elif result.get("type") in (*BOXES, *SPANS):
                    self._take(result, names, drawn, kept, place)
                else:
                    self._report.add(ASIDE, f"{self._place}: {result.get('type')}")
                    kept["aside"].append(result)
            except (KeyError, IndexError, TypeError) as error:
                raise ValueError(f"{place}.result[{number}]: {error!r} is not as expected") from error
            except ValidationError as error:
                raise ValueError(f"{place}.result[{number}].{first_error(error)}") from error
            except ValueError as error:
                raise ValueError(f"{place}.result[{number}]: {error}") from error
        if any(kept.values()):
            self._kept[key] = {name: value for name, value in kept.items() if value}
        if self._program is None:
            return Document(problem=problem)
        known = {node: Layer.model_validate(values) for node, values in layers.items()}
        return document_of(
            self._program,
            drawn,
            reason=REASON,
            report=self._report,
            path=self._place,
            layers=known,
            problem=problem,
        )

    def _told(self, result: dict[str, Any]) -> tuple[int, str, Any] | None:
        """The node, name and value of a result that tells a layer's state, note or value."""
        found = _CONTROL.fullmatch(str(result.get("from_name")))
        if found is None or not found[2]:
            return None
        if found[2] == "state":
            return int(found[1]), "state", result["value"]["choices"][0]
        text = result["value"]["text"][0]
        return int(found[1]), found[2], json.loads(text) if found[2] == "value" else text

    def _take(
        self,
        result: dict[str, Any],
        names: set[str],
        drawn: dict[int, list[Object]],
        kept: dict[str, Any],
        place: str,
    ) -> None:
        """Add the object of a box or span to its node."""
        if self._program is None:
            raise ValueError("data.program: is missing, and objects need the steps of one")
        node = self._node(self._program, result)
        name = self._name(str(result.get("id", "")), names)
        one: Object | None
        if result["type"] in BOXES:
            one = box_of(result, name, self._images, self._report, self._place)
        else:
            one = span_of_result(result, name, self._passage, self._tokens, self._report, self._place)
        if one is None:
            return
        ours = (result.get("meta") or {}).get(OURS, {})
        if "ref" in ours:
            one = Chosen(id=name, ref=ours["ref"])
        elif ours:
            one = one.model_copy(
                update={"links": tuple(ours.get("links", ())), "reason": ours.get("reason", "")}
            )
        drawn.setdefault(node, []).append(one)
        if rest := _rest(result, describe(self._program.nodes[node])):
            kept["results"][name] = rest

    def _node(self, program: Program, result: dict[str, Any]) -> int:
        control = str(result.get("from_name"))
        found = _CONTROL.fullmatch(control)
        node = (self._fields.nodes or {}).get(control, int(found[1]) if found else None)
        if node is None:
            raise ValueError(f"from_name: {control!r} is not m and the number of a step")
        if node >= len(program.nodes):
            raise ValueError(f"from_name: the program has no step {node}")
        return node

    def _name(self, given: str, names: set[str]) -> str:
        name = given if _ID.fullmatch(given) else "r"
        if name != given or name in names:
            self._report.add(RENAMED, self._place)
            name = next(
                new for number in range(len(names) + 2) if (new := f"{name[:56]}.{number}") not in names
            )
        names.add(name)
        return name


def _annotation(work: _Work, document: Document) -> AnnotationRecord:
    status = work.touchstone.get("status", "skipped" if work.was_cancelled else "submitted")
    return AnnotationRecord(
        annotator=work.annotator,
        document=document,
        status=status,
        revision=work.touchstone.get("revision", 0),
        started=work.created_at,
        submitted=work.updated_at,
        predictions_shown=tuple(work.touchstone.get("predictions_shown", ())),
    )


def _unknown(work: _Work) -> dict[str, Any]:
    """The fields of an annotation that are not known here, and who made it where that is no plain name."""
    fields = dict(work.model_extra or {})
    if work.completed_by is not None and (work.ground_truth or not isinstance(work.completed_by, str)):
        fields["completed_by"] = work.completed_by
    return fields


def _rest(result: dict[str, Any], label: str) -> dict[str, Any]:
    """The fields of a result that say nothing of its place, such as labels of others, score and origin."""
    placed = {"id", "from_name", "to_name", "value", "image_rotation", "original_width", "original_height"}
    rest = {key: value for key, value in result.items() if key not in placed}
    if rest["type"] in (BOXES[0], SPANS[0]):  # as all are that are written here
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

"""Label Studio's JSON of ordinary projects, whose tasks have no program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from analysis.gold_agreement import ellipse_outline
from annotation.content.labels import LabelLayer, LabelTask, LayerType, Question, nest_labels
from annotation.content.schemas import (
    AnnotationRecord,
    Box,
    Document,
    Ellipse,
    Image,
    ItemRecord,
    KeyPoint,
    Layer,
    Polygon,
    Span,
    Suggested,
)
from annotation.formats.boxes import clip_box
from annotation.formats.label_studio.reader import Task, TaskAnnotation, build_annotation_record
from annotation.formats.label_studio.results import (
    BOXES,
    SLACK,
    find_image_index,
    parse_box_result,
    parse_span_result,
    rotate_corners,
)
from annotation.formats.labelled.documents import (
    list_answers,
    list_image_marks,
    list_labellings,
    list_relations,
    list_spans,
    parse_record_task,
)
from annotation.formats.labelled.entries import (
    NO_LABEL,
    RELATED,
    SEVERAL_LABELS,
    AboutMark,
    Entry,
    Labelling,
    Related,
    can_hold_marks,
    make_entries,
    make_entries_or_refuse,
    tokenize_entry,
)
from annotation.formats.labelled.items import build_labelled_document
from annotation.formats.labelled.mark_positions import OTHER_SHAPES, build_point, build_polygon
from annotation.formats.source import Source
from annotation.formats.writing import write_list
from foundation.errors import BadFile
from foundation.imports.json_stream import read_values
from foundation.messages import field_error, prefix_field, say

NAME, OURS = "label_studio", "touchstone"
TEXTS = ("labels", "hypertextlabels")
OUTLINED = ("polygonlabels", "ellipselabels", "keypointlabels")
UNLABELLED_SHAPES = ("rectangle", "polygon", "ellipse", "keypoint")  # their labels stand in another result
PLACES = {"start", "x", "points"}  # keys of a place; answers about a mark repeat that of the mark
SHAPES = ("brushlabels", "brush", "vectorlabels", "vector", "bitmask", "bitmasklabels")
POINT_SIZE = 0.5  # percent of the width: how large Label Studio draws a key point
PICTURE = re.compile(r"\.(jpe?g|png|webp|gif|bmp)$", re.IGNORECASE)

PREDICTION = "prediction of a model in Label Studio, left out"
ROTATED_SHAPE = "rotated box or ellipse, replaced by a polygon"
OTHER_RESULT = "result of another type, left out"
SECOND_GOLD = "second ground truth of a task, kept as a person's annotation"


def has_programs(path: Path) -> bool:
    """Return True if the first task of a file has a program."""
    try:
        value = next(iter(read_values(path))).value
    except (BadFile, StopIteration):
        return False
    data = value.get("data") if isinstance(value, dict) else None
    return isinstance(data, dict) and bool(data.get("program"))


def read(source: Source) -> Iterator[Entry]:
    """Yield the tasks of a JSON export, a list or one a line."""
    elements = read_values(source.path, on_progress=source.on_progress, on_error=source.findings.on_error)
    for number, element in enumerate(elements):
        location = {"element": element, "entry": f"task {number}"}
        yield from make_entries_or_refuse(
            source, location, partial(_read_task_entry, source, element.value, number)
        )


def _read_task_entry(source: Source, value: Any, number: int) -> Iterable[Entry]:
    task = Task.model_validate(value)
    entry = _build_entry(source, task, number)
    if (task.model_extra or {}).get("predictions"):
        source.findings.note_repair(PREDICTION, entry.external_id)
    golds = 0
    for index, annotation in enumerate(task.annotations):
        golds += annotation.ground_truth
        if annotation.ground_truth and golds > 1:
            source.findings.note_repair(SECOND_GOLD, entry.external_id)
        labelling = Labelling()
        if not annotation.ground_truth or golds > 1:
            record = build_annotation_record(annotation, Document())
            labelling.annotator = record.annotator
            labelling.fields = record.model_dump(exclude={"annotator", "document"})
        _take(source, entry, labelling, annotation, f"annotations[{index}]")
        entry.labellings.append(labelling)
    return [entry]


def _build_entry(source: Source, task: Task, number: int) -> Entry:
    """Return the text or images of a task.

    Raises:
        ValueError: Its data have none.
    """
    data = task.data
    shown = {key: value for key, value in data.items() if key not in ("external_id", "title")}
    names = [name for value in shown.values() for name in _find_image_names(value)]
    size = _find_original_size(task) if len(names) == 1 else (None, None)
    images = tuple(_find_image(source, name, *size) for name in names)
    ours = (task.model_extra or {}).get(OURS) or {}
    texts = {
        key: value for key, value in shown.items() if isinstance(value, str) and not _find_image_names(value)
    }
    key = "" if images else _choose_text_key(texts, task)
    title = data.get("title") or (texts.get("text", "") if images else "")
    if not images and not texts.get(key, "").strip():
        raise field_error("data", "has neither a text nor an image")
    external_id = data.get("external_id", task.id)
    taken = {"external_id", "title", key, *(["text"] if images else [])}
    rest = {name: value for name, value in data.items() if name not in taken and not _find_image_names(value)}
    entry = Entry(
        external_id=str(external_id if external_id is not None else number),
        title=str(title),
        passage=texts.get(key, ""),
        images=images,
        extra={NAME: {"data": rest}} if rest else {},
    )
    if ours.get("tokens") and not images:
        entry.tokens = tuple(tuple(token) for token in ours["tokens"])
    if ours.get("task"):
        entry.declared = LabelTask.model_validate(ours["task"]).layers
    return entry


def _find_image_names(value: object) -> list[str]:
    """Return the names of the images in a value of a task's data."""
    several = value if isinstance(value, list) else [value]
    names = [name for name in several if isinstance(name, str)]
    names = [parse_qs(urlsplit(name).query).get("d", [name])[0] for name in names]
    return [
        name
        for name in names
        if "\n" not in name and PICTURE.search(urlsplit(name).path if "?" in name else name)
    ]


def _find_image(source: Source, name: str, width: int | None, height: int | None) -> Image:
    if name.lower().startswith(("http://", "https://")) or source.images is None:
        return Image(name=name.lstrip("/"), width=width, height=height)
    stripped = re.sub(r"^[0-9a-f]{8}-", "", Path(name).name)  # what an upload to Label Studio puts before
    try:
        return source.images.find(name.lstrip("/"))
    except ValueError:
        return source.images.find(stripped)


def _find_original_size(task: Task) -> tuple[int | None, int | None]:
    for annotation in task.annotations:
        for result in annotation.result:
            width, height = result.get("original_width"), result.get("original_height")
            if isinstance(width, int) and isinstance(height, int):
                return width, height
    return None, None


def _choose_text_key(texts: dict[str, str], task: Task) -> str:
    """Return the key of the text that spans lie in: where their quotes are."""
    values = [result.get("value") or {} for annotation in task.annotations for result in annotation.result]
    quotes = [value["text"] for value in values if isinstance(value.get("text"), str)]
    for key in sorted(texts, key=lambda key: key not in ("text", "passage")):
        if quotes and all(quote.strip() in texts[key] for quote in quotes):
            return key
    return next(
        (key for key in ("text", "passage") if key in texts),
        max(texts, key=lambda key: len(texts[key]), default=""),
    )


def _take(source: Source, entry: Entry, labelling: Labelling, annotation: TaskAnnotation, path: str) -> None:
    """Add the marks and answers of an annotation to a labelling."""
    for name, stored in (annotation.touchstone.get("layers") or {}).items():
        labelling.layers[name] = Layer.model_validate(stored)
    labelled = {
        result.get("id")
        for result in annotation.result
        if (result.get("type") or "") not in UNLABELLED_SHAPES
    }
    for number, result in enumerate(annotation.result):
        field = f"{path}.result[{number}]"
        kind = str(result.get("type"))
        try:
            value = result.get("value") or {}
            if kind in UNLABELLED_SHAPES and result.get("id") in labelled:
                continue  # a result with the labels of the same mark has its place, too
            if kind in (*BOXES, *OUTLINED, *UNLABELLED_SHAPES, *TEXTS):
                _take_mark(source, entry, labelling, result)
            elif kind == "relation":
                labelling.relations.append(_read_relation(result))
            elif kind in SHAPES:
                source.findings.note_repair(OTHER_SHAPES, f"{entry.external_id}: {kind}")
            else:
                answers = _parse_answers(source, entry, kind, str(result.get("from_name")), value)
                mark = result.get("parentID") or (result.get("id") if PLACES & value.keys() else None)
                if mark is None:
                    labelling.answers += answers
                    trees = (
                        _build_branch_layer(str(result.get("from_name")), path)
                        for path in value.get("taxonomy", ())
                    )
                    entry.declared = [*entry.declared, *trees]
                else:
                    labelling.about += [AboutMark(str(mark)[:64], *answer) for answer in answers]
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            message = say("%(problem)s is not as expected", problem=repr(error))
            raise ValueError(prefix_field(field, message)) from error


def _read_relation(result: dict[str, Any]) -> Related:
    """Return a relation; "left" turns it round."""
    ends, ours = (str(result["from_id"])[:64], str(result["to_id"])[:64]), result.get(OURS) or {}
    return Related(
        ends=ends[::-1] if result.get("direction") == "left" else ends,
        label=str(next(iter(result.get("labels") or []), "")),
        layer=str(ours.get("layer", RELATED)),
        both=result.get("direction") == "bi",
        name=str(ours.get("id", "")),
    )


def _take_mark(source: Source, entry: Entry, labelling: Labelling, result: dict[str, Any]) -> None:
    value, findings = result.get("value") or {}, source.findings
    labels: list[Any] = next((value[key] for key in (*TEXTS, BOXES[0], *OUTLINED) if value.get(key)), [])
    mark: Box | Span | None
    if "x" in value or "points" in value:
        mark = _parse_image_mark(source, entry, result, value)
    else:
        start, end = value.get("globalOffsets", {}).get("start"), value.get("globalOffsets", {}).get("end")
        if start is not None and end is not None:
            result = {**result, "value": {**value, "start": start, "end": end}}
        tokens = tokenize_entry(entry)
        mark = parse_span_result(result, "m", entry.passage, tokens, findings, entry.external_id)
    if not labels:
        findings.note_repair(NO_LABEL, entry.external_id)
    if len(labels) > 1:
        findings.note_repair(SEVERAL_LABELS, entry.external_id)
    if mark is None:
        return
    suggested = (result.get(OURS) or {}).get("suggested")
    if suggested:
        mark = mark.model_copy(update={"suggested": Suggested.model_validate(suggested)})
    for label in labels:
        own = mark.model_copy(update={"label": str(label), "id": str(result.get("id") or "m")[:64]})
        labelling.marks.append((str(result.get("from_name")), own))


def _parse_image_mark(
    source: Source, entry: Entry, result: dict[str, Any], value: dict[str, Any]
) -> Box | None:
    findings, path = source.findings, entry.external_id
    is_turned = float(value.get("rotation") or 0) % 360 != 0
    if "width" in value and "height" in value and not (is_turned and can_hold_marks(source, "polygons")):
        return parse_box_result(result, "m", entry.images, findings, path)
    if result.get("image_rotation"):
        raise field_error("image_rotation", "marks on a rotated image cannot be placed")
    image = find_image_index(result.get("to_name"), entry.images)
    if "points" in value:
        corners = [(x / 100, y / 100) for x, y in value["points"]]
        return build_polygon(corners, "", findings, path, image=image)
    if "radiusX" in value:
        return _parse_ellipse(source, entry, result, image)
    if is_turned and "height" in value:
        findings.note_repair(ROTATED_SHAPE, path)
        return build_polygon(rotate_corners(result, entry.images[image]), "", findings, path, image=image)
    return build_point(value["x"] / 100, value["y"] / 100, "", image=image)


def _parse_ellipse(source: Source, entry: Entry, result: dict[str, Any], image: int) -> Box | None:
    value, findings, path = result["value"], source.findings, entry.external_id
    x, y, across, down = (value[key] / 100 for key in ("x", "y", "radiusX", "radiusY"))
    edges = (x - across, y - down, x + across, y + down)
    if float(value.get("rotation") or 0) % 180:
        findings.note_repair(ROTATED_SHAPE, path)
        shown = entry.images[image]
        width = result.get("original_width") or shown.width or 1
        height = result.get("original_height") or shown.height or 1
        corners = _rotate_ellipse(edges, float(value["rotation"]), width / height)
        return build_polygon(corners, "", findings, path, image=image)
    fits = clip_box(edges, slack=SLACK, findings=findings, path=path)
    return None if fits is None else Ellipse(id="m", image=image, box=fits, shape="ellipse")


def _rotate_ellipse(
    edges: tuple[float, float, float, float], degrees: float, shape: float
) -> list[tuple[float, float]]:
    """Return corners of an ellipse rotated clockwise about its middle.

    ``shape`` is the width of the image by its height.
    """
    middle, turn = ((edges[0] + edges[2]) / 2, (edges[1] + edges[3]) / 2), math.radians(degrees)
    away = [((x - middle[0]) * shape, y - middle[1]) for x, y in ellipse_outline(edges)]
    return [
        (
            middle[0] + (u * math.cos(turn) - v * math.sin(turn)) / shape,
            middle[1] + u * math.sin(turn) + v * math.cos(turn),
        )
        for u, v in away
    ]


def _parse_answers(
    source: Source, entry: Entry, kind: str, name: str, value: dict[str, Any]
) -> list[tuple[str, LayerType, str | int]]:
    """Return the answers of a result with the name and type of their layer."""
    if kind == "choices":
        return [(name, "choice", str(choice)) for choice in value["choices"]]
    if kind == "taxonomy":
        return [(name, "choices", str(path[-1])) for path in value["taxonomy"]]
    if kind == "textarea":
        text = value["text"]
        joined = "\n".join(text) if isinstance(text, list) else str(text)
        return [(name, "text", joined)] if joined else []
    if kind == "rating":
        return [(name, "rating", int(value["rating"]))]
    source.findings.note_repair(OTHER_RESULT, f"{entry.external_id}: {kind}")
    return []


def _build_branch_layer(name: str, path: Sequence[str]) -> LabelLayer:
    """Return the layer of a taxonomy with the labels on a chosen path."""
    labels = nest_labels(dict(zip(path, ["", *path], strict=False)))
    return LabelLayer.model_validate({"type": "choices", "name": name, "labels": labels, "required": False})


def build_prediction_task(record: ItemRecord) -> dict[str, Any]:
    """Return an item as a task without annotations."""
    return {**_build_task(record.model_copy(update={"gold": None, "annotations": ()})), "predictions": []}


def build_predicted_document(record: ItemRecord, result: Sequence[dict[str, Any]]) -> Document:
    """Return the results of a model for an item by the layers of its task.

    Raises:
        ValueError: They do not fit.
    """
    given = {**build_prediction_task(record), "annotations": [{"ground_truth": True, "result": list(result)}]}
    source = Source(Path("prediction"), task=record.program)
    [entry] = make_entries(partial(_read_task_entry, source, given, 0))
    return build_labelled_document(
        entry.labellings[0], parse_record_task(record), source.findings, record.external_id
    )


def write(records: Iterable[ItemRecord], path: Path) -> None:
    """Write a list of tasks; the gold becomes the ground truth."""
    write_list(path, map(_build_task, records))


def _build_task(record: ItemRecord) -> dict[str, Any]:
    kept = record.extra.get(NAME, {})
    names = [image.name for image in record.images]
    images = {"image" if len(names) == 1 else f"image{index}": name for index, name in enumerate(names)}
    text = {} if record.kind == "boxes" else {"text": record.passage}
    ours: dict[str, Any] = {"task": parse_record_task(record).model_dump(mode="json")}
    if record.tokens:
        ours["tokens"] = [list(token) for token in record.tokens]
    data = {**kept.get("data", {}), "external_id": record.external_id, "title": record.text, **images, **text}
    drawn = [_build_annotation(record, author, document) for author, document in list_labellings(record)]
    return {"data": data, OURS: ours, "annotations": drawn}


def _build_annotation(
    record: ItemRecord, author: AnnotationRecord | None, document: Document
) -> dict[str, Any]:
    task = parse_record_task(record)
    layers = {
        task.layers[index - 1].name: layer.model_dump(exclude={"objects"}, exclude_defaults=True)
        for index, layer in document.layers.items()
        if index
    }
    ours: dict[str, Any] = {"layers": layers}
    about: dict[str, Any] = {"ground_truth": author is None, "was_cancelled": False}
    if author is not None:
        ours |= author.model_dump(mode="json", include={"status", "revision", "predictions_shown"})
        about |= {"completed_by": author.annotator, "was_cancelled": author.status == "skipped"}
        times = author.model_dump(mode="json", include={"started", "submitted"})
        about |= {"created_at": times["started"], "updated_at": times["submitted"]}
    return {**about, OURS: ours, "result": list(_build_results(record, document))}


def _build_results(record: ItemRecord, document: Document) -> Iterator[dict[str, Any]]:
    target = "text" if record.kind == "spans" else "image"
    for layer, span in list_spans(record, document):
        value: dict[str, Any] = {"start": span.span[0], "end": span.span[1], "text": span.quote}
        value |= {"labels": [span.label]}
        yield _build_result(layer.name, target, "labels", value, span.id) | _build_origin(span)
        yield from _build_answer_results(layer, span, target, {"start": span.span[0], "end": span.span[1]})
    for layer, mark in list_image_marks(record, document):
        image = record.images[mark.image]
        to = target if len(record.images) == 1 else f"image{mark.image}"
        size = {"original_width": image.width, "original_height": image.height} if image.width else {}
        kind, value = _build_mark_value(mark)
        more = {"image_rotation": 0, **size, **_build_origin(mark)}
        yield _build_result(layer.name, to, kind, value | {kind: [mark.label]}, mark.id) | more
        yield from (result | size for result in _build_answer_results(layer, mark, to, value))
    for layer, relation in list_relations(record, document):
        about = {"layer": layer.name, "id": relation.id}
        direction = "right" if layer.directed else "bi"
        ends = {"from_id": relation.ends[0], "to_id": relation.ends[1], "direction": direction}
        yield {"type": "relation", **ends, "labels": [relation.label], OURS: about}
    for layer, values in list_answers(record, document):
        kind, value = _build_answer_value(layer, values)
        yield _build_result(layer.name, target, kind, value, "")


def _build_answer_results(
    layer: LabelLayer, mark: Box | Span, target: str, geometry: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the answers about a mark, which have its ID and its place."""
    for name, values in mark.answers.items():
        if (question := layer.question(name)) is not None:
            kind, value = _build_answer_value(question, values)
            yield _build_result(name, target, kind, geometry | value, mark.id)


def _build_answer_value(asked: Question, values: Sequence[str | int]) -> tuple[str, dict[str, Any]]:
    if asked.type == "rating":
        return "rating", {"rating": values[0]}
    return (
        ("textarea", {"text": list(values)})
        if asked.type == "text"
        else ("choices", {"choices": list(values)})
    )


def _build_mark_value(mark: Box) -> tuple[str, dict[str, Any]]:
    """Return the type of a mark's result, and its place in percent."""
    left, top, right, bottom = (100 * edge for edge in mark.box)
    if isinstance(mark, Polygon):
        return "polygonlabels", {"points": [[100 * x, 100 * y] for x, y in mark.polygon], "closed": True}
    if isinstance(mark, KeyPoint):
        return "keypointlabels", {"x": left, "y": top, "width": POINT_SIZE}
    if isinstance(mark, Ellipse):
        radii = {"radiusX": (right - left) / 2, "radiusY": (bottom - top) / 2}
        return "ellipselabels", {"x": (left + right) / 2, "y": (top + bottom) / 2, **radii, "rotation": 0}
    return BOXES[0], {"x": left, "y": top, "width": right - left, "height": bottom - top, "rotation": 0}


def _build_origin(mark: Box | Span) -> dict[str, Any]:
    """Return whose mark it is, in Label Studio's words and with the system."""
    if mark.suggested is None:
        return {}
    origin = "prediction-changed" if mark.suggested.changed else "prediction"
    return {"origin": origin, OURS: {"suggested": mark.suggested.model_dump(mode="json")}}


def _build_result(name: str, target: str, kind: str, value: dict[str, Any], identity: str) -> dict[str, Any]:
    return {"id": identity, "from_name": name, "to_name": target, "type": kind, "value": value}

"""Write items as Label Studio tasks, with gold and annotations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from analysis.programs import Program, describe
from annotation.content.completeness import resolve_references
from annotation.content.schemas import (
    AnnotationRecord,
    Box,
    Chosen,
    Document,
    ItemRecord,
    Layer,
    Object,
    Span,
)
from annotation.formats.checks import parse_record_program
from annotation.formats.label_studio.reader import NAME, OURS
from annotation.formats.writing import format_moment, write_list


def write_label_studio(records: Iterable[ItemRecord], path: Path) -> None:
    """Write a list of tasks.

    The gold becomes the ground truth; unknown fields are restored.
    """
    write_list(path, map(_build_task, records))


def _build_task(record: ItemRecord) -> dict[str, Any]:
    kept = record.extra.get(NAME, {})
    task = dict(kept.get("task", {}))
    images = {f"image{number}": image.name for number, image in enumerate(record.images)}
    data = {
        **kept.get("data", {}),
        "external_id": record.external_id,
        "text": record.text,
        "program": record.program,
        **images,
        **({} if record.kind == "boxes" else {"passage": record.passage}),
        **({} if record.answer is None else {"answer": record.answer}),
    }
    ours = {
        "images": [image.model_dump(mode="json", exclude={"name"}) for image in record.images],
        "tokens": [list(token) for token in record.tokens],
        "extra": {key: value for key, value in record.extra.items() if key != NAME},
    }
    stored = kept.get("works", {})
    people = [
        _build_annotation(record, annotation, stored.get(str(number), {}))
        for number, annotation in enumerate(record.annotations)
    ]
    gold = [_build_gold(record, record.gold, stored.get("gold", {}))] if record.gold is not None else []
    meta = {**task.get("meta", {}), OURS: {key: value for key, value in ours.items() if value}}
    return {**task, "data": data, "meta": meta, "annotations": gold + people}


def _build_gold(record: ItemRecord, gold: Document, kept: dict[str, Any]) -> dict[str, Any]:
    return {
        **kept.get("fields", {}),
        "ground_truth": True,
        "was_cancelled": False,
        "result": list(_build_results(record, gold, kept)),
    }


def _build_annotation(
    record: ItemRecord, annotation: AnnotationRecord, kept: dict[str, Any]
) -> dict[str, Any]:
    ours = {
        "status": annotation.status,
        "revision": annotation.revision,
        "predictions_shown": list(annotation.predictions_shown),
    }
    return {
        "completed_by": annotation.annotator,
        **kept.get("fields", {}),
        "ground_truth": False,
        "was_cancelled": annotation.status == "skipped",
        "created_at": format_moment(annotation.started),
        "updated_at": format_moment(annotation.submitted),
        OURS: ours,
        "result": list(_build_results(record, annotation.document, kept)),
    }


def _build_results(record: ItemRecord, document: Document, kept: dict[str, Any]) -> Iterator[dict[str, Any]]:
    program = parse_record_program(record)
    target = "image0" if record.kind == "boxes" else "passage"
    if program is not None:
        shapes = resolve_references(document, program)
        for node, layer in document.layers.items():
            for object_, shape in zip(layer.objects, shapes.get(node, ()), strict=True):
                yield _build_object_result(
                    record, program, node, object_, shape, kept.get("results", {}).get(object_.id, {})
                )
            yield from _build_layer_results(node, layer, target)
    if document.problem is not None:
        text = document.problem.model_dump_json(exclude_defaults=True)
        yield {"from_name": "problem", "to_name": target, "type": "textarea", "value": {"text": [text]}}
    yield from kept.get("aside", [])


def _build_layer_results(node: int, layer: Layer, target: str) -> Iterator[dict[str, Any]]:
    """Yield a layer's state, note and value as separate results."""
    state = {"choices": [layer.state]}
    yield {"from_name": f"m{node}-state", "to_name": target, "type": "choices", "value": state}
    if layer.note:
        note = {"text": [layer.note]}
        yield {"from_name": f"m{node}-note", "to_name": target, "type": "textarea", "value": note}
    if layer.value is not None:
        value = {"text": [json.dumps(layer.value)]}
        yield {"from_name": f"m{node}-value", "to_name": target, "type": "textarea", "value": value}


def _build_object_result(
    record: ItemRecord, program: Program, node: int, object_: Object, shape: Box | Span, rest: dict[str, Any]
) -> dict[str, Any]:
    """Return one box or span; a chosen object has the shape it refers to."""
    label = describe(program.nodes[node])
    result: dict[str, Any] = {"id": object_.id, "from_name": f"m{node}"}
    if isinstance(shape, Box):
        image = record.images[shape.image]
        left, top, right, bottom = (100 * edge for edge in shape.box)
        result |= {"to_name": f"image{shape.image}", "type": "rectanglelabels", "image_rotation": 0}
        result |= {"original_width": image.width, "original_height": image.height} if image.width else {}
        value: dict[str, Any] = {
            "x": left,
            "y": top,
            "width": right - left,
            "height": bottom - top,
            "rotation": 0,
        }
        labels = {"rectanglelabels": [label]}
    else:
        result |= {"to_name": "passage", "type": "labels"}
        value = {"start": shape.span[0], "end": shape.span[1], "text": shape.quote}
        labels = {"labels": [label]}
    ours: dict[str, Any] = {"ref": object_.ref} if isinstance(object_, Chosen) else {}
    if not isinstance(object_, Chosen):
        ours |= {"links": list(object_.links)} if object_.links else {}
        ours |= {"reason": object_.reason} if object_.reason else {}
    meta = {**rest.get("meta", {}), **({OURS: ours} if ours else {})}
    value = {**(rest.get("value") or labels), **value}
    return {**result, **rest, "value": value, **({"meta": meta} if meta else {})}

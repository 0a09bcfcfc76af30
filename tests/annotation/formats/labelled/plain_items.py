"""Draw items of plain tasks, and write and read them in a format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st

from annotation.content.labels import LabelTask
from annotation.content.schemas import Document, ItemRecord, Kind
from annotation.formats import registry
from annotation.formats.checks import check_record
from annotation.formats.labelled.documents import list_answers, list_boxes, list_spans
from annotation.formats.source import Source
from annotation.formats.texts import build_span, tokenize, trim_stretch
from foundation.imports.findings import Findings
from tests.annotation.formats.records import passages

LABELS = ("Person", "Größe 2", "a|b[1]", "人", "*", "x_y-z", "O'Neil; <b>")
WORDS = tuple(label.replace(" ", "") for label in LABELS)  # for formats that end a label at a space


def text_task(labels: Sequence[str] = LABELS, **more: Any) -> LabelTask:
    """One layer of spans, and a choice of several classes."""
    layers = [
        {"type": "spans", "name": "Entities", "labels": list(labels), "required": False},
        {"type": "choices", "name": "Class", "labels": ["yes", "no", "maybe"], "required": False},
    ]
    return LabelTask.model_validate({"layers": layers, **more})


def image_task() -> LabelTask:
    """One layer of boxes."""
    return LabelTask.model_validate({"layers": [{"type": "boxes", "name": "Objects", "labels": LABELS}]})


@st.composite
def text_items(
    draw: st.DrawFn,
    *,
    labels: Sequence[str] = LABELS,
    whole_tokens: bool = False,
    apart: bool = False,
    classes: int = 2,
    people: bool = False,
    name: str = "text-1",
) -> ItemRecord:
    """Draw a text with any spans and classes.

    ``apart`` keeps spans from overlapping.
    """
    passage, task = draw(passages), text_task(labels)
    tokens = tokenize(passage)

    def document() -> Document:
        edges = sorted(draw(st.sets(st.integers(0, len(tokens)), max_size=8)))
        stretches = list(pairwise(edges))
        if not apart and stretches:
            stretches += draw(st.lists(st.sampled_from(stretches), max_size=2))
            stretches.append((edges[0], edges[-1]))
        drawn = []
        for index, (first, beyond) in enumerate(stretches):
            start, end = tokens[first][0], tokens[beyond - 1][1]
            if not whole_tokens and end - start > 2 and draw(st.booleans()):
                start, end = trim_stretch(start + 1, end, passage)
            try:
                span = build_span(f"s{index}", start, end, passage, tokens)
            except ValueError:
                continue  # the rest begins between two tokens
            drawn.append({**span.model_dump(), "label": draw(st.sampled_from(labels))})
        chosen = draw(st.lists(st.sampled_from(["yes", "no", "maybe"]), unique=True, max_size=classes))
        values = [{"id": f"m2-{index}", "value": value} for index, value in enumerate(chosen)]
        layers = {
            "1": {"state": "done" if drawn else "nothing", "objects": drawn},
            "2": {"state": "done" if values else "nothing", "objects": values},
        }
        return Document.model_validate({"layers": layers})

    annotations = (
        [{"annotator": annotator, "document": document()} for annotator in ("ann", "bo-ü")] if people else []
    )
    fields: dict[str, Any] = {
        "external_id": name,
        "kind": "spans",
        "program": task.text,
        "text": "",
        "passage": passage,
    }
    fields |= {"tokens": tokens, "gold": document(), "annotations": annotations}
    return check_record(ItemRecord.model_validate(fields))


@st.composite
def image_items(draw: st.DrawFn, *, name: str = "folder a/ü 1.png", people: bool = False) -> ItemRecord:
    """An image of any size with any boxes."""
    task, edges = image_task(), st.floats(0, 1, width=32)

    def document() -> Document:
        drawn = draw(
            st.lists(
                st.tuples(edges, edges, edges, edges).filter(
                    lambda box: abs(box[0] - box[2]) > 1e-3 and abs(box[1] - box[3]) > 1e-3
                ),
                max_size=6,
            )
        )
        objects = [
            {"id": f"o{index}", "image": 0, "box": [min(x, u), min(y, v), max(x, u), max(y, v)],
             "label": draw(st.sampled_from(LABELS))}
            for index, (x, y, u, v) in enumerate(drawn)
        ]  # fmt: skip
        layers = {"1": {"state": "done" if objects else "nothing", "objects": objects}}
        return Document.model_validate({"layers": layers})

    sizes = st.integers(1, 5000)
    image = {"name": name, "width": draw(sizes), "height": draw(sizes)}
    fields: dict[str, Any] = {
        "external_id": name,
        "kind": "boxes",
        "program": task.text,
        "text": "",
        "images": [image],
    }
    annotations = [{"annotator": "ann", "document": document()}] if people else []
    return check_record(ItemRecord.model_validate(fields | {"gold": document(), "annotations": annotations}))


def written(name: str, records: Iterable[ItemRecord], folder: Path, findings: Findings | None = None) -> Path:
    """Write a new file or folder."""
    out = folder / uuid4().hex
    registry.write(name, records, out, findings=findings)
    return out


def read(
    name: str,
    path: Path,
    *,
    task: LabelTask | None = None,
    kind: Kind = "spans",
    findings: Findings | None = None,
) -> list[ItemRecord]:
    """Read a file with the labels of a project, or with its own."""
    source = Source(path=path, task=task.text if task else "", kind=kind, plain=True)
    if findings is not None:
        source = Source(path=path, task=source.task, kind=kind, plain=True, findings=findings)
    return list(registry.read(name, source))


def spans_of(record: ItemRecord, document: Document | None) -> list[tuple[Any, ...]]:
    """The spans with layer and label, in order."""
    return sorted(
        (layer.name, span.span, span.quote, span.label) for layer, span in list_spans(record, document)
    )


def tokens_of(record: ItemRecord, document: Document | None) -> list[tuple[Any, ...]]:
    """The spans by their tokens."""
    return sorted((span.tokens, span.label) for _layer, span in list_spans(record, document))


def classes_of(record: ItemRecord, document: Document | None) -> list[tuple[str, list[str | int]]]:
    """The answers by layer."""
    return sorted((layer.name, sorted(values, key=str)) for layer, values in list_answers(record, document))


def boxes_of(record: ItemRecord, document: Document | None) -> list[tuple[Any, ...]]:
    """The boxes with their labels, rounded as no format keeps all digits."""
    rounded = [
        (layer.name, box.label, tuple(round(edge, 4) + 0.0 for edge in box.box))
        for layer, box in list_boxes(record, document)
    ]
    return sorted(rounded)

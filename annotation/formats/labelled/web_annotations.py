"""W3C Web Annotations of plain tasks, in and out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from annotation.content.labels import LabelLayer
from annotation.content.schemas import (
    AnnotationRecord,
    Box,
    Document,
    Ellipse,
    ItemRecord,
    KeyPoint,
    Polygon,
    Span,
)
from annotation.formats.flat.w3c import build_box_selector, build_text_selectors, join_numbers, write_page
from annotation.formats.labelled.documents import (
    list_answers,
    list_image_marks,
    list_labellings,
    list_mark_answers,
    list_spans,
    require_item_image_size,
)
from annotation.formats.labelled.entries import (
    CLASS,
    ENTITIES,
    NO_LABEL,
    OBJECTS,
    Entry,
    Labelling,
    build_entry_span,
    list_files,
    make_entries_or_refuse,
    parse_stated_answer,
)
from annotation.formats.labelled.mark_positions import (
    OTHER_SHAPES,
    build_box,
    build_box_from_pixels,
    build_point,
    build_polygon,
    find_image,
    require_image_size,
)
from annotation.formats.source import Source
from foundation.imports.json_stream import read_document
from foundation.imports.text_files import open_text
from foundation.messages import field_error, value_error

CONTEXT = [
    "http://www.w3.org/ns/anno.jsonld",
    {name: f"urn:touchstone:{name}" for name in ("status", "question", "questionType")},
]


def read_w3c(source: Source) -> Iterator[Entry]:
    """Yield the texts and images that a page of Web Annotations is about.

    A text stands in the ``value`` of a target's source, or as a ``.txt`` file in the same zip file.
    """
    texts = {path.stem: path for path in list_files(source, ".txt")} if source.path.is_dir() else {}
    for path in list_files(source, ".json", ".jsonld"):
        element = read_document(path)
        page = element.value
        for key in ("first", "items"):
            page = page[key] if isinstance(page, dict) and key in page else page
        if not isinstance(page, list):
            source.findings.refuse(
                field_error("items", "is missing; expected a page of annotations"),
                path,
                element=element,
            )
            continue
        groups: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        for number, annotation in enumerate(page):
            if not isinstance(annotation, dict) or not isinstance(annotation.get("target"), dict):
                source.findings.refuse(
                    value_error("expected an annotation with one target"),
                    path,
                    element=element,
                    within=f"items[{number}]",
                )
            else:
                about = annotation["target"].get("source")
                name = about.get("id", "") if isinstance(about, dict) else about
                groups.setdefault(str(name), []).append((number, annotation))
        for name, marked in groups.items():
            location = {"path": path, "element": element, "within": f"items[{marked[0][0]}]"}
            yield from make_entries_or_refuse(
                source,
                location,
                partial(
                    _read_resource_entry, source, name, [annotation for _number, annotation in marked], texts
                ),
            )


def _read_resource_entry(
    source: Source, name: str, marked: list[dict[str, Any]], texts: dict[str, Path]
) -> list[Entry]:
    own = re.fullmatch(r"urn:touchstone:([^:]*):passage", name)
    external_id = unquote(own[1]) if own else unquote(name)
    sources = [annotation["target"]["source"] for annotation in marked]
    embedded = next(
        (resource["value"] for resource in sources if isinstance(resource, dict) and resource.get("value")),
        None,
    )
    fragments = any(
        str(_list_selectors(annotation)[0].get("value", "")).startswith(("xywh=", "<svg"))
        for annotation in marked
    )
    if fragments or any(annotation["target"].get("type") == "Image" for annotation in marked):
        size = next((resource for resource in sources if isinstance(resource, dict)), {})
        entry = Entry(
            external_id, images=(find_image(source, external_id, size.get("width"), size.get("height")),)
        )
    elif isinstance(embedded, str):
        entry = Entry(external_id, passage=embedded)
    elif (path := texts.get(Path(external_id).stem)) is not None:
        with open_text(path, newline="") as file:
            entry = Entry(external_id, passage=file.read())
    else:
        text = "the text of %(name)r is missing; add it as a .txt file to the zip file"
        raise field_error("target.source", text, name=name)
    authors: dict[str | None, Labelling] = {}
    for annotation in marked:
        creator = annotation.get("creator") or {}
        names = (
            (creator.get(key) for key in ("nickname", "name", "id"))
            if isinstance(creator, dict)
            else [creator]
        )
        author = next((str(given) for given in names if given), None)
        labelling = authors.setdefault(
            author,
            Labelling(
                annotator=author,
                fields={"status": str(annotation.get("status", "submitted"))} if author else {},
            ),
        )
        _take_w3c(source, entry, labelling, annotation)
    entry.labellings = list(authors.values())
    return [entry]


def _list_selectors(annotation: dict[str, Any]) -> list[dict[str, Any]]:
    given = annotation["target"].get("selector")
    several = given if isinstance(given, list) else [given]
    return [selector for selector in several if isinstance(selector, dict)] or [{}]


def _take_w3c(source: Source, entry: Entry, labelling: Labelling, annotation: dict[str, Any]) -> None:
    stored = annotation.get("body") or []
    bodies = stored if isinstance(stored, list) else [stored]
    bodies = [{"value": body} if isinstance(body, str) else body for body in bodies]
    bodies = [body for body in bodies if isinstance(body, dict)]
    values = {body.get("purpose", "tagging"): body.get("value") for body in bodies if "question" not in body}
    layer, label = str(values.get("classifying") or ""), str(values.get("tagging") or "")
    where = str(annotation.get("id", entry.external_id))
    selectors = _list_selectors(annotation)
    before = len(labelling.marks)
    if not label:
        source.findings.note_repair(NO_LABEL, where)
    elif selectors == [{}]:
        labelling.answers.append((layer or CLASS, "choice", label))
    elif entry.images:
        value = str(selectors[0].get("value", ""))
        if selectors[0].get("type") == "SvgSelector":
            mark = _parse_svg(source, entry, label, value, where)
        else:
            mark = _parse_fragment(source, entry, label, value, where)
        labelling.marks += [(layer or OBJECTS, mark)] if mark else []
    else:
        labelling.marks.append((layer or ENTITIES, _locate_span(source, entry, label, selectors)))
    if len(labelling.marks) > before:
        _take_answers(labelling, bodies)


def _take_answers(labelling: Labelling, bodies: list[dict[str, Any]]) -> None:
    """Add what an annotation says about its mark, which is the last one."""
    layer, mark = labelling.marks[-1]
    own = f"w{len(labelling.marks)}"
    about = [
        parse_stated_answer(own, str(body["question"]), str(body.get("questionType")), str(body.get("value")))
        for body in bodies
        if "question" in body
    ]
    if any(about):
        labelling.marks[-1] = (layer, mark.model_copy(update={"id": own}))
        labelling.about += [answer for answer in about if answer]


def _parse_fragment(source: Source, entry: Entry, label: str, fragment: str, where: str) -> Box | None:
    match = re.fullmatch(r"xywh=(pixel:|percent:)?([-\d.eE,+]+)", fragment)
    numbers = [float(number) for number in match[2].split(",")] if match else []
    if match is None or len(numbers) != 4:
        source.findings.note_repair(OTHER_SHAPES, where)
        return None
    x, y, width, height = numbers
    if match[1] == "percent:":
        edges = (x / 100, y / 100, (x + width) / 100, (y + height) / 100)
        return build_box(edges, label, source.findings, where)
    return build_box_from_pixels(
        (x, y, x + width, y + height), label, entry.images[0], source.findings, where
    )


def _parse_svg(source: Source, entry: Entry, label: str, svg: str, where: str) -> Box | None:
    """Return the mark of the one shape in an SVG selector."""
    shape = re.search(r"<(polygon|circle|ellipse)\s([^<>]*?)/?>", svg)
    about: dict[str, str] = dict(re.findall(r"""([a-z]+)=["']([^"']*)["']""", shape[2])) if shape else {}
    width, height = require_image_size(entry.images[0])
    if shape and shape[1] == "polygon":
        numbers = [float(number) for number in re.findall(r"[-+.\deE]+", about.get("points", ""))]
        corners = [(x / width, y / height) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        return build_polygon(corners, label, source.findings, where)
    if not shape or not {"cx", "cy"} <= about.keys():
        source.findings.note_repair(OTHER_SHAPES, where)
        return None
    x, y = float(about["cx"]), float(about["cy"])
    across, down = (float(about.get(name, about.get("r", "0"))) for name in ("rx", "ry"))
    if not across:
        return build_point(x / width, y / height, label)
    edges = (x - across, y - down, x + across, y + down)
    box = build_box_from_pixels(edges, label, entry.images[0], source.findings, where)
    return box and Ellipse(**box.model_dump(), shape="ellipse")


def _locate_span(source: Source, entry: Entry, label: str, selectors: list[dict[str, Any]]) -> Span:
    position: dict[str, Any] = next(
        (selector for selector in selectors if selector.get("type") == "TextPositionSelector"), {}
    )
    exact = next(
        (selector["exact"] for selector in selectors if isinstance(selector.get("exact"), str)), None
    )
    if "start" in position and "end" in position:
        start, end = position["start"], position["end"]
        return build_entry_span(entry, start, end, label, source.findings, quote=exact)
    if exact is None or entry.passage.count(exact) != 1:
        text = "needs a TextPositionSelector, or a quote that occurs once in the text"
        raise field_error("target.selector", text)
    start = entry.passage.index(exact)
    return build_entry_span(entry, start, start + len(exact), label, source.findings)


def write_w3c(records: Iterable[ItemRecord], path: Path) -> None:
    """Write a page with marks and choices; a text is in its first target."""
    write_page(path, CONTEXT, chain.from_iterable(map(_build_annotations, records)))


def _build_annotations(record: ItemRecord) -> Iterator[dict[str, Any]]:
    name = f"urn:touchstone:{quote(record.external_id, safe='')}"
    about: str | dict[str, Any] = {"id": f"{name}:passage", "type": "Text", "value": record.passage}
    for index, (author, document) in enumerate(list_labellings(record)):
        common = _build_common_fields(author)
        for number, (layer, label, target, about_mark) in enumerate(_build_targets(record, document)):
            if record.kind == "spans":
                target = {"source": about, **target}
                about = f"{name}:passage"
            body = [
                {"type": "TextualBody", "purpose": "tagging", "value": label},
                {"type": "TextualBody", "purpose": "classifying", "value": layer},
                *about_mark,
            ]
            yield {"id": f"{name}:{index}:{number}", **common, "body": body, "target": target}


def _build_common_fields(author: AnnotationRecord | None) -> dict[str, Any]:
    common: dict[str, Any] = {"type": "Annotation", "motivation": "tagging"}
    if author is not None:
        common |= {"creator": {"type": "Person", "nickname": author.annotator}, "status": author.status}
    return common


def _build_targets(
    record: ItemRecord, document: Document
) -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
    """Yield layer, label, target and answers of each mark and choice."""
    for layer, span in list_spans(record, document):
        selected = {"type": "Text", "selector": build_text_selectors(record.passage, span)}
        yield layer.name, span.label, selected, list(_build_answer_bodies(layer, span))
    for layer, mark in list_image_marks(record, document):
        target = {"source": _build_source(record, mark.image), "type": "Image"}
        target |= {"selector": _build_selector(record, mark)}
        yield layer.name, mark.label, target, list(_build_answer_bodies(layer, mark))
    for layer, values in list_answers(record, document):
        kind: dict[str, Any] = {"type": "Text"}
        if record.images:
            kind = {"type": "Image", "source": _build_source(record, 0)}
        for value in values if layer.labels else []:
            yield layer.name, str(value), kind, []


def _build_answer_bodies(layer: LabelLayer, mark: Box | Span) -> Iterator[dict[str, Any]]:
    for question, values in list_mark_answers(layer, mark):
        about = {"question": question.name, "questionType": question.type}
        for value in values:
            yield {"type": "TextualBody", "purpose": "describing", **about, "value": str(value)}


def _build_selector(record: ItemRecord, mark: Box) -> dict[str, Any]:
    """Return the selector of a mark: a fragment, or SVG in pixels."""
    if type(mark) is Box:
        return build_box_selector(mark)
    left, top, right, bottom = mark.box
    width, height = require_item_image_size(record, mark.image)
    middle = f'cx="{(left + right) / 2 * width:.6f}" cy="{(top + bottom) / 2 * height:.6f}"'
    if isinstance(mark, Polygon):
        corners = " ".join(join_numbers((x * width, y * height)) for x, y in mark.polygon)
        shape = f'<polygon points="{corners}"/>'
    elif isinstance(mark, KeyPoint):
        shape = f'<circle {middle} r="0"/>'
    else:
        radii = f'rx="{(right - left) / 2 * width:.6f}" ry="{(bottom - top) / 2 * height:.6f}"'
        shape = f"<ellipse {middle} {radii}/>"
    return {"type": "SvgSelector", "value": f'<svg xmlns="http://www.w3.org/2000/svg">{shape}</svg>'}


def _build_source(record: ItemRecord, image_index: int) -> dict[str, Any]:
    image = record.images[image_index]
    size = {"width": image.width, "height": image.height} if image.width else {}
    return {"id": quote(image.name), **size}

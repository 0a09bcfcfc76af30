"""brat's standoff files and W3C Web Annotations, in and out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from annotation.formats.flat.w3c import write_page
from annotation.formats.labelled.documents import (
    answers,
    file_name,
    image_marks,
    labellings,
    pixels,
    relations,
    require_kind,
    spans,
)
from annotation.formats.labelled.entries import (
    ATTRIBUTES,
    CLASS,
    ENTITIES,
    NO_LABEL,
    OBJECTS,
    OTHER_SHAPES,
    RELATED,
    Entry,
    LabelledSource,
    Labelling,
    Related,
    files_of,
    fraction_box,
    fraction_point,
    fraction_polygon,
    guarded,
    image_named,
    pixel_box,
    size_of,
    span_at,
)
from annotation.formats.writing import written_folder
from annotation.schemas import AnnotationRecord, Box, Document, Ellipse, ItemRecord, KeyPoint, Polygon, Span
from foundation.errors import BadFile
from foundation.findings import Findings
from foundation.json_stream import read_document
from foundation.messages import at_field, say
from foundation.text_files import opened

TYPES = "types.json"  # the layer and label of each type that we wrote, because types have letters only
APART = "span in several parts, replaced by the stretch around them"
GOLD, BY = "gold", "by-"
AROUND = 32  # code points before and after a quote
CONTEXT = ["http://www.w3.org/ns/anno.jsonld", {"status": "urn:touchstone:status"}]
FRAGMENTS = "http://www.w3.org/TR/media-frags/"
_MARK = re.compile(r"(T\S*)\t(\S+) ([\d; ]+)(?:\t(.*))?")
_RELATION = re.compile(r"R\S*\t(\S+) [^\s:]+:(\S+) [^\s:]+:(\S+)")
_JOINED = re.compile(r"\*\t(\S+)((?: T\S+){2,})")
_LINE = re.compile(r"[^\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def read_brat(source: LabelledSource) -> Iterator[Entry]:
    """Yield the texts of brat folders with their ``.ann`` files.

    Files in folders ``by-NAME`` beside ``gold`` are people's annotations of the same texts.
    """
    if not source.path.is_dir():
        raise BadFile(source.path, say("brat needs its .txt and .ann files in one folder or zip file"))
    types = _types(source)
    groups: dict[str, list[Path]] = {}
    for path in files_of(source, ".txt"):
        folder = path.parent.name
        key = (
            path.stem
            if folder == GOLD or folder.startswith(BY)
            else path.relative_to(source.path).with_suffix("").as_posix()
        )
        groups.setdefault(key, []).append(path)
    for key, paths in groups.items():
        yield from guarded(source, {"path": paths[0]}, partial(_texts, source, key, paths, types))


def _types(source: LabelledSource) -> dict[str, tuple[str, str]]:
    for path in source.path.rglob(TYPES):
        value = read_document(path).value
        if isinstance(value, dict) and all(
            isinstance(each, list) and len(each) == 2 for each in value.values()
        ):
            return {name: (str(layer), str(label)) for name, (layer, label) in value.items()}
        raise BadFile(path, say("is not a layer and a label for each type"))
    return {}


def _texts(
    source: LabelledSource, key: str, paths: list[Path], types: dict[str, tuple[str, str]]
) -> list[Entry]:
    with opened(paths[0], newline="") as file:
        entry = Entry(unquote(key), passage=file.read())
    for path in paths:
        folder = path.parent.name
        author = unquote(folder.removeprefix(BY)) if folder.startswith(BY) else None
        marks = path.with_suffix(".ann")
        if marks.is_file():
            entry.labellings.append(_standoff(source, entry, marks, author, types))
    return [entry]


def _standoff(
    source: LabelledSource, entry: Entry, path: Path, author: str | None, types: dict[str, tuple[str, str]]
) -> Labelling:
    labelling = Labelling(annotator=author)
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            match = _MARK.fullmatch(line.rstrip("\n"))
            if not line.strip():
                continue
            if match is None and line[0] == "T":
                text = "%(line)r is not a type with the numbers of its first and last character"
                raise BadFile(path, say(text, line=line.strip()[:80]), line=number)
            if match is None:
                related = list(_brat_relations(line, types))
                labelling.relations += related
                if not related:
                    source.findings.mend(ATTRIBUTES, f"{path.name}:{number}")
                continue
            layer, label = types.get(match[2], (ENTITIES, match[2]))
            try:
                span = _brat_span(entry, match, label, source.findings, f"{path.name}:{number}")
            except ValueError as error:
                raise BadFile(path, str(error), line=number) from error
            labelling.marks.append((layer, span))
    return labelling


def _brat_span(entry: Entry, match: re.Match[str], label: str, findings: Findings, place: str) -> Span:
    parts = [[int(number) for number in part.split()] for part in match[3].split(";")]
    if any(len(part) != 2 for part in parts):
        raise ValueError(say("each part needs the numbers of its first and last character"))
    start, end = min(part[0] for part in parts), max(part[1] for part in parts)
    between = pairwise(parts)
    # brat cuts spans at line breaks; such parts are one span of ours.
    if any(entry.passage[one[1] : other[0]].strip() for one, other in between):
        findings.mend(APART, place)
    quoted = match[4] if len(parts) == 1 else None
    return span_at(entry, start, end, label, findings, quote=quoted, name=match[1])


def _brat_relations(line: str, types: dict[str, tuple[str, str]]) -> Iterator[Related]:
    """Yield the relations of a line; equal marks are related in turn."""
    if match := _RELATION.fullmatch(line.rstrip("\r\n\t ")):
        layer, label = types.get(match[1], (RELATED, match[1]))
        yield Related((match[2], match[3]), label, layer)
    elif match := _JOINED.fullmatch(line.rstrip("\r\n\t ")):
        layer, label = types.get(match[1], (RELATED, match[1]))
        for ends in pairwise(match[2].split()):
            yield Related(ends, label, layer, both=True)


def write_brat(records: Iterable[ItemRecord], path: Path) -> None:
    """Write spans and relations to folders ``gold`` and ``by-ANNOTATOR``."""
    types: dict[str, tuple[str, str]] = {}
    joining: dict[str, None] = {}  # the types of relations
    with written_folder(path) as folder:
        for record in records:
            require_kind(record, "spans", "brat")
            name = file_name(record.external_id)
            for author, document in labellings(record):
                inner = folder / (f"{BY}{file_name(author.annotator)}" if author else GOLD)
                inner.mkdir(exist_ok=True)
                # Bytes, so that line ends stay as they are: offsets count them.
                (inner / f"{name}.txt").write_bytes(record.passage.encode())
                marked = list(spans(record, document))
                lines = [
                    _brat_line(record, number, layer.name, span, types)
                    for number, (layer, span) in enumerate(marked, start=1)
                ]
                names = {span.id: f"T{number}" for number, (_layer, span) in enumerate(marked, start=1)}
                for number, (layer, relation) in enumerate(relations(record, document), start=1):
                    kind = _brat_type(layer.name, relation.label, types)
                    joining.setdefault(kind)
                    first, second = (names[end] for end in relation.ends)
                    lines.append(
                        f"R{number}\t{kind} Arg1:{first} Arg2:{second}\n"
                        if layer.directed
                        else f"*\t{kind} {first} {second}\n"
                    )
                (inner / f"{name}.ann").write_bytes("".join(lines).encode())
        (folder / TYPES).write_text(json.dumps(types, ensure_ascii=False), encoding="utf-8")
        entities = "".join(f"{name}\n" for name in types if name not in joining)
        joined = "".join(f"{name}\tArg1:<ENTITY>, Arg2:<ENTITY>\n" for name in joining)
        text = f"[entities]\n{entities}\n[relations]\n{joined}\n[events]\n\n[attributes]\n"
        (folder / "annotation.conf").write_text(text, encoding="utf-8")


def _brat_line(
    record: ItemRecord, number: int, layer: str, span: Span, types: dict[str, tuple[str, str]]
) -> str:
    kind = _brat_type(layer, span.label, types)
    start, end = span.span
    parts = [(line.start() + start, line.end() + start) for line in _LINE.finditer(record.passage[start:end])]
    text = " ".join(record.passage[first:last] for first, last in parts).replace("\t", " ")
    return f"T{number}\t{kind} {';'.join(f'{first} {last}' for first, last in parts)}\t{text}\n"


def _brat_type(layer: str, label: str, types: dict[str, tuple[str, str]]) -> str:
    """Return the type of a label, which has letters, digits, - and _ only."""
    base = re.sub(r"[^A-Za-z0-9_-]", "_", label)
    kind, more = base, 2
    while types.setdefault(kind, (layer, label)) != (layer, label):
        kind, more = f"{base}-{more}", more + 1
    return kind


def read_w3c(source: LabelledSource) -> Iterator[Entry]:
    """Yield the texts and images that a page of Web Annotations is about.

    A text stands in the ``value`` of a target's source, or as a ``.txt`` file in the same zip file.
    """
    texts = {path.stem: path for path in files_of(source, ".txt")} if source.path.is_dir() else {}
    for path in files_of(source, ".json", ".jsonld"):
        element = read_document(path)
        page = element.value
        for key in ("first", "items"):
            page = page[key] if isinstance(page, dict) and key in page else page
        if not isinstance(page, list):
            source.findings.refuse(
                ValueError(at_field("items", say("is missing; expected a page of annotations"))),
                path,
                element=element,
            )
            continue
        groups: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        for number, each in enumerate(page):
            if not isinstance(each, dict) or not isinstance(each.get("target"), dict):
                source.findings.refuse(
                    ValueError(say("expected an annotation with one target")),
                    path,
                    element=element,
                    within=f"items[{number}]",
                )
            else:
                about = each["target"].get("source")
                name = about.get("id", "") if isinstance(about, dict) else about
                groups.setdefault(str(name), []).append((number, each))
        for name, marked in groups.items():
            place = {"path": path, "element": element, "within": f"items[{marked[0][0]}]"}
            yield from guarded(
                source, place, partial(_resource, source, name, [each for _number, each in marked], texts)
            )


def _resource(
    source: LabelledSource, name: str, marked: list[dict[str, Any]], texts: dict[str, Path]
) -> list[Entry]:
    own = re.fullmatch(r"urn:touchstone:([^:]*):passage", name)
    external_id = unquote(own[1]) if own else unquote(name)
    sources = [each["target"]["source"] for each in marked]
    embedded = next((each["value"] for each in sources if isinstance(each, dict) and each.get("value")), None)
    fragments = any(
        str(_selectors(each)[0].get("value", "")).startswith(("xywh=", "<svg")) for each in marked
    )
    if fragments or any(each["target"].get("type") == "Image" for each in marked):
        size = next((each for each in sources if isinstance(each, dict)), {})
        entry = Entry(
            external_id, images=(image_named(source, external_id, size.get("width"), size.get("height")),)
        )
    elif isinstance(embedded, str):
        entry = Entry(external_id, passage=embedded)
    elif (path := texts.get(Path(external_id).stem)) is not None:
        with opened(path, newline="") as file:
            entry = Entry(external_id, passage=file.read())
    else:
        text = "the text of %(name)r is missing; add it as a .txt file to the zip file"
        raise ValueError(at_field("target.source", say(text, name=name)))
    authors: dict[str | None, Labelling] = {}
    for each in marked:
        creator = each.get("creator") or {}
        names = (
            (creator.get(key) for key in ("nickname", "name", "id"))
            if isinstance(creator, dict)
            else [creator]
        )
        author = next((str(given) for given in names if given), None)
        labelling = authors.setdefault(
            author,
            Labelling(
                annotator=author, fields={"status": str(each.get("status", "submitted"))} if author else {}
            ),
        )
        _take_w3c(source, entry, labelling, each)
    entry.labellings = list(authors.values())
    return [entry]


def _selectors(annotation: dict[str, Any]) -> list[dict[str, Any]]:
    given = annotation["target"].get("selector")
    several = given if isinstance(given, list) else [given]
    return [each for each in several if isinstance(each, dict)] or [{}]


def _take_w3c(source: LabelledSource, entry: Entry, labelling: Labelling, annotation: dict[str, Any]) -> None:
    body = annotation.get("body") or []
    bodies = body if isinstance(body, list) else [body]
    bodies = [{"value": each} if isinstance(each, str) else each for each in bodies]
    values = {each.get("purpose", "tagging"): each.get("value") for each in bodies if isinstance(each, dict)}
    layer, label = str(values.get("classifying") or ""), str(values.get("tagging") or "")
    place = str(annotation.get("id", entry.external_id))
    selectors = _selectors(annotation)
    if not label:
        source.findings.mend(NO_LABEL, place)
    elif selectors == [{}]:
        labelling.answers.append((layer or CLASS, "choice", label))
    elif entry.images:
        value = str(selectors[0].get("value", ""))
        if selectors[0].get("type") == "SvgSelector":
            mark = _svg(source, entry, label, value, place)
        else:
            mark = _fragment(source, entry, label, value, place)
        labelling.marks += [(layer or OBJECTS, mark)] if mark else []
    else:
        labelling.marks.append((layer or ENTITIES, _selected(source, entry, label, selectors)))


def _fragment(source: LabelledSource, entry: Entry, label: str, fragment: str, place: str) -> Box | None:
    match = re.fullmatch(r"xywh=(pixel:|percent:)?([-\d.eE,+]+)", fragment)
    numbers = [float(number) for number in match[2].split(",")] if match else []
    if match is None or len(numbers) != 4:
        source.findings.mend(OTHER_SHAPES, place)
        return None
    x, y, width, height = numbers
    if match[1] == "percent:":
        edges = (x / 100, y / 100, (x + width) / 100, (y + height) / 100)
        return fraction_box(edges, label, source.findings, place)
    return pixel_box((x, y, x + width, y + height), label, entry.images[0], source.findings, place)


def _svg(source: LabelledSource, entry: Entry, label: str, svg: str, place: str) -> Box | None:
    """Return the mark of the one shape in an SVG selector."""
    shape = re.search(r"<(polygon|circle|ellipse)\s([^<>]*?)/?>", svg)
    about: dict[str, str] = dict(re.findall(r"""([a-z]+)=["']([^"']*)["']""", shape[2])) if shape else {}
    width, height = size_of(entry.images[0])
    if shape and shape[1] == "polygon":
        numbers = [float(number) for number in re.findall(r"[-+.\deE]+", about.get("points", ""))]
        corners = [(x / width, y / height) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        return fraction_polygon(corners, label, source.findings, place)
    if not shape or not {"cx", "cy"} <= about.keys():
        source.findings.mend(OTHER_SHAPES, place)
        return None
    x, y = float(about["cx"]), float(about["cy"])
    across, down = (float(about.get(name, about.get("r", "0"))) for name in ("rx", "ry"))
    if not across:
        return fraction_point(x / width, y / height, label)
    edges = (x - across, y - down, x + across, y + down)
    box = pixel_box(edges, label, entry.images[0], source.findings, place)
    return box and Ellipse(**box.model_dump(), shape="ellipse")


def _selected(source: LabelledSource, entry: Entry, label: str, selectors: list[dict[str, Any]]) -> Span:
    position: dict[str, Any] = next(
        (each for each in selectors if each.get("type") == "TextPositionSelector"), {}
    )
    exact = next((each["exact"] for each in selectors if isinstance(each.get("exact"), str)), None)
    if "start" in position and "end" in position:
        start, end = position["start"], position["end"]
        return span_at(entry, start, end, label, source.findings, quote=exact)
    if exact is None or entry.passage.count(exact) != 1:
        text = "needs a TextPositionSelector, or a quote that occurs once in the text"
        raise ValueError(at_field("target.selector", say(text)))
    start = entry.passage.index(exact)
    return span_at(entry, start, start + len(exact), label, source.findings)


def write_w3c(records: Iterable[ItemRecord], path: Path) -> None:
    """Write a page with marks and choices; a text is in its first target."""
    write_page(path, CONTEXT, chain.from_iterable(map(_annotations, records)))


def _annotations(record: ItemRecord) -> Iterator[dict[str, Any]]:
    name = f"urn:touchstone:{quote(record.external_id, safe='')}"
    about: str | dict[str, Any] = {"id": f"{name}:passage", "type": "Text", "value": record.passage}
    for place, (author, document) in enumerate(labellings(record)):
        common = _common(author)
        for number, (layer, label, target) in enumerate(_targets(record, document)):
            if record.kind == "spans":
                target = {"source": about, **target}
                about = f"{name}:passage"
            body = [
                {"type": "TextualBody", "purpose": "tagging", "value": label},
                {"type": "TextualBody", "purpose": "classifying", "value": layer},
            ]
            yield {"id": f"{name}:{place}:{number}", **common, "body": body, "target": target}


def _common(author: AnnotationRecord | None) -> dict[str, Any]:
    common: dict[str, Any] = {"type": "Annotation", "motivation": "tagging"}
    if author is not None:
        common |= {"creator": {"type": "Person", "nickname": author.annotator}, "status": author.status}
    return common


def _targets(record: ItemRecord, document: Document) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the layer, label and target of each mark and choice."""
    for layer, span in spans(record, document):
        (start, end), text = span.span, record.passage
        position = {"type": "TextPositionSelector", "start": start, "end": end}
        around = {"prefix": text[max(0, start - AROUND) : start], "suffix": text[end : end + AROUND]}
        exact = {"type": "TextQuoteSelector", "exact": span.quote, **around}
        yield layer.name, span.label, {"type": "Text", "selector": [position, exact]}
    for layer, mark in image_marks(record, document):
        target = {"source": _source_of(record, mark.image), "type": "Image"}
        yield layer.name, mark.label, {**target, "selector": _selector(record, mark)}
    for layer, values in answers(record, document):
        kind: dict[str, Any] = {"type": "Text"}
        if record.images:
            kind = {"type": "Image", "source": _source_of(record, 0)}
        for value in values if layer.labels else []:
            yield layer.name, str(value), kind


def _selector(record: ItemRecord, mark: Box) -> dict[str, Any]:
    """Return the selector of a mark: a fragment, or SVG in pixels."""
    left, top, right, bottom = mark.box
    if type(mark) is Box:
        numbers = _comma(100 * edge for edge in (left, top, right - left, bottom - top))
        return {"type": "FragmentSelector", "conformsTo": FRAGMENTS, "value": f"xywh=percent:{numbers}"}
    width, height = pixels(record, mark.image)
    middle = f'cx="{(left + right) / 2 * width:.6f}" cy="{(top + bottom) / 2 * height:.6f}"'
    if isinstance(mark, Polygon):
        shape = f'<polygon points="{" ".join(_comma((x * width, y * height)) for x, y in mark.polygon)}"/>'
    elif isinstance(mark, KeyPoint):
        shape = f'<circle {middle} r="0"/>'
    else:
        radii = f'rx="{(right - left) / 2 * width:.6f}" ry="{(bottom - top) / 2 * height:.6f}"'
        shape = f"<ellipse {middle} {radii}/>"
    return {"type": "SvgSelector", "value": f'<svg xmlns="http://www.w3.org/2000/svg">{shape}</svg>'}


def _comma(numbers: Iterable[float]) -> str:
    return ",".join(f"{value:.9f}".rstrip("0").rstrip(".") for value in numbers)


def _source_of(record: ItemRecord, place: int) -> dict[str, Any]:
    image = record.images[place]
    size = {"width": image.width, "height": image.height} if image.width else {}
    return {"id": quote(image.name), **size}

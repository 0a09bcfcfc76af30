"""Write W3C Web Annotations: a page of JSON-LD, one entry per object.

A span has a ``TextPositionSelector``, in code points as the recommendation asks, and a
``TextQuoteSelector`` with some text around it; a box is a media fragment in percent of the image.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from analysis.programs import Node, describe
from annotation.content.schemas import Box, Chosen, ItemRecord, Object, Span
from annotation.formats.flat.statements import Source, list_sources, list_statements
from annotation.formats.writing import format_moment, write_list

OURS = {"revision": "urn:touchstone:revision", "status": "urn:touchstone:status"}
CONTEXT = ["http://www.w3.org/ns/anno.jsonld", OURS]
FRAGMENTS = "http://www.w3.org/TR/media-frags/"
AROUND = 32  # code points before and after a quote, to find it in a changed text


def write_w3c(records: Iterable[ItemRecord], path: Path) -> None:
    """Write a page with the objects of the gold and of all annotations."""
    write_page(path, CONTEXT, chain.from_iterable(map(_build_annotations, records)))


def write_page(path: Path, context: list[Any], annotations: Iterable[dict[str, Any]]) -> None:
    """Write a page of annotations."""
    head = json.dumps({"@context": context, "type": "AnnotationPage"})[:-1] + ', "items": ['
    write_list(path, annotations, head.encode(), b"]}\n")


def _build_annotations(record: ItemRecord) -> Iterator[dict[str, Any]]:
    passage = _build_urn(record.external_id, "passage")
    images = [quote(image.name) for image in record.images]
    for source in list_sources(record):
        base = _build_urn(
            record.external_id, "gold" if source.annotation is None else f"annotation-{source.number}"
        )
        common, gold = (
            _build_common_fields(source),
            [] if source.annotation is not None else [_build_body("assessing", "gold")],
        )
        for node, _layer, drawn, shape in list_statements(record, source.document):
            if isinstance(shape, Box):
                target = _build_image_target(images, shape)
            else:
                target = _build_text_target(passage, record, shape)
            yield {
                "id": f"{base}:{_quote_part(drawn.id)}",
                **common,
                "body": [*_build_tag_bodies(node), *_build_reference_bodies(base, drawn), *gold],
                "target": target,
            }


def _build_common_fields(source: Source) -> dict[str, Any]:
    """Return the fields that all entries of a source share."""
    common: dict[str, Any] = {"type": "Annotation", "motivation": "tagging"}
    if source.annotation is not None:
        common["creator"] = {"type": "Person", "nickname": source.annotator}
        times = {
            "created": format_moment(source.annotation.started),
            "modified": format_moment(source.annotation.submitted),
        }
        common |= {name: moment for name, moment in times.items() if moment}
        common |= {"revision": source.annotation.revision, "status": source.annotation.status}
    return common


def _build_body(purpose: str, value: str) -> dict[str, str]:
    return {"type": "TextualBody", "purpose": purpose, "value": value}


@lru_cache(maxsize=10_000)
def _build_tag_bodies(node: Node) -> tuple[dict[str, str], dict[str, str]]:
    """Return the label and the index of a step."""
    return _build_body("tagging", describe(node)), _build_body("classifying", f"m{node.index}")


def _build_reference_bodies(base: str, drawn: Object) -> Iterator[dict[str, str]]:
    """Yield the references and the reason of an object."""
    for other in (drawn.ref,) if isinstance(drawn, Chosen) else drawn.links:
        yield {"type": "SpecificResource", "purpose": "linking", "source": f"{base}:{_quote_part(other)}"}
    if not isinstance(drawn, Chosen) and drawn.reason:
        yield _build_body("commenting", drawn.reason)


def _build_image_target(images: list[str], box: Box) -> dict[str, Any]:
    return {"source": images[box.image], "type": "Image", "selector": build_box_selector(box)}


def build_box_selector(box: Box) -> dict[str, Any]:
    """Return the selector of a box, in percent of its image."""
    left, top, right, bottom = (100 * edge for edge in box.box)
    numbers = join_numbers((left, top, right - left, bottom - top))
    return {"type": "FragmentSelector", "conformsTo": FRAGMENTS, "value": f"xywh=percent:{numbers}"}


def _build_text_target(name: str, record: ItemRecord, span: Span) -> dict[str, Any]:
    return {"source": name, "type": "Text", "selector": build_text_selectors(record.passage, span)}


def build_text_selectors(passage: str, span: Span) -> list[dict[str, Any]]:
    """Return the selectors of a span: its position, and its words."""
    start, end = span.span
    around = {"prefix": passage[max(0, start - AROUND) : start], "suffix": passage[end : end + AROUND]}
    return [
        {"type": "TextPositionSelector", "start": start, "end": end},
        {"type": "TextQuoteSelector", "exact": span.quote, **around},
    ]


def _build_urn(*parts: str) -> str:
    """Return a URI that does not depend on the location of the file."""
    return "urn:touchstone:" + ":".join(_quote_part(part) for part in parts)


@lru_cache(maxsize=10_000)
def _quote_part(part: str) -> str:
    return quote(part, safe="")


def join_numbers(numbers: Iterable[float]) -> str:
    """Return numbers as selectors have them."""
    return ",".join(f"{value:.9f}".rstrip("0").rstrip(".") for value in numbers)

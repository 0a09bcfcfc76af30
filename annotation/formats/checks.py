"""Check that an item of a file is consistent, at the end of every reader.

Its program must parse, its tokens fit the passage, and its documents follow the rules of editing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from operator import le, lt

from analysis.programs import Program, ProgramError, parse
from annotation.content.label_programs import is_label_text, label_program
from annotation.content.operations import Subject, check_document
from annotation.content.schemas import Document, ItemRecord, Kind
from annotation.errors import BadEdit
from foundation.messages import extract_message, field_error, prefix_field

DRAFT = "draft"  # in `ItemRecord.extra`: the document that annotations start from


@lru_cache(maxsize=4096)
def parse_program_text(text: str, kind: Kind) -> Program:
    """Parse nested text or a plain task; a few thousand programs are cached."""
    return label_program(text, kind) if is_label_text(text) else parse(text, kind=kind)


def parse_record_program(record: ItemRecord) -> Program | None:
    """Return the item's program, or None if it has none yet."""
    return parse_program_text(record.program, record.kind) if record.program else None


def check_record(record: ItemRecord) -> ItemRecord:
    """Return the record after checking it.

    Raises:
        ValueError: Names the field that contradicts another.
    """
    try:
        program = parse_record_program(record)
    except ProgramError as error:
        raise ValueError(prefix_field("program", extract_message(error))) from error
    _check_tokens(record)
    _check_images(record)
    subject = Subject.model_construct(
        kind=record.kind, images=len(record.images), passage=record.passage, tokens=record.tokens
    )
    for field, document in list_documents(record):
        if program is None and document.layers:
            raise field_error(f"{field}.layers", "the item has no program, so steps cannot have layers")
        if program is not None:
            try:
                check_document(document, program, subject)
            except BadEdit as error:
                raise ValueError(prefix_field(f"{field}.{error.field}", extract_message(error))) from error
    return record


def list_documents(record: ItemRecord) -> Iterator[tuple[str, Document]]:
    """Yield gold, annotations and draft with the names of their fields."""
    if DRAFT in record.extra:
        yield f"extra.{DRAFT}", Document.model_validate(record.extra[DRAFT])
    if record.gold is not None:
        yield "gold", record.gold
    for number, annotation in enumerate(record.annotations):
        yield f"annotations.{number}.document", annotation.document


def _check_images(record: ItemRecord) -> None:
    if record.kind == "boxes" and not record.images:
        raise field_error("images", "is empty, and boxes need an image to lie on")
    for number, image in enumerate(record.images):
        if image.name.lower().startswith(("http://", "https://")):
            raise field_error(
                f"images.{number}",
                "%(name)r is an address, and images are not fetched from other sites; "
                "download the file and name it here",
                name=image.name,
            )


def _check_tokens(record: ItemRecord) -> None:
    if record.kind == "spans" and not record.passage:
        raise field_error("passage", "is missing, and spans need one")
    edges = list(chain.from_iterable(record.tokens))
    # Avoid a Python loop, because passages have hundreds of tokens and every item is checked.
    in_order = all(map(le, edges, islice(edges, 1, None))) and all(map(lt, edges[::2], edges[1::2]))
    if in_order and (not edges or edges[-1] <= len(record.passage)):
        return
    before = 0
    for number, (start, end) in enumerate(record.tokens):
        if not before <= start < end <= len(record.passage):
            raise field_error(
                f"tokens.{number}",
                "%(start)s to %(end)s overlaps the one before, or leaves the passage",
                start=start,
                end=end,
            )
        before = end

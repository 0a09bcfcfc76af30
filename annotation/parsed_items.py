"""An item's rows as the pure rules take them: its parsed program, and what edits are checked against."""

from typing import cast

from analysis.programs import Program
from annotation.formats.checks import program_of_text
from annotation.models import Item, Project
from annotation.operations import Subject
from annotation.schemas import Document, Kind


def program_of(item: Item, kind: str) -> Program:
    """The item's program. It was checked when the item came in."""
    return program_of_text(item.program, cast(Kind, kind))


def kind_of(project: Project) -> Kind:
    """What the project marks, as the pure rules name it."""
    return cast(Kind, project.kind)


def subject_of(item: Item, kind: str) -> Subject:
    """What edits of a work on the item are checked against."""
    # The item was checked when it came in, so it is not checked again at every edit.
    return Subject.model_construct(
        kind=kind,
        images=len(item.images),
        passage=item.passage,
        tokens=item.tokens,
    )


def document_of(stored: object) -> Document:
    """A stored document."""
    return Document.model_validate(stored)

"""Turn rows of items into the values that the rules of editing take."""

from typing import cast

from analysis.programs import Program
from annotation.content.completeness import drop_hidden_parts
from annotation.content.label_changes import LabelChange
from annotation.content.label_programs import is_label_text
from annotation.content.labels import LabelTask
from annotation.content.operations import Subject
from annotation.content.schemas import Document, Kind
from annotation.formats.checks import parse_program_text
from annotation.models import Annotation, Item, Project, SystemOutput
from annotation.suggestions import Suggestions, build_suggestions


def parse_item_program(item: Item, kind: str) -> Program:
    """Parse the item's program, which was checked at import."""
    return parse_program_text(item.program, cast(Kind, kind))


def get_kind(project: Project) -> Kind:
    """Return what the project marks."""
    return cast(Kind, project.kind)


def parse_task(project: Project) -> LabelTask | None:
    """Return the plain task of a project; None if its items have programs."""
    return LabelTask.model_validate(project.labels) if project.labels else None


def label_changes_of(project: Project) -> list[LabelChange]:
    """Return the labels that were renamed or merged, in their order."""
    return [LabelChange.model_validate(change) for change in project.label_changes]


def build_subject(item: Item, kind: str) -> Subject:
    """Return what edits of an annotation of the item are checked against."""
    # Items are checked at import, so not again at every edit.
    return Subject.model_construct(
        kind=kind,
        images=len(item.images),
        passage=item.passage,
        tokens=item.tokens,
    )


def suggest_from_output(output: SystemOutput, program: Program, subject: Subject) -> Suggestions:
    """Return what a model output suggests to people, by node."""
    return build_suggestions(
        f"s{output.pk}",
        program,
        subject,
        marks=output.marks,
        proposals=output.proposals,
        modules=output.modules,
    )


def drop_hidden_layers(document: Document, program: str, kind: str) -> Document:
    """Return the document without the layers that its own answers hide."""
    if not is_label_text(program):
        return document
    return drop_hidden_parts(document, parse_program_text(program, cast(Kind, kind)))


def read_visible_document(annotation: Annotation, kind: str) -> Document:
    """Return what a person says of an item, without hidden layers."""
    return drop_hidden_layers(parse_document(annotation.document), annotation.item.program, kind)


def parse_document(stored: object) -> Document:
    """Parse a stored document."""
    return Document.model_validate(stored)

"""Turn database rows into rows of the REST API."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from accounts.policy import Act
from accounts.rest.bodies import Payload
from accounts.rest.pages import row_of, validate_row
from analysis.gold_agreement import Agreement
from annotation.models import (
    Annotation,
    Comment,
    Gold,
    Guideline,
    ImageFile,
    Item,
    Membership,
    Operation,
    OutputRun,
    Project,
    SystemOutput,
)
from annotation.parsed_items import document_of
from annotation.policies import may, roles_here
from annotation.queries.annotations import comment_row, image_address
from annotation.queries.members import load_workspace_roles
from annotation.queries.outputs import Faithfulness
from annotation.queries.records import history, image_files
from annotation.queries.runs import progress
from annotation.rest.annotation_shapes import AnnotationDetail, AnnotationRow
from annotation.rest.output_shapes import OutputRow
from annotation.rest.shapes import GoldRow
from touchstone.client import project_rows as wire

Shape = TypeVar("Shape", bound=Payload)


def project_row(member: Membership) -> wire.ProjectRow:
    """Return a project as a row."""
    project = member.project
    return row_of(wire.ProjectRow, project, workspace=project.workspace.slug, roles=roles_here(member))


def item_rows(member: Membership, items: Sequence[Item]) -> list[wire.ItemRow]:
    """Return items as rows; annotators see nothing that reveals gold."""
    files, all_of_it = image_files(member.project, items), may(member, Act.ANNOTATION_SETTLE)
    return [_item_row(member.project, item, files, all_of_it) for item in items]


def _item_row(project: Project, item: Item, files: Mapping[str, ImageFile], all_of_it: bool) -> wire.ItemRow:
    names = ("purpose", "extra", "annotators_wanted", "assigned", "submitted", "has_gold")
    return row_of(
        wire.ItemRow,
        item,
        kind=project.kind,
        images=[image_row(project, name, files.get(name)) for name in item.images],
        answer=item.answer if all_of_it or project.show_answer else None,
        **{name: getattr(item, name, None) if all_of_it else None for name in names},
    )


def image_row(project: Project, name: str, file: ImageFile | None) -> wire.ImageRow:
    """Return an image as a row; the site may know only its name."""
    if file is None:  # the item names it, and no file of that name is known
        return wire.ImageRow(id="", name=name, width=None, height=None, url="")
    url = image_address(project, file)
    return wire.ImageRow(id=str(file.pk), name=name, width=file.width, height=file.height, url=url)


def annotation_row(annotation: Annotation) -> AnnotationRow:
    """Return an annotation as a row."""
    return _annotation(AnnotationRow, annotation)


def _annotation(shape: type[Shape], annotation: Annotation, **others: Any) -> Shape:
    return row_of(
        shape,
        annotation,
        project=annotation.project.slug,
        item_id=str(annotation.item_id),
        item=annotation.item.external_id,
        annotator=annotation.annotator.get_username(),
        document=document_of(annotation.document),
        **others,
    )


def history_row(operation: Operation) -> wire.HistoryRow:
    """Return an operation as a row."""
    return row_of(wire.HistoryRow, operation, id=operation.uid, by=operation.by.get_username())


def annotation_detail(annotation: Annotation) -> AnnotationDetail:
    """Return an annotation with its edits and comments."""
    comments = annotation.comments.select_related("by")
    return _annotation(
        AnnotationDetail,
        annotation,
        history=[history_row(each) for each in history(annotation)],
        comments=[comment_shape(each) for each in comments],
    )


def comment_shape(comment: Comment) -> wire.CommentRow:
    """Return a comment as a row."""
    return validate_row(wire.CommentRow, comment_row(comment))


def gold_row(gold: Gold) -> GoldRow:
    """Return a version of gold as a row."""
    return row_of(
        GoldRow,
        gold,
        item_id=str(gold.item_id),
        item=gold.item.external_id,
        annotation=None if gold.annotation_id is None else str(gold.annotation_id),
        by=gold.by.get_username() if gold.by else None,
        document=document_of(gold.document),
    )


def output_row(output: SystemOutput) -> OutputRow:
    """Return a model output as a row."""
    return row_of(OutputRow, output, item_id=str(output.item_id), item=output.item.external_id)


def member_rows(members: Sequence[Membership]) -> list[wire.ProjectMemberRow]:
    """Return members as rows, with their roles in the workspace."""
    load_workspace_roles(members)
    return [
        row_of(wire.ProjectMemberRow, member, user=member.user.get_username(), roles=roles_here(member))
        for member in members
    ]


def guideline_row(guideline: Guideline) -> wire.GuidelineRow:
    """Return a version of a guideline as a row."""
    author = guideline.created_by
    return row_of(wire.GuidelineRow, guideline, created_by=author.get_username() if author else None)


def output_run_row(run: OutputRun) -> wire.OutputRun:
    """Return a run with its progress as a row."""
    counts = progress(run)
    return row_of(wire.OutputRun, run, items=counts.items, outputs=counts.outputs, failures=counts.failures)


def faithfulness_row(scores: Faithfulness) -> wire.Faithfulness:
    """Return the scores of a system as a row."""
    values = asdict(scores)
    worst = [{**each, "item_id": str(each["item_id"])} for each in values["worst"]]
    return validate_row(wire.Faithfulness, {**values, "worst": worst})


def agreement_rows(agreement: Agreement, *, names: bool) -> list[wire.AgreementRow]:
    """Return the inter-annotator agreement, a row for each measure of a group.

    names: with the pairs of people, who are named there.
    """
    return [
        wire.AgreementRow(
            by=group.by,
            name=group.name,
            measure=measure,
            value=quantity.value,
            low=quantity.interval.low if quantity.interval else None,
            high=quantity.interval.high if quantity.interval else None,
            n=quantity.n,
            reason=quantity.reason,
        )
        for group, metrics in agreement.groups.items()
        if names or group.by != "pair of people"
        for measure, quantity in metrics.items()
    ]

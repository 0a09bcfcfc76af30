"""Turn database rows into rows of the REST API."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from accounts.policy_table import Act
from accounts.rest.bodies import Payload
from accounts.rest.pages import build_row, validate_row
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
from annotation.parsed_items import parse_document
from annotation.policies import list_roles, may
from annotation.queries.annotations import build_comment_row, build_image_address
from annotation.queries.members import load_workspace_roles
from annotation.queries.outputs import Faithfulness
from annotation.queries.records import find_image_files, list_operations
from annotation.queries.runs import count_progress
from annotation.rest.annotation_shapes import AnnotationDetail, AnnotationRow
from annotation.rest.output_shapes import OutputRow
from annotation.rest.shapes import GoldRow
from touchstone.client import project_rows as wire

Shape = TypeVar("Shape", bound=Payload)


def build_project_row(member: Membership) -> wire.ProjectRow:
    """Return a project as a row."""
    project = member.project
    return build_row(wire.ProjectRow, project, workspace=project.workspace.slug, roles=list_roles(member))


def build_item_rows(member: Membership, items: Sequence[Item]) -> list[wire.ItemRow]:
    """Return items as rows; annotators see nothing that reveals gold."""
    files, all_of_it = find_image_files(member.project, items), may(member, Act.ANNOTATION_SETTLE)
    return [_build_item_row(member.project, item, files, all_of_it) for item in items]


def _build_item_row(
    project: Project, item: Item, files: Mapping[str, ImageFile], all_of_it: bool
) -> wire.ItemRow:
    names = ("purpose", "extra", "annotators_wanted", "assigned", "submitted", "has_gold")
    return build_row(
        wire.ItemRow,
        item,
        kind=project.kind,
        images=[build_image_row(project, name, files.get(name)) for name in item.images],
        answer=item.answer if all_of_it or project.show_answer else None,
        **{name: getattr(item, name, None) if all_of_it else None for name in names},
    )


def build_image_row(project: Project, name: str, file: ImageFile | None) -> wire.ImageRow:
    """Return an image as a row; the site may know only its name."""
    if file is None:  # the item names it, and no file of that name is known
        return wire.ImageRow(id="", name=name, width=None, height=None, url="")
    url = build_image_address(project, file)
    return wire.ImageRow(id=str(file.pk), name=name, width=file.width, height=file.height, url=url)


def build_annotation_row(annotation: Annotation) -> AnnotationRow:
    """Return an annotation as a row."""
    return _build_annotation(AnnotationRow, annotation)


def _build_annotation(shape: type[Shape], annotation: Annotation, **others: Any) -> Shape:
    return build_row(
        shape,
        annotation,
        project=annotation.project.slug,
        item_id=str(annotation.item_id),
        item=annotation.item.external_id,
        annotator=annotation.annotator.get_username(),
        document=parse_document(annotation.document),
        **others,
    )


def build_history_row(operation: Operation) -> wire.HistoryRow:
    """Return an operation as a row."""
    return build_row(wire.HistoryRow, operation, id=operation.uid, by=operation.by.get_username())


def build_annotation_detail(annotation: Annotation) -> AnnotationDetail:
    """Return an annotation with its edits and comments."""
    comments = annotation.comments.select_related("by")
    return _build_annotation(
        AnnotationDetail,
        annotation,
        history=[build_history_row(operation) for operation in list_operations(annotation)],
        comments=[build_comment_shape(comment) for comment in comments],
    )


def build_comment_shape(comment: Comment) -> wire.CommentRow:
    """Return a comment as a row."""
    return validate_row(wire.CommentRow, build_comment_row(comment))


def build_gold_row(gold: Gold) -> GoldRow:
    """Return a version of gold as a row."""
    return build_row(
        GoldRow,
        gold,
        item_id=str(gold.item_id),
        item=gold.item.external_id,
        annotation=None if gold.annotation_id is None else str(gold.annotation_id),
        by=gold.by.get_username() if gold.by else None,
        document=parse_document(gold.document),
    )


def build_output_row(output: SystemOutput) -> OutputRow:
    """Return a model output as a row."""
    return build_row(OutputRow, output, item_id=str(output.item_id), item=output.item.external_id)


def build_member_rows(members: Sequence[Membership]) -> list[wire.ProjectMemberRow]:
    """Return members as rows, with their roles in the workspace."""
    load_workspace_roles(members)
    return [
        build_row(wire.ProjectMemberRow, member, user=member.user.get_username(), roles=list_roles(member))
        for member in members
    ]


def build_guideline_row(guideline: Guideline) -> wire.GuidelineRow:
    """Return a version of a guideline as a row."""
    author = guideline.created_by
    return build_row(wire.GuidelineRow, guideline, created_by=author.get_username() if author else None)


def build_output_run_row(run: OutputRun) -> wire.OutputRun:
    """Return a run with its progress as a row."""
    counts = count_progress(run)
    return build_row(
        wire.OutputRun, run, items=counts.items, outputs=counts.outputs, failures=counts.failures
    )


def build_faithfulness_row(scores: Faithfulness) -> wire.Faithfulness:
    """Return the scores of a system as a row."""
    values = asdict(scores)
    worst = [{**item, "item_id": str(item["item_id"])} for item in values["worst"]]
    return validate_row(wire.Faithfulness, {**values, "worst": worst})


def build_agreement_rows(agreement: Agreement, *, names: bool) -> list[wire.AgreementRow]:
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

"""Turn database rows into rows of the REST API."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from accounts.policy import Act
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
from annotation.rest.annotation_shapes import AnnotationDetail, AnnotationRow, CommentRow, HistoryRow
from annotation.rest.output_shapes import FaithfulnessRow, OutputRow, OutputRunRow
from annotation.rest.shapes import (
    AgreementRow,
    GoldRow,
    GuidelineRow,
    ImageRow,
    ItemRow,
    MemberRow,
    ProjectRow,
)


def project_row(member: Membership) -> ProjectRow:
    """Return a project as a row."""
    return ProjectRow(**project_fields(member))


def project_fields(member: Membership) -> dict[str, Any]:
    """Return the fields of a project that are shown everywhere."""
    project = member.project
    return {
        "id": str(project.pk),
        "slug": project.slug,
        "workspace": project.workspace.slug,
        "title": project.title,
        "kind": project.kind,
        "status": project.status,
        "roles": roles_here(member),
        "annotators_per_item": project.annotators_per_item,
        "created_at": project.created_at,
    }


def item_rows(member: Membership, items: Sequence[Item]) -> list[ItemRow]:
    """Return items as rows; annotators see nothing that reveals gold."""
    files, all_of_it = image_files(member.project, items), may(member, Act.ANNOTATION_SETTLE)
    return [_item_row(member.project, item, files, all_of_it) for item in items]


def _item_row(project: Project, item: Item, files: Mapping[str, ImageFile], all_of_it: bool) -> ItemRow:
    return ItemRow.model_validate(
        {
            "id": str(item.pk),
            "external_id": item.external_id,
            "position": item.position,
            "kind": project.kind,
            "program": item.program,
            "text": item.text,
            "passage": item.passage,
            "tokens": item.tokens,
            "images": [image_row(project, name, files.get(name)) for name in item.images],
            "answer": item.answer if all_of_it or project.show_answer else None,
            "purpose": item.purpose if all_of_it else None,
            "extra": item.extra if all_of_it else None,
            "annotators_wanted": item.annotators_wanted if all_of_it else None,
            "assigned": item.assigned if all_of_it else None,
            "submitted": item.submitted if all_of_it else None,
            "has_gold": getattr(item, "has_gold", None) if all_of_it else None,
        }
    )


def image_row(project: Project, name: str, file: ImageFile | None) -> ImageRow:
    """Return an image as a row; the site may know only its name."""
    if file is None:  # the item names it, and no file of that name is known
        return ImageRow(id="", name=name, width=None, height=None, url="")
    url = image_address(project, file)
    return ImageRow(id=str(file.pk), name=name, width=file.width, height=file.height, url=url)


def annotation_row(annotation: Annotation) -> AnnotationRow:
    """Return an annotation as a row."""
    return AnnotationRow(**annotation_fields(annotation))


def annotation_fields(annotation: Annotation) -> dict[str, Any]:
    """Return the fields of an annotation that are shown everywhere."""
    return {
        "id": str(annotation.pk),
        "project": annotation.project.slug,
        "item_id": str(annotation.item_id),
        "item": annotation.item.external_id,
        "annotator": annotation.annotator.get_username(),
        "task": annotation.task,
        "status": annotation.status,
        "revision": annotation.revision,
        "started_at": annotation.started_at,
        "saved_at": annotation.saved_at,
        "submitted_at": annotation.submitted_at,
        "active_seconds": annotation.active_seconds,
        "predictions_shown": annotation.predictions_shown,
        "document": document_of(annotation.document),
    }


def history_row(operation: Operation) -> HistoryRow:
    """Return an operation as a row."""
    return HistoryRow(
        id=operation.uid,
        revision=operation.revision,
        by=operation.by.get_username(),
        at=operation.at,
        edit=operation.edit,
        inverse=operation.inverse,
        undoes=operation.undoes,
    )


def annotation_detail(annotation: Annotation) -> AnnotationDetail:
    """Return an annotation with its edits and comments."""
    comments = annotation.comments.select_related("by")
    return AnnotationDetail(
        **annotation_fields(annotation),
        history=[history_row(each) for each in history(annotation)],
        comments=[comment_shape(each) for each in comments],
    )


def comment_shape(comment: Comment) -> CommentRow:
    """Return a comment as a row."""
    return CommentRow(**comment_row(comment))


def gold_row(gold: Gold) -> GoldRow:
    """Return a version of gold as a row."""
    return GoldRow.model_validate(
        {
            "id": str(gold.pk),
            "item_id": str(gold.item_id),
            "item": gold.item.external_id,
            "version": gold.version,
            "current": gold.current,
            "method": gold.method,
            "annotation": None if gold.annotation_id is None else str(gold.annotation_id),
            "by": gold.by.get_username() if gold.by else None,
            "at": gold.at,
            "document": document_of(gold.document),
        }
    )


def output_row(output: SystemOutput) -> OutputRow:
    """Return a model output as a row."""
    return OutputRow(
        id=str(output.pk),
        item_id=str(output.item_id),
        item=output.item.external_id,
        system=output.system,
        revision=output.revision,
        created_at=output.created_at,
        proposals=output.proposals,
        modules=output.modules,
        answer=output.answer,
        marks=output.marks,
        score=output.score,
    )


def member_rows(members: Sequence[Membership]) -> list[MemberRow]:
    """Return members as rows, with their roles in the workspace."""
    load_workspace_roles(members)
    return [_member_row(member) for member in members]


def _member_row(member: Membership) -> MemberRow:
    names = ("role", "active", "qualified", "blind", "joined_at")
    return MemberRow.model_validate(
        {
            "id": str(member.pk),
            "user": member.user.get_username(),
            "roles": roles_here(member),
            **{name: getattr(member, name) for name in names},
        }
    )


def guideline_row(guideline: Guideline) -> GuidelineRow:
    """Return a version of a guideline as a row."""
    return GuidelineRow(
        id=str(guideline.pk),
        module=guideline.module,
        version=guideline.version,
        text=guideline.text,
        created_at=guideline.created_at,
        created_by=guideline.created_by.get_username() if guideline.created_by else None,
    )


def output_run_row(run: OutputRun) -> OutputRunRow:
    """Return a run with its progress as a row."""
    counts = progress(run)
    names = ("system", "revision", "status", "error", "created_at", "finished_at")
    return OutputRunRow.model_validate(
        {
            "id": str(run.pk),
            "items": counts.items,
            "outputs": counts.outputs,
            "failures": counts.failures,
            **{name: getattr(run, name) for name in names},
        }
    )


def faithfulness_row(scores: Faithfulness) -> FaithfulnessRow:
    """Return the scores of a system as a row."""
    values = asdict(scores)
    worst = [{**each, "item_id": str(each["item_id"])} for each in values["worst"]]
    return FaithfulnessRow.model_validate({**values, "worst": worst})


def agreement_rows(agreement: Agreement, *, names: bool) -> list[AgreementRow]:
    """Return the inter-annotator agreement, a row for each measure of a group.

    names: with the pairs of people, who are named there.
    """
    return [
        AgreementRow(
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

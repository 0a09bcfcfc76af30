"""Turn database rows into rows of the data API."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from accounts.policy import Act
from annotation.api.shapes import (
    AnnotationRow,
    CommentRow,
    DeliveryRow,
    GoldRow,
    GuidelineRow,
    HistoryRow,
    ImageRow,
    ItemRow,
    MemberRow,
    PredictionRow,
    ProjectRow,
    WebhookRow,
)
from annotation.models import (
    Annotation,
    Comment,
    Delivery,
    Gold,
    Guideline,
    ImageFile,
    Item,
    Membership,
    Operation,
    Project,
    SystemOutput,
    Webhook,
)
from annotation.parsed_items import document_of
from annotation.policies import may, roles_here
from annotation.queries.records import image_files


def project_row(member: Membership) -> ProjectRow:
    """Return a project as a row."""
    return ProjectRow(**project_fields(member))


def project_fields(member: Membership) -> dict[str, Any]:
    """Return the fields of a project that are shown everywhere."""
    project = member.project
    return {
        "slug": project.slug,
        "title": project.title,
        "kind": project.kind,
        "status": project.status,
        "roles": roles_here(member),
        "annotators_per_item": project.annotators_per_item,
    }


def item_rows(member: Membership, items: Sequence[Item]) -> list[ItemRow]:
    """Return items as rows; annotators see nothing that reveals gold."""
    files, all_of_it = image_files(member.project, items), may(member, Act.ANNOTATION_SETTLE)
    return [_item_row(member.project, item, files, all_of_it) for item in items]


def _item_row(project: Project, item: Item, files: Mapping[str, ImageFile], all_of_it: bool) -> ItemRow:
    return ItemRow.model_validate(
        {
            "id": item.pk,
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
            "places": item.annotators_wanted if all_of_it else None,
            "taken": item.assigned if all_of_it else None,
            "submitted": item.submitted if all_of_it else None,
            "has_gold": getattr(item, "has_gold", None) if all_of_it else None,
        }
    )


def image_row(project: Project, name: str, file: ImageFile | None) -> ImageRow:
    """Return an image as a row; the site may know only its name."""
    if file is None:
        return ImageRow(name=name, width=None, height=None, url="")
    url = reverse("annotation:image", args=[project.slug, file.pk]) if file.path else ""
    return ImageRow(name=name, width=file.width, height=file.height, url=url)


def annotation_row(annotation: Annotation) -> AnnotationRow:
    """Return an annotation as a row."""
    return AnnotationRow(**annotation_fields(annotation))


def annotation_fields(annotation: Annotation) -> dict[str, Any]:
    """Return the fields of an annotation that are shown everywhere."""
    return {
        "id": annotation.pk,
        "item_id": annotation.item_id,
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


def comment_row(comment: Comment) -> CommentRow:
    """Return a comment as a row."""
    return CommentRow(
        id=comment.pk,
        node=comment.node,
        object=comment.object_id,
        text=comment.text,
        by=comment.by.get_username(),
        at=comment.at,
        resolved=comment.resolved_at is not None,
    )


def gold_row(gold: Gold) -> GoldRow:
    """Return a version of gold as a row."""
    return GoldRow.model_validate(
        {
            "id": gold.pk,
            "item_id": gold.item_id,
            "item": gold.item.external_id,
            "version": gold.version,
            "current": gold.current,
            "method": gold.method,
            "work": gold.annotation_id,
            "by": gold.by.get_username() if gold.by else None,
            "at": gold.at,
            "document": document_of(gold.document),
        }
    )


def prediction_row(output: SystemOutput) -> PredictionRow:
    """Return a model output as a row."""
    return PredictionRow(
        id=output.pk,
        item_id=output.item_id,
        item=output.item.external_id,
        system=output.system,
        revision=output.revision,
        created_at=output.created_at,
        proposals=output.proposals,
        modules=output.modules,
        answer=output.answer,
    )


def member_row(member: Membership) -> MemberRow:
    """Return a member as a row."""
    return MemberRow.model_validate(
        {
            "username": member.user.get_username(),
            "role": member.role,
            "active": member.active,
            "roles": roles_here(member),
            "qualified": member.qualified,
            "joined_at": member.joined_at,
        }
    )


def guideline_row(guideline: Guideline) -> GuidelineRow:
    """Return a version of a guideline as a row."""
    return GuidelineRow(
        module=guideline.module,
        version=guideline.version,
        text=guideline.text,
        created_at=guideline.created_at,
        created_by=guideline.created_by.get_username() if guideline.created_by else None,
    )


def webhook_row(webhook: Webhook) -> WebhookRow:
    """Return a webhook as a row."""
    return WebhookRow(**webhook_fields(webhook))


def webhook_fields(webhook: Webhook) -> dict[str, Any]:
    """Return the shown fields of a webhook, without its secret."""
    return {
        "id": webhook.pk,
        "url": webhook.url,
        "kinds": webhook.kinds,
        "active": webhook.active,
        "created_at": webhook.created_at,
        "waiting": getattr(webhook, "waiting", 0),
        "failed": getattr(webhook, "failed", 0),
    }


def delivery_row(delivery: Delivery) -> DeliveryRow:
    """Return a delivery as a row."""
    return DeliveryRow(
        id=delivery.pk,
        kind=delivery.kind,
        created_at=delivery.created_at,
        attempts=delivery.attempts,
        next_at=delivery.next_at,
        delivered_at=delivery.delivered_at,
        last_error=delivery.last_error,
    )

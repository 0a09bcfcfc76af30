"""Read one annotation for the editor, and lists for reviewers."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from accounts.models import User
from analysis.programs import Program, describe, is_answer_consistent
from annotation.content.completeness import execute_document
from annotation.content.label_changes import LabelChange, relabel_edit
from annotation.content.labels import LabelTask
from annotation.content.schemas import Document
from annotation.models import (
    Annotation,
    Comment,
    Guideline,
    ImageFile,
    Item,
    KeyBindings,
    Membership,
    Operation,
    Project,
    SystemOutput,
)
from annotation.parsed_items import (
    build_subject,
    label_changes_of,
    parse_document,
    parse_item_program,
    parse_task,
    suggest_from_output,
)
from annotation.queries.comparison import find_other_objects
from annotation.queries.items import free_items
from foundation.database.prepared_queries import Prepared, make_slot
from predictions.explanations.module_words import describe_module

HISTORY = 200  # operations that the editor can undo after a reload


_WITH_ITEM = Prepared(
    lambda: (
        Annotation.objects.select_related("item")
        .defer("item__extra", "item__text_hash")
        .filter(pk=make_slot("annotation", Annotation))
    )
)
_COMMENTS = Prepared(
    lambda: Comment.objects.select_related("by").filter(annotation=make_slot("annotation", Annotation))
)
_UPCOMING = Prepared(
    lambda: (
        free_items(make_slot("user", User), make_slot("project", Project))
        .filter(rank__gte=make_slot("start", Item, "rank"))
        .only("images")[:1]
    )
)
_GUIDELINES = Prepared(
    lambda: Guideline.objects.filter(project=make_slot("project", Project)).only("module", "version", "text")
)
_KEYS = Prepared(lambda: KeyBindings.objects.filter(user=make_slot("user", User)).only("keys"))


def find_annotation_with_item(pk: int) -> Annotation | None:
    """Fetch an annotation with its item, in one query.

    Callers that have the project set it on the annotation.
    """
    return _WITH_ITEM.first(annotation=pk)


def build_editor_state(annotation: Annotation) -> dict[str, Any]:
    """Return all that the editor shows; see docs/reference/rest-api.md."""
    program, document = (
        parse_item_program(annotation.item, annotation.project.kind),
        parse_document(annotation.document),
    )
    return {
        "id": str(annotation.pk),
        "task": annotation.task,
        "revision": annotation.revision,
        "status": annotation.status,
        "reserved_until": annotation.reserved_until,
        "item": _describe_item(annotation),
        "program": build_program_tree(program, parse_task(annotation.project)),
        "document": annotation.document or Document().model_dump(mode="json"),
        **compute_outcome(annotation, document),
        "guidelines": describe_guidelines(annotation.project),
        "comments": [build_comment_row(comment) for comment in _COMMENTS.all(annotation=annotation.pk)],
        "predictions": describe_predictions(annotation),
        "others": find_other_objects(annotation),
        "history": list_recent_operations(annotation),
        "keys": keys(annotation),
    }


def compute_outcome(annotation: Annotation, document: Document) -> dict[str, Any]:
    """Execute the program: values, and if it contradicts the answer.

    A node has a value, and one in each run; see `analysis.programs.Execution`.
    """
    program = parse_item_program(annotation.item, annotation.project.kind)
    execution = execute_document(document, program)
    same = (
        is_answer_consistent(program, execution, annotation.item.answer)
        if annotation.project.show_answer
        else None
    )
    return {
        "values": execution.values,
        "runs": execution.runs,
        "mismatch": None if same is None else not same,
    }


def build_program_tree(program: Program, task: LabelTask | None = None) -> dict[str, Any]:
    """Return the program as the editor draws it.

    Nodes of a plain task have a ``layer``, with the colours and keys of its labels.
    """
    layers = (
        {} if task is None else {index: layer.shown() for index, layer in enumerate(task.layers, start=1)}
    )
    return {
        "text": str(program),
        "walk": list(program.walk),
        "nodes": [
            {
                "index": node.index,
                "module": node.module,
                "argument": node.argument,
                "label": node.module if layers else describe(node),
                "words": "" if layers else describe_module(node.module, node.argument),
                **({"layer": layers[node.index]} if node.index in layers else {}),
                "type": node.type,
                "role": node.role,
                "children": list(node.children),
                "depth": node.depth,
                "representative": program.representative[node.index],
            }
            for node in program.nodes
        ],
    }


def _describe_item(annotation: Annotation) -> dict[str, Any]:
    item = annotation.item
    return {
        "id": str(item.pk),
        "external_id": item.external_id,
        "kind": annotation.project.kind,
        "text": item.text,
        "answer": item.answer if annotation.project.show_answer else None,
        "passage": item.passage,
        "tokens": item.tokens,
        "images": describe_images(annotation.project, item.images),
    }


def describe_images(project: Project, names: list[str]) -> list[dict[str, Any]]:
    """Return the images of an item in order, with URLs if files exist."""
    rows = ImageFile.objects.filter(project=project, name__in=names) if names else ()
    files = {row.name: row for row in rows}
    return [
        {
            "name": name,
            "width": files[name].width if name in files else None,
            "height": files[name].height if name in files else None,
            "url": build_image_address(project, files[name]) if name in files else "",
        }
        for name in names
    ]


def build_image_address(project: Project, file: ImageFile) -> str:
    """Return the address of an image, "" if only its name is known."""
    return reverse("projects_rest:image", args=[project.slug, file.pk]) if file.path else ""


def list_upcoming_images(member: Membership) -> list[str]:
    """Return the addresses of the images that a member is likely to need next.

    They are those of the first item that is free; to look reserves nothing.
    """
    if member.project.kind != "boxes":
        return []
    names = _UPCOMING.first(project=member.project_id, user=member.user_id, start=member.scanned_to)
    return (
        [image["url"] for image in describe_images(member.project, names.images) if image["url"]]
        if names
        else []
    )


def describe_guidelines(project: Project) -> dict[str, dict[str, Any]]:
    """Return the newest guideline of each module; "" is the project's own."""
    rows = _GUIDELINES.all(project=project.pk)
    return {row.module: {"version": row.version, "text": row.text} for row in rows}


def build_comment_row(comment: Comment) -> dict[str, Any]:
    """Return a comment as the editor shows it."""
    return {
        "id": str(comment.pk),
        "node": comment.node,
        "object": comment.object_id,
        "text": comment.text,
        "by": comment.by.get_username(),
        "at": comment.at,
        "resolved": comment.resolved_at is not None,
    }


def build_operation_row(operation: Operation, changes: Sequence[LabelChange]) -> dict[str, Any]:
    """Return an operation as the editor keeps it for undoing.

    Labels that were renamed since have their new names.
    """
    return {
        "id": str(operation.uid),
        "revision": operation.revision,
        "operation": relabel_edit(operation.edit, changes) if changes else operation.edit,
        "inverse": relabel_edit(operation.inverse, changes) if changes else operation.inverse,
        "undoes": str(operation.undoes) if operation.undoes else None,
    }


def list_recent_operations(annotation: Annotation) -> list[dict[str, Any]]:
    """Return the newest operations, oldest first."""
    if not annotation.revision:
        return []
    changes = label_changes_of(annotation.project)
    return [
        build_operation_row(operation, changes)
        for operation in reversed(annotation.operations.order_by("-revision")[:HISTORY])
    ]


def list_operations_since(annotation: Annotation, revision: int) -> list[dict[str, Any]]:
    """Return the operations after a revision, oldest first."""
    changes = label_changes_of(annotation.project)
    return [
        build_operation_row(operation, changes)
        for operation in annotation.operations.filter(revision__gt=revision)
    ]


_BLIND = Prepared(
    lambda: Membership.objects.filter(
        project=make_slot("project", Project), user=make_slot("user", User), blind=True
    ).only("pk")[:1]
)


def describe_predictions(annotation: Annotation) -> list[dict[str, Any]] | None:
    """Return model outputs for the item with their suggestions.

    None if the project hides them, or the annotator works blind.
    """
    project, item = annotation.project, annotation.item
    if not project.show_predictions or _BLIND.all(project=project.pk, user=annotation.annotator_id):
        return None
    program, subject = parse_item_program(item, project.kind), build_subject(item, project.kind)
    newest: dict[str, SystemOutput] = {}
    for output in item.outputs.order_by("pk"):
        newest[output.system] = output
    return [
        {
            "system": output.system,
            "revision": output.revision,
            "proposals": output.proposals,
            "modules": output.modules,
            "score": output.score,
            "suggestions": suggest_from_output(output, program, subject),
        }
        for output in newest.values()
    ]


def keys(annotation: Annotation) -> dict[str, str]:
    """Return the annotator's keyboard shortcuts."""
    bindings = _KEYS.first(user=annotation.annotator_id)
    return bindings.keys if bindings is not None else {}

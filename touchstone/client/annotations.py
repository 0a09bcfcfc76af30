"""Annotations: edits, submission, review, comments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from .connection import Subject
from .project_rows import AnnotationDetail, AnnotationRow, CommentRow, EditorState, GoldRow, Saved


class Annotations(Subject):
    """The annotations that you see.

    Methods take the ID of an annotation as `annotation`.
    """

    _root = "annotations"

    def get(self, annotation: str) -> AnnotationDetail:
        """Return an annotation with every edit and its comments."""
        return self._get(annotation)

    def editor(self, annotation: str) -> EditorState:
        """Return an annotation as the editor shows it."""
        return self._get(annotation, "editor")

    def save(self, annotation: str, edits: Iterable[Mapping[str, Any]], *, revision: int) -> Saved:
        """Save edits in order, all or none.

        Args:
            annotation: The ID of the annotation.
            edits: Each with the ``node``, and what changes there: ``put`` and ``remove`` objects, ``state``,
                ``note``.
            revision: The revision that they were made on.

        Raises:
            Conflict: Somebody saved in between; ``members`` has the stored document.
            Invalid: An edit does not fit the item.
        """
        operations = [
            {"id": str(uuid4()), "base": revision + index, **edit} for index, edit in enumerate(edits)
        ]
        return self._post(annotation, "operations", body={"operations": operations})

    def submit(self, annotation: str, *, revision: int) -> None:
        """Hand in an annotation; an adjudication becomes the gold.

        Args:
            annotation: The ID of the annotation.
            revision: The revision to submit, which you saw.

        Raises:
            Invalid: Steps are open; ``members["nodes"]`` names them.
        """
        self._post(annotation, "submit", body={"revision": revision})

    def release(self, annotation: str) -> None:
        """Release an unfinished item; the annotation remains."""
        self._post(annotation, "release")

    def take_back(self, annotation: str) -> EditorState:
        """Reopen a submitted annotation before its review."""
        return self._post(annotation, "take-back")

    def note_shown(self, annotation: str, outputs: Sequence[str]) -> None:
        """Note the model outputs that you see.

        Args:
            annotation: The ID of the annotation.
            outputs: Each as ``system@revision``.
        """
        self._act(annotation, "shown", body={"outputs": list(outputs)})

    def accept(self, annotation: str, *, revision: int) -> GoldRow:
        """Make an annotation the gold of its item.

        Args:
            annotation: The ID of the annotation.
            revision: The revision that you reviewed.
        """
        return self._post(annotation, "accept", body={"revision": revision})

    def send_back(
        self, annotation: str, *, revision: int, text: str, node: int | None = None
    ) -> AnnotationRow:
        """Return an annotation to its annotator with requested changes.

        Args:
            annotation: The ID of the annotation.
            revision: The revision that you reviewed.
            text: The requested changes.
            node: The node that it is about, counted from 0 in pre-order; None for the whole annotation.
        """
        body = {"revision": revision, "text": text, "node": node}
        return self._post(annotation, "return", body=body)

    def comment(
        self, annotation: str, text: str, *, node: int | None = None, object: str | None = None
    ) -> CommentRow:
        """Comment on an annotation, a node or an object.

        Args:
            annotation: The ID of the annotation.
            text: The comment.
            node: The node that it is about, counted from 0 in pre-order; None for the whole annotation.
            object: The ID of the object of the node that it is about, if it is about one.
        """
        body = {"text": text, "node": node, "object": object}
        return self._create(annotation, "comments", body=body)

    def resolve_comment(self, annotation: str, comment: str) -> CommentRow:
        """Mark a comment as resolved.

        Args:
            annotation: The ID of the annotation.
            comment: The ID of the comment.
        """
        return self._post(annotation, "comments", comment, "resolve")

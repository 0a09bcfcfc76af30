"""Errors of the annotation app, each with a message for a person.

AnnotationError (a TouchstoneError, as is foundation.errors.BadFile)
├── BadEdit         (editing) an operation does not fit the item; names operation and field
├── StaleBase       an operation was made on an outdated revision
├── AssignmentLost  the reservation expired and others were assigned; the annotation remains
├── NothingLeft     no item is left for this person
├── NotReady        an annotation cannot be submitted yet; names the open nodes
├── NotAllowed      (policies) the person may not do this
├── BadImage        an uploaded file is not an image that can be shown
├── Conflict        contradicts stored data
└── NotFound        no project or item has that name
"""

from collections.abc import Mapping, Sequence
from typing import Any

from foundation.errors import TouchstoneError
from foundation.messages import prefix_field, say


class AnnotationError(TouchstoneError):
    """Base of every error that this app raises on purpose."""


class BadEdit(AnnotationError):
    """An invalid operation. ``field`` is a path such as ``put.0.box``."""

    status = 422

    def __init__(self, message: str, *, field: str = "", operation: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.operation = operation

    @property
    def members(self) -> dict[str, Any]:
        """The operation that is invalid."""
        return {"operation": self.operation} if self.operation else {}


def bad_edit(field: str, template: str, **values: Any) -> BadEdit:
    """Return the error of a field of an edit: a template, filled."""
    return BadEdit(say(template, **values), field=field)


class StaleBase(AnnotationError):
    """Another tab or person saved in between; the revision is outdated.

    ``stored`` is what a program needs to merge its edits with the stored state.
    """

    status = 409

    def __init__(self, message: str, *, stored: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.stored = dict(stored or {})

    @property
    def members(self) -> dict[str, Any]:
        """The stored state."""
        return self.stored


class AssignmentLost(AnnotationError):
    """The item has enough other annotators; the annotation remains."""

    status = 410


class NothingLeft(AnnotationError):
    """No item is left for this person; the message says why."""

    status = 404


class NotReady(AnnotationError):
    """Some nodes have no state yet."""

    status = 422

    def __init__(self, nodes: Sequence[int]) -> None:
        super().__init__(f"{len(nodes)} of the program's steps are not done yet")
        self.nodes = tuple(nodes)

    @property
    def members(self) -> dict[str, Any]:
        """The nodes that are still open."""
        return {"nodes": list(self.nodes)}


class BadImage(AnnotationError):
    """An uploaded file is not an image that browsers show."""

    status = 422


class Conflict(AnnotationError):
    """Contradicts data that are stored under the same ID."""

    status = 409


def conflict_at(fields: str | tuple[str, ...], template: str, **values: Any) -> Conflict:
    """Return the conflict of a field or of an entry's field, in a template."""
    message = say(template, **values)
    for field in (fields,) if isinstance(fields, str) else reversed(fields):
        message = prefix_field(field, message)
    return Conflict(message)


class NotFound(AnnotationError):
    """Nothing has that name; the message lists the names that exist."""

    status = 404

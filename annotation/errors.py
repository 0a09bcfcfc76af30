"""Errors of the annotation app, each with a message for a person.

AnnotationError (a TouchstoneError, as is foundation.errors.BadFile)
├── BadEdit         (editing) an operation does not fit the item; names operation and field
├── StaleBase       an operation was made on an outdated revision
├── AssignmentLost  the reservation expired and others were assigned; the annotation is kept
├── NothingLeft     no item is left for this person
├── NotReady        an annotation cannot be submitted yet; names the open nodes
├── NotAllowed      (policies) the person may not do this
├── Conflict        contradicts stored data
└── NotFound        no project or item has that name
"""

from collections.abc import Sequence

from foundation.errors import TouchstoneError


class AnnotationError(TouchstoneError):
    """Base of every error that this app raises on purpose."""


class BadEdit(AnnotationError):
    """An invalid operation. ``field`` is a path such as ``put.0.box``."""

    def __init__(self, message: str, *, field: str = "", operation: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.operation = operation


class StaleBase(AnnotationError):
    """Another tab or person saved in between; the revision is outdated."""


class AssignmentLost(AnnotationError):
    """The item has enough other annotators; the annotation is kept."""


class NothingLeft(AnnotationError):
    """No item is left for this person; the message says why."""


class NotReady(AnnotationError):
    """Some nodes have no state yet."""

    def __init__(self, nodes: Sequence[int]) -> None:
        super().__init__(f"{len(nodes)} of the program's steps are not done yet")
        self.nodes = tuple(nodes)


class Conflict(AnnotationError):
    """Contradicts data that are stored under the same ID."""


class NotFound(AnnotationError):
    """Nothing has that name; the message lists the names that exist."""

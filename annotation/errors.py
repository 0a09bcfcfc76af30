"""What can go wrong in the annotation app, each with a sentence fit for a person.

AnnotationError (a TouchstoneError, as is foundation.errors.BadFile)
├── BadEdit       (editing) an operation does not fit the item; names operation and field
├── StaleBase     an operation was made on a revision that is no longer the newest
├── PlaceLost     the reservation ran out, and somebody else took the place; the work is kept
├── NothingLeft   no item waits for this person
├── NotReady      a work cannot be submitted yet; names the nodes that are open
├── NotAllowed    (policies) the person may not do this
├── Conflict      what is to be stored contradicts what is stored
└── NotFound      no project or item of that name
"""

from collections.abc import Sequence

from foundation.errors import TouchstoneError


class AnnotationError(TouchstoneError):
    """Base of every error that this app raises on purpose."""


class BadEdit(AnnotationError):
    """An operation that does not fit. ``field`` is a path such as ``put.0.box``."""

    def __init__(self, message: str, *, field: str = "", operation: str = "") -> None:
        super().__init__(message)
        self.field = field
        self.operation = operation


class StaleBase(AnnotationError):
    """Another tab or person has saved in between; what the operation was made on is not the newest."""


class AssignmentLost(AnnotationError):
    """The item's places are all taken by others. The work is kept, and can be gone on with if one frees."""


class NothingLeft(AnnotationError):
    """No item waits for this person; the message says why."""


class NotReady(AnnotationError):
    """Some nodes have no state yet."""

    def __init__(self, nodes: Sequence[int]) -> None:
        super().__init__(f"{len(nodes)} of the program's steps are not done yet")
        self.nodes = tuple(nodes)


class Conflict(AnnotationError):
    """What is to be stored contradicts what is stored under the same id."""


class NotFound(AnnotationError):
    """Nothing has that name; the message lists what there is."""

"""The errors of all apps. The message of each is a sentence for a person.

TouchstoneError
├── BadFile          a file is missing or malformed; names the file, and the line if known
├── Refused          (foundation.imports.findings) an import refuses parts of a file
├── RunFailed        a run over many items cannot continue until somebody acts
├── NoBroker         the work queue cannot be reached
├── Conflict         new data contradict the stored data
├── NotFound         there is nothing of that name
├── StudyappError    (studyapp.errors)
└── AnnotationError  (annotation.errors)
"""

from pathlib import Path
from typing import Any

from foundation.messages import prefix_field


class TouchstoneError(Exception):
    """Base of every error that the apps raise on purpose.

    ``status`` is the HTTP status with which the API answers it.
    """

    status = 400

    @property
    def members(self) -> dict[str, Any]:
        """Further members of the problem details: data for a program."""
        return {}

    @property
    def result(self) -> dict[str, Any]:
        """The result of a job that this error ends."""
        return self.members


class BadFile(TouchstoneError):
    """A file is missing or malformed; ``field`` is part of it."""

    status = 422

    def __init__(self, path: Path, message: str, *, line: int | None = None, field: str = "") -> None:
        self.path, self.message, self.line, self.field = path, message, line, field
        position = f"{path}" if line is None else f"{path}:{line}"
        where = ": ".join(part for part in (position, field) if part)
        super().__init__(prefix_field(where, message) if message else where)


class RunFailed(TouchstoneError):
    """A run over many items cannot continue until somebody acts."""

    status = 409


class NoBroker(TouchstoneError):
    """The work queue cannot be reached, so no worker gets a task."""

    status = 503


class Conflict(TouchstoneError):
    """New data contradict the data stored under the same id."""

    status = 409


class NotFound(TouchstoneError):
    """There is nothing of that name; the message lists the known names."""

    status = 404

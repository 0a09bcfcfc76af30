"""What the errors of all apps have in common: each carries a sentence fit for a person.

TouchstoneError
├── BadFile          a file is missing or malformed; names the file, and the line where known
├── RunFailed        a run over many items cannot go on until somebody acts
├── NoBroker         the work queue cannot be reached
├── Conflict         what is to be stored contradicts what is stored
├── NotFound         nothing has that name
├── PredictionsError (predictions.errors)
├── StudyappError    (studyapp.errors)
└── AnnotationError  (annotation.errors)
"""

from pathlib import Path


class TouchstoneError(Exception):
    """Base of every error that the apps raise on purpose."""


class BadFile(TouchstoneError):
    """A file is missing or malformed."""

    def __init__(self, path: Path, message: str, *, line: int | None = None) -> None:
        place = f"{path}" if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {message}")


class RunFailed(TouchstoneError):
    """A run over many questions or items cannot go on until somebody acts."""


class NoBroker(TouchstoneError):
    """The work queue cannot be reached, so nothing can be handed to a worker."""


class Conflict(TouchstoneError):
    """What is to be stored contradicts what is stored under the same id."""


class NotFound(TouchstoneError):
    """Nothing has that name; the message lists what there is."""

"""What can go wrong in the study app, each with a sentence fit for a person.

StudyappError
├── BadFile        a file is missing or malformed; names the file, and the line and field where known
├── Conflict       what is to be stored contradicts what is stored
├── NotFound       no dataset, system or run of that name
├── RunFailed      a prediction run cannot go on until somebody acts
├── NoBroker       the work queue cannot be reached
├── DefinitionError   (definition) a study's file is wrong; names file, line and field of every problem
├── StudyRefused      (queries.designs) what a definition refers to is missing; names the field
├── NotAdmitted       (policies) a person cannot take part; the sentence is for that person
└── AlteredVersion    (queries.studies) what a launch froze is no longer what is stored
"""

from pathlib import Path


class StudyappError(Exception):
    """Base of every error that this app raises on purpose."""


class BadFile(StudyappError):
    """A file is missing or malformed."""

    def __init__(self, path: Path, message: str, *, line: int | None = None) -> None:
        place = f"{path}" if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {message}")


class Conflict(StudyappError):
    """What is to be stored contradicts what is stored under the same id."""


class NotFound(StudyappError):
    """Nothing has that name; the message lists what there is."""


class RunFailed(StudyappError):
    """A prediction run cannot go on until somebody acts."""


class NoBroker(StudyappError):
    """The work queue cannot be reached, so nothing can be handed to a worker."""

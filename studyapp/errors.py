"""Errors of studies, each with a sentence fit for a person.

StudyappError (a TouchstoneError, as are Conflict, NotFound and BadFile of foundation.errors)
├── DefinitionError   (definition.yaml_document) a study's file is wrong; names file, line, field of all
├── StudyRefused      what a definition refers to is missing; names the field
├── NotAdmitted       (policies) a person cannot take part; the sentence is for that person
│   └── Full          (policies) because the study or link is full
├── BadArrival        (definition.participation) an address lacks what the platform should have filled in
├── KeysUnavailable   (web.prolific) a platform's public keys cannot be fetched now
├── BadNotice         (definition.participation) a notice is not proven to be the platform's
└── AlteredVersion    (queries.studies) what a launch froze is no longer what is stored
"""

from typing import Any

from foundation.errors import TouchstoneError
from foundation.messages import Message, say


class StudyappError(TouchstoneError):
    """Base of every error that this app raises on purpose."""


class StudyRefused(StudyappError):
    """A definition cannot become a study; ``location`` is the field to change.

    The message is the template with its values, or one that was filled already.
    """

    status = 422

    def __init__(self, location: tuple[str | int, ...], message: str, **values: Any) -> None:
        self.location = location
        self.field = ".".join(str(part) for part in location)
        super().__init__(message if isinstance(message, Message) else say(message, **values))

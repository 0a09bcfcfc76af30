"""What can go wrong in the study app, each with a sentence fit for a person.

StudyappError (a TouchstoneError, as are BadFile, RunFailed and NoBroker of accounts.errors)
├── Conflict       what is to be stored contradicts what is stored
├── NoSaliency     a system has no way to say which words counted
├── NotFound       no dataset, system or run of that name
├── DefinitionError   (definition) a study's file is wrong; names file, line and field of every problem
├── StudyRefused      (queries.designs) what a definition refers to is missing; names the field
├── NotAdmitted       (policies) a person cannot take part; the sentence is for that person
│   └── Full          (policies) because no place is left
├── BadArrival        (recruitment) a platform's address lacks what the platform should have filled in
├── KeysUnavailable   (recruitment_signed) a platform's public keys cannot be fetched now
├── BadNotice         (recruitment_webhook) a notice is not proven to be the platform's
└── AlteredVersion    (queries.studies) what a launch froze is no longer what is stored
"""

from accounts.errors import TouchstoneError


class StudyappError(TouchstoneError):
    """Base of every error that this app raises on purpose."""


class Conflict(StudyappError):
    """What is to be stored contradicts what is stored under the same id."""


class NotFound(StudyappError):
    """Nothing has that name; the message lists what there is."""


class NoSaliency(StudyappError):
    """A system has no way to say which words counted."""

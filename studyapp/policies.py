"""Who may enter a study.

Each rule is a pair: ``check_x`` raises with a sentence for a person, ``can_x`` is its truth value.

Exceptions: `NotAdmitted`, a StudyappError; `Full` and `NotArrived`, each one of it.
"""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from studyapp.definition.recruitment import PLATFORMS, Arrival
from studyapp.errors import StudyappError
from studyapp.models import EntryLink, Study
from studyapp.queries.recruitment import places_taken, recruitment_of

# What a person is told, by the reason.
REFUSALS = {
    "closed": _("This study is closed. Thank you for your interest."),
    "paused": _("This study takes a break. Please come back later."),
    "not_open": _("This study is not open yet."),
    "link_used": _("This link was for one person and has been used."),
    "link_full": _("All places of this link are taken. Thank you for your interest."),
}


class NotAdmitted(StudyappError):
    """The person cannot take part; the message is a sentence for that person."""


class Full(NotAdmitted):
    """The study, or the link, takes nobody more."""


class NotArrived(NotAdmitted):
    """The person came without the platform's id, which is needed; ``parameter`` should have held it."""

    def __init__(self, parameter: str) -> None:
        sentence = gettext("The address lacks %(parameter)s, which the platform adds to it.")
        super().__init__(sentence % {"parameter": parameter})
        self.parameter = parameter


def check_arrival(link: EntryLink, arrival: Arrival | None) -> None:
    """Return whether a person with these ids may come by this link.

    Raises:
        NotArrived: an id is needed.
    """
    recruitment = None if arrival is not None else recruitment_of(link)
    if recruitment is not None and PLATFORMS[recruitment.platform].needs_person:
        raise NotArrived(recruitment.person_parameter)


def check_admission(link: EntryLink) -> None:
    """Return whether a person who comes by this link may consent now.

    Closing a study keeps newcomers out only: who has consented may finish.

    Raises:
        NotAdmitted: the study is not open, or the link was for one person and is used.
        Full: the study is closed, or as many came by this link as it has places.
    """
    if link.study.status == Study.Status.CLOSED:
        raise Full(str(REFUSALS["closed"]))
    if link.study.status == Study.Status.PAUSED:
        raise NotAdmitted(str(REFUSALS["paused"]))
    if link.study.status != Study.Status.OPEN:
        raise NotAdmitted(str(REFUSALS["not_open"]))
    if link.single_use and link.used_at is not None:
        raise NotAdmitted(str(REFUSALS["link_used"]))
    if link.quota is not None and places_taken(link) >= link.quota:
        raise Full(str(REFUSALS["link_full"]))

"""Rules of who may enter a study.

``check_x`` raises with a sentence for the visitor.

Exceptions: `NotAdmitted`, a StudyappError, with the subclasses `Full`, `Outdated` and `NotArrived`.
"""

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from studyapp.definition.participation.recruitment import PLATFORMS, Arrival
from studyapp.errors import StudyappError
from studyapp.models import EntryLink, Study
from studyapp.queries.participants.recruitment import count_participants, find_recruitment
from studyapp.queries.studies import find_latest_version, load_frozen_study

# The message to the visitor, by the reason.
REFUSALS = {
    "closed": _("This study is closed. Thank you for your interest."),
    "paused": _("This study is paused. Please come back later."),
    "not_open": _("This study is not open yet."),
    "link_used": _("This link was for one person and has been used."),
    "study_full": _("This study takes no more participants. Thank you for your interest."),
    "outdated": _("The study changed while this page was open. Please read the page again, then choose."),
    "link_full": _("This link has reached its number of participants. Thank you for your interest."),
}


class NotAdmitted(StudyappError):
    """The person cannot take part; the message is a sentence for that person."""


class Full(NotAdmitted):
    """The study or the link takes no more participants."""


class Outdated(NotAdmitted):
    """A newer version was launched after the visitor opened the consent page."""


class NotArrived(NotAdmitted):
    """The visitor came without the ID that the platform has to add.

    ``parameter`` is the address parameter that lacks it.
    """

    def __init__(self, parameter: str) -> None:
        sentence = gettext("The address lacks %(parameter)s, which the platform adds to it.")
        super().__init__(sentence % {"parameter": parameter})
        self.parameter = parameter


def check_arrival(link: EntryLink, arrival: Arrival | None) -> None:
    """Check that a visitor with these IDs may use a link.

    Raises:
        NotArrived: the platform's ID is needed and missing.
    """
    recruitment = None if arrival is not None else find_recruitment(link)
    if recruitment is not None and PLATFORMS[recruitment.platform].needs_person:
        raise NotArrived(recruitment.person_parameter)


def check_admission(link: EntryLink) -> None:
    """Check that a visitor of a link may consent now.

    Closing a study keeps new participants out only: those who consented may finish.

    Raises:
        NotAdmitted: the study is not open, or the single-use link has been used.
        Full: the study is closed, its last day has passed, or the quota of the link is reached.
    """
    if link.study.status == Study.Status.CLOSED:
        raise Full(str(REFUSALS["closed"]))
    if link.study.status == Study.Status.PAUSED:
        raise NotAdmitted(str(REFUSALS["paused"]))
    if link.study.status != Study.Status.OPEN:
        raise NotAdmitted(str(REFUSALS["not_open"]))
    closes = (
        None if (version := find_latest_version(link.study)) is None else load_frozen_study(version).closes
    )
    if closes is not None and timezone.localdate() > closes:
        raise Full(str(REFUSALS["closed"]))
    if link.single_use and link.used_at is not None:
        raise NotAdmitted(str(REFUSALS["link_used"]))
    if link.quota is not None and count_participants(link) >= link.quota:
        raise Full(str(REFUSALS["link_full"]))

"""Reads for privacy: participants by code or ID, overdue retention."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from django.db.models import QuerySet

from foundation.errors import NotFound
from studyapp.definition.privacy import Privacy
from studyapp.models import ExternalIds, Participant, Study, StudyVersion
from studyapp.queries.studies import frozen


class Promise(NamedTuple):
    """The promise of a version, and its participants not yet anonymised."""

    version: int
    privacy: Privacy
    participants: int


def participant_with_code(code: str) -> Participant | None:
    """Return the participant of a withdrawal code.

    Blanks, dashes and letter case do not matter.
    """
    plain = "".join(sign for sign in code.upper() if sign.isalnum())
    rows = Participant.objects.select_related("version__study")
    return rows.filter(withdrawal_code=plain).first() if plain else None


def participant_named(study: Study, name: str) -> Participant:
    """Return the participant of this id, or of this external id.

    Raises:
        NotFound: no participant has that ID, or several have.
    """
    rows = Participant.objects.filter(version__study=study).select_related("version__study")
    matches = rows.filter(public_id=name) or rows.filter(external_ids__person_id=name)
    if len(matches) > 1:
        raise NotFound(
            f"{len(matches)} participants of {study.slug} have the external ID {name!r}; "
            "give a participant ID"
        )
    if not matches:
        raise NotFound(f"{study.slug} has no participant with the ID or external ID {name!r}")
    return matches[0]


def external_ids(study: Study) -> QuerySet[ExternalIds]:
    """Return the external IDs of participants, in order of arrival."""
    rows = ExternalIds.objects.filter(study=study).select_related("participant__link", "participant__version")
    rows = rows.defer("participant__version__frozen")
    return rows.order_by("participant_id")


def promises(study: Study) -> list[Promise]:
    """Return what each version promises, oldest first."""
    versions = study.versions.defer("frozen").order_by("number")
    return [
        Promise(
            version.number,
            frozen(version).privacy,
            version.participants.filter(anonymised_on__isnull=True).count(),
        )
        for version in versions
    ]


def overdue_versions(today: date) -> Iterator[tuple[StudyVersion, QuerySet[Participant]]]:
    """Yield versions whose retention has ended, with participants to remove."""
    for version in StudyVersion.objects.defer("frozen").select_related("study").order_by("pk"):
        last_day = frozen(version).privacy.retain_until
        if last_day is not None and last_day < today:
            yield version, version.participants.filter(anonymised_on__isnull=True).order_by("pk")

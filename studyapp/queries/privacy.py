"""Reads for privacy: the person behind a code or an id, external ids, and whose retention is over."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from django.db.models import QuerySet

from foundation.errors import NotFound
from studyapp.definition.privacy import Privacy
from studyapp.models import ExternalIds, Participant, Study, StudyVersion
from studyapp.queries.studies import frozen


class Promise(NamedTuple):
    """What a version promises, and how many of its participants are not anonymous yet."""

    version: int
    privacy: Privacy
    participants: int


def participant_with_code(code: str) -> Participant | None:
    """Return the participant of a withdrawal code; blanks, dashes and letter case do not matter."""
    plain = "".join(sign for sign in code.upper() if sign.isalnum())
    rows = Participant.objects.select_related("version__study")
    return rows.filter(withdrawal_code=plain).first() if plain else None


def participant_named(study: Study, name: str) -> Participant:
    """Return the participant of this id, or of this external id.

    Raises:
        NotFound: nobody has that id, or several people have.
    """
    rows = Participant.objects.filter(version__study=study).select_related("version__study")
    found = rows.filter(public_id=name) or rows.filter(external_ids__person_id=name)
    if len(found) > 1:
        raise NotFound(
            f"{len(found)} participants of {study.slug} have the external id; give participant ids"
        )
    if not found:
        raise NotFound(f"{study.slug} has no participant, and nobody with the external id, of that name")
    return found[0]


def external_ids(study: Study) -> QuerySet[ExternalIds]:
    """Who came with which ids, in the order they came."""
    rows = ExternalIds.objects.filter(study=study).select_related("participant")
    return rows.order_by("participant_id")


def promises(study: Study) -> list[Promise]:
    """Return what each version promises, oldest first."""
    versions = study.versions.defer("frozen").order_by("number")
    return [
        Promise(one.number, frozen(one).privacy, one.participants.filter(anonymised_on__isnull=True).count())
        for one in versions
    ]


def overdue_versions(today: date) -> Iterator[tuple[StudyVersion, QuerySet[Participant]]]:
    """Versions whose last day of retention lies before today, with those who are to be taken out."""
    for version in StudyVersion.objects.defer("frozen").select_related("study").order_by("pk"):
        last_day = frozen(version).privacy.retain_until
        if last_day is not None and last_day < today:
            yield version, version.participants.filter(anonymised_on__isnull=True).order_by("pk")

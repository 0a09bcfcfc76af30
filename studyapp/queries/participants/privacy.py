"""Reads for privacy: participants by code or ID, overdue retention."""

from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

from django.db.models import Field, Model, QuerySet

from foundation.errors import NotFound
from foundation.messages import say
from studyapp.definition.participation.privacy import Privacy
from studyapp.models import Condition, EntryLink, ExternalIds, Item, Participant, Study, StudyVersion
from studyapp.queries.studies import load_frozen_study


class Promise(NamedTuple):
    """The promise of a version, and its participants not yet anonymised."""

    version: int
    privacy: Privacy
    participants: int


# Keys of other rows tell a person nothing, and the seed and the reservation counts are of the study.
_NOT_OF_A_PERSON = {"id", "participant", "order_seed", "assignment_counts"}


# The name by which a person may know a row that theirs point to; its key means nothing to them.
_NAMES: dict[Any, str] = {Item: "external_id", Condition: "name", StudyVersion: "number", EntryLink: "label"}


def read_stored_data(participant: Participant) -> dict[str, list[dict[str, Any]]]:
    """Return all that is stored about a participant, by table.

    The tables are discovered by their relations, as for deletion, so that none is forgotten. The text that
    the participant consented to comes first, in the language of the pages.
    """
    version = participant.version
    shown = load_frozen_study(version).translate_into(participant.language)
    consent = {
        "study": version.study.slug,
        "title": shown.shown_title,
        "version": version.number,
        "consented_at": participant.consented_at,
        "text": shown.consent,
    }
    tables = {"consent": [consent], Participant._meta.label: [_read_columns(participant)]}
    for relation in Participant._meta.related_objects:
        model = relation.related_model
        rows = model._base_manager.filter(**{relation.field.name: participant}).order_by("pk")
        tables[model._meta.label] = [_read_columns(row) for row in rows]
    return {label: rows for label, rows in tables.items() if rows}


def _read_columns(row: Model) -> dict[str, Any]:
    fields = [field for field in row._meta.concrete_fields if field.name not in _NOT_OF_A_PERSON]
    return {field.name: _read_value(row, field) for field in fields}


def _read_value(row: Model, field: "Field[Any, Any]") -> Any:
    """Return the value of a field; of a row that has a name, the name."""
    name = _NAMES.get(field.related_model) if field.is_relation else None
    if name is None:
        return field.value_from_object(row)
    return getattr(getattr(row, field.name), name, None)


def find_participant_by_code(code: str) -> Participant | None:
    """Return the participant of a withdrawal code.

    Blanks, dashes and letter case do not matter.
    """
    plain = "".join(sign for sign in code.upper() if sign.isalnum())
    rows = Participant.objects.select_related("version__study")
    return rows.filter(withdrawal_code=plain).first() if plain else None


def find_participant(study: Study, name: str) -> Participant:
    """Return the participant of this id, or of this external id.

    Raises:
        NotFound: no participant has that ID, or several have.
    """
    rows = Participant.objects.filter(version__study=study).select_related("version__study")
    matches = rows.filter(public_id=name) or rows.filter(external_ids__person_id=name)
    if len(matches) > 1:
        raise NotFound(
            say(
                "%(count)s participants of %(slug)s have the external ID %(name)r; give a participant ID",
                count=len(matches),
                slug=study.slug,
                name=name,
            )
        )
    if not matches:
        raise NotFound(
            say("%(slug)s has no participant with the ID or external ID %(name)r", slug=study.slug, name=name)
        )
    return matches[0]


def list_external_ids(study: Study) -> QuerySet[ExternalIds]:
    """Return the external IDs of participants, in order of arrival."""
    rows = ExternalIds.objects.filter(study=study).select_related("participant__link", "participant__version")
    rows = rows.defer("participant__version__frozen")
    return rows.order_by("participant_id")


def list_promises(study: Study) -> list[Promise]:
    """Return what each version promises, oldest first."""
    versions = study.versions.defer("frozen").order_by("number")
    return [
        Promise(
            version.number,
            load_frozen_study(version).privacy,
            version.participants.filter(anonymised_on__isnull=True).count(),
        )
        for version in versions
    ]


def find_overdue_versions(today: date) -> Iterator[tuple[StudyVersion, QuerySet[Participant]]]:
    """Yield versions whose retention has ended, with participants to remove."""
    for version in StudyVersion.objects.defer("frozen").select_related("study").order_by("pk"):
        last_day = load_frozen_study(version).privacy.retain_until
        if last_day is not None and last_day < today:
            yield version, version.participants.filter(anonymised_on__isnull=True).order_by("pk")

"""Reads of single trials for staff: filters, and pages by key."""

from typing import Any

from django.db.models import Q, QuerySet

from foundation.frozen_model import FrozenModel
from studyapp.models import Item, Participant, Study, Trial
from studyapp.queries.participants.excluded import annotate_exclusion
from studyapp.queries.participants.table import PeopleFilter, filter_people
from studyapp.queries.running.results import Row, select_trial_values

Key = tuple[int, int]  # participant and position


class ResponseFilter(FrozenModel):
    """The trials that a table shows; an empty value lets all through.

    ``people`` filters by participant. Participants who withdrew are left out, as in every export.

    Attributes:
        participant: The ID of one participant.
        item: The external ID of an item.
        answered: True for submitted trials only, False for others.
        excluded: True for trials that a rule or a researcher excludes, False for others.
    """

    people: PeopleFilter = PeopleFilter()
    condition: str = ""
    participant: str = ""
    item: str = ""
    answered: bool | None = True
    excluded: bool | None = None


def filter_trials(study: Study, chosen: ResponseFilter) -> QuerySet[Trial]:
    """Return the trials that a filter lets through."""
    people = filter_people(study, chosen.people).exclude(status=Participant.Status.WITHDRAWN)
    if chosen.participant:
        people = people.filter(public_id=chosen.participant)
    rows = Trial.objects.filter(participant__in=people.values("pk"))
    items = Item.objects.filter(version__study=study).values_list("pk", flat=True)
    if chosen.item:
        rows = rows.filter(item__in=list(items.filter(kind=Item.Kind.ITEM, external_id=chosen.item)))
    # A list of the few others leaves the database the index by participant and position.
    elif others := list(items.exclude(kind=Item.Kind.ITEM)):
        rows = rows.exclude(item__in=others)
    if chosen.condition:
        rows = rows.filter(Q(condition__name=chosen.condition) | Q(other_condition__name=chosen.condition))
    if chosen.answered is not None:
        rows = rows.filter(answers__isnull=not chosen.answered)
    if chosen.excluded is not None:
        rows = annotate_exclusion(study, rows.filter(answers__isnull=False)).filter(
            is_excluded=chosen.excluded
        )
    return rows


def list_trials_after(rows: QuerySet[Trial], after: Key | None, size: int) -> list[Row]:
    """Return the next trials in order of participant and position."""
    if after is not None:
        participant, position = after
        rows = rows.filter(
            Q(participant__gt=participant) | Q(participant=participant, position__gt=position),
            participant__gte=participant,
        )
    return list(select_trial_values(rows.order_by("participant_id", "position"))[:size])


def build_page_key(row: dict[str, Any]) -> Key:
    """Return the key that the page after a trial begins with."""
    return row["participant_id"], row["position"]

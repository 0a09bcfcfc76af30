"""Flags of participants, from what every page stores.

See `studyapp.definition.participation.suspicion_flags`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import or_

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, When

from foundation.database.days import measure_seconds
from studyapp.definition.participation import suspicion_flags
from studyapp.definition.participation.suspicion_flags import Flag, ItemPage
from studyapp.models import Item, Mode, Participant, Study, Trial

HONEYPOT = "honeypot_filled"  # kind of the event


@dataclass(frozen=True)
class Flagged:
    """A participant with flags."""

    public_id: str
    group: str
    status: str
    flags: list[Flag]


def match_flag(flag: Flag) -> Q:
    """Return the condition that a participant has a flag and did not withdraw."""
    return _HAVING[flag] & ~Q(status=Participant.Status.WITHDRAWN)


def match_any_flag() -> Q:
    """Return the condition that a participant has a flag, whichever."""
    return reduce(or_, _HAVING.values()) & ~Q(status=Participant.Status.WITHDRAWN)


def _match_same_pattern() -> Exists:
    others = Participant.objects.filter(
        version=OuterRef("version"), mode=OuterRef("mode"), pattern=OuterRef("pattern")
    ).filter(items_submitted__gte=suspicion_flags.FEWEST_ITEMS)
    return Exists(others.exclude(status=Participant.Status.WITHDRAWN).exclude(pk=OuterRef("pk")))


_MANY_ITEMS = Q(items_submitted__gte=suspicion_flags.FEWEST_ITEMS)
_HAVING: dict[Flag, Q] = {
    "impossible_speed": Q(
        fast_items__gt=0, fast_items__gte=F("timed_items") * suspicion_flags.IMPOSSIBLE_SHARE
    ),
    "straight_lining": _MANY_ITEMS & Q(same_answers__isnull=False),
    "identical_pattern": _MANY_ITEMS & Q(_match_same_pattern()),
    "honeypot": Q(is_trapped=True),
    "focus_loss": Q(hidden_ms__gt=F("client_ms") * suspicion_flags.HIDDEN_SHARE, client_ms__gt=0),
    "failed_attention": Q(failed_attention=True),
    "failed_comprehension": Q(failed_comprehension=True),
}


def list_participant_flags(people: QuerySet[Participant]) -> dict[int, list[Flag]]:
    """Return the flags of every flagged participant by key."""
    hits = {flag: Case(When(match_flag(flag), then=True), default=False) for flag in suspicion_flags.FLAGS}
    rows = people.order_by().annotate(**{f"has_{flag}": hit for flag, hit in hits.items()})
    return {
        pk: own
        for pk, *has in rows.values_list("pk", *(f"has_{flag}" for flag in suspicion_flags.FLAGS))
        if (own := [flag for flag, hit in zip(suspicion_flags.FLAGS, has, strict=True) if hit])
    }


def list_flagged_participants(study: Study, *, most: int | None = None) -> list[Flagged]:
    """Return the flagged live participants, in order of arrival."""
    rows = Participant.objects.filter(match_any_flag(), version__study=study, mode=Mode.LIVE).order_by("pk")
    people = list(rows.values_list("pk", "public_id", "group", "status")[:most])
    flags = list_participant_flags(Participant.objects.filter(pk__in=[pk for pk, *_columns in people]))
    return [Flagged(public_id, group, status, flags[pk]) for pk, public_id, group, status in people]


def count_flags(study: Study) -> list[tuple[Flag, str, int]]:
    """Return every flag with its meaning and number of live participants."""
    people = Participant.objects.filter(version__study=study, mode=Mode.LIVE)
    counts = people.aggregate(
        **{flag: Count("pk", filter=match_flag(flag)) for flag in suspicion_flags.FLAGS}
    )
    return [(flag, suspicion_flags.MEANINGS[flag], counts[flag]) for flag in suspicion_flags.FLAGS]


def read_item_pages(people: QuerySet[Participant]) -> Iterator[tuple[int, list[ItemPage]]]:
    """Yield each participant's submitted items, without practice and checks."""
    rows = (
        Trial.objects.filter(participant__in=people.values("pk"))
        .filter(answers__isnull=False, item__kind=Item.Kind.ITEM)
        .order_by("participant_id", "position")
        .values_list(
            *("participant_id", "item__external_id", "answers"),
            *("shown_at", "submitted_at", "client_total_ms", "client_hidden_ms"),
        )
    )
    for participant, group in groupby(rows.iterator(chunk_size=5000), lambda row: row[0]):
        yield (
            participant,
            [
                ItemPage(item, answers, measure_seconds(shown, submitted), total, hidden)
                for _who, item, answers, shown, submitted, total, hidden in group
            ],
        )

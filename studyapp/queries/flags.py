"""Flags of a study's participants, computed from what is stored.

See `studyapp.definition.suspicion_flags`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, When

from foundation.days import seconds_between
from studyapp.definition import suspicion_flags
from studyapp.definition.suspicion_flags import Flag, ItemPage
from studyapp.models import Event, Item, Mode, Participant, Stage, StageResponse, Study, Trial

HONEYPOT = "honeypot_filled"  # kind of the event


@dataclass(frozen=True)
class Flagged:
    """A participant with flags."""

    public_id: str
    group: str
    status: str
    flags: list[Flag]


def participant_flags(study: Study) -> dict[int, list[Flag]]:
    """Return the flags of every flagged participant, by key.

    Participants who withdrew have none.

    Patterns are compared within version and mode.
    """
    flags: dict[int, set[Flag]] = defaultdict(set)
    patterns: dict[tuple[int, str], dict[int, str | None]] = defaultdict(dict)
    for participant, among, pages in _pages(study):
        flags[participant].update(suspicion_flags.own_flags(pages))
        patterns[among][participant] = suspicion_flags.pattern(pages)
    for digests in patterns.values():
        twice = suspicion_flags.shared(digests.values())
        for participant, pattern_digest in digests.items():
            if pattern_digest in twice:
                flags[participant].add("identical_pattern")
    for flag, participants in _stored(study):
        for participant in participants:
            flags[participant].add(flag)
    return {participant: suspicion_flags.in_order(own) for participant, own in flags.items() if own}


def _stored(study: Study) -> Iterator[tuple[Flag, Iterable[int]]]:
    """Yield flags with participants that were detected on the pages.

    They are the honeypot and failed checks.
    """
    trapped = Event.objects.filter(study=study, kind=HONEYPOT, participant__isnull=False)
    checks = Trial.objects.filter(participant__version__study=study, passed=False)
    comprehension = StageResponse.objects.filter(
        participant__version__study=study, stage=Stage.COMPREHENSION, passed=False
    )
    detected: list[tuple[Flag, QuerySet[Any]]] = [
        ("honeypot", trapped),
        ("failed_attention", checks),
        ("failed_comprehension", comprehension),
    ]
    for flag, rows in detected:
        stayed = rows.exclude(participant__status=Participant.Status.WITHDRAWN)
        yield flag, stayed.order_by().values_list("participant", flat=True).distinct()


def having(flag: Flag) -> Q:
    """Return the condition that a participant has a flag.

    It reads what is kept with every page, and says what `participant_flags` says.
    """
    return _HAVING[flag] & ~Q(status=Participant.Status.WITHDRAWN)


def having_any() -> Q:
    """Return the condition that a participant has a flag, whichever."""
    return reduce(or_, _HAVING.values()) & ~Q(status=Participant.Status.WITHDRAWN)


def _same_pattern() -> Exists:
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
    "identical_pattern": _MANY_ITEMS & Q(_same_pattern()),
    "honeypot": Q(is_trapped=True),
    "focus_loss": Q(hidden_ms__gt=F("client_ms") * suspicion_flags.HIDDEN_SHARE, client_ms__gt=0),
    "failed_attention": Q(failed_attention=True),
    "failed_comprehension": Q(failed_comprehension=True),
}


def kept_flags(people: QuerySet[Participant]) -> dict[int, list[Flag]]:
    """Return the flags of participants by key, without reading their pages."""
    hits = {flag: Case(When(having(flag), then=True), default=False) for flag in suspicion_flags.FLAGS}
    rows = people.order_by().annotate(**{f"has_{flag}": hit for flag, hit in hits.items()})
    return {
        pk: own
        for pk, *has in rows.values_list("pk", *(f"has_{flag}" for flag in suspicion_flags.FLAGS))
        if (own := [flag for flag, hit in zip(suspicion_flags.FLAGS, has, strict=True) if hit])
    }


def flagged_participants(study: Study, *, most: int | None = None) -> list[Flagged]:
    """Return the flagged live participants, in order of arrival."""
    rows = Participant.objects.filter(having_any(), version__study=study, mode=Mode.LIVE).order_by("pk")
    people = list(rows.values_list("pk", "public_id", "group", "status")[:most])
    flags = kept_flags(Participant.objects.filter(pk__in=[pk for pk, *_columns in people]))
    return [Flagged(public_id, group, status, flags[pk]) for pk, public_id, group, status in people]


def flag_counts(study: Study) -> list[tuple[Flag, str, int]]:
    """Return every flag with its meaning and number of live participants."""
    people = Participant.objects.filter(version__study=study, mode=Mode.LIVE)
    counts = people.aggregate(**{flag: Count("pk", filter=having(flag)) for flag in suspicion_flags.FLAGS})
    return [(flag, suspicion_flags.MEANINGS[flag], counts[flag]) for flag in suspicion_flags.FLAGS]


def flags_at_completion(participant: Participant) -> list[Flag]:
    """Return the flags that follow from all items of a participant.

    Of others it reads only those with the same answers to the first item, so that it is quick enough for the
    request that completes the participant.
    """
    study = participant.version.study
    own = [pages for _who, _among, pages in _pages(study, participant=participant)]
    if not own:
        return []
    [pages] = own
    flags = suspicion_flags.own_flags(pages)
    digest = suspicion_flags.pattern(pages)
    if digest is not None:
        alike = Trial.objects.filter(
            participant__version=participant.version_id,
            participant__mode=participant.mode,
            item__external_id=pages[0].item,
            answers=pages[0].answers,
        ).exclude(participant=participant)
        others = _pages(study, participant__in=alike.order_by().values("participant"))
        if any(suspicion_flags.pattern(each) == digest for _who, _among, each in others):
            flags.append("identical_pattern")
    return suspicion_flags.in_order(flags)


def pages_of(people: QuerySet[Participant]) -> Iterator[tuple[int, list[ItemPage]]]:
    """Yield each participant's submitted items, also of those who withdrew."""
    for participant, _among, pages in _grouped(Trial.objects.filter(participant__in=people.values("pk"))):
        yield participant, pages


def _pages(study: Study, **narrow: Any) -> Iterator[tuple[int, tuple[int, str], list[ItemPage]]]:
    """Yield each participant's submitted items, if they did not withdraw.

    ``narrow`` are filters of trials, for some participants alone.
    """
    rows = Trial.objects.filter(participant__version__study=study, **narrow)
    yield from _grouped(rows.exclude(participant__status=Participant.Status.WITHDRAWN))


def _grouped(trials: QuerySet[Trial]) -> Iterator[tuple[int, tuple[int, str], list[ItemPage]]]:
    """Yield the submitted items by participant, without practice and checks."""
    rows = (
        trials.filter(answers__isnull=False, item__kind=Item.Kind.ITEM)
        .order_by("participant_id", "position")
        .values_list(
            *("participant_id", "participant__version_id", "participant__mode", "item__external_id"),
            *("answers", "shown_at", "submitted_at", "client_total_ms", "client_hidden_ms"),
        )
    )
    for (participant, version, mode), group in groupby(rows.iterator(chunk_size=5000), lambda row: row[:3]):
        pages = [
            ItemPage(
                item,
                answers,
                seconds_between(shown, submitted),
                total,
                hidden,
            )
            for *_who, item, answers, shown, submitted, total, hidden in group
        ]
        yield participant, (version, mode), pages

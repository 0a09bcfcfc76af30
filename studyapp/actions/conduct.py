"""Writes of the figures that follow from a participant's pages."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Case, F, QuerySet, Value, When
from django.db.models.functions import Greatest

from foundation.database.days import measure_seconds
from foundation.database.prepared_queries import PreparedUpdate, make_slot
from studyapp.definition.participation.suspicion_flags import IMPOSSIBLE_SECONDS, ItemPage, hash_values
from studyapp.models import Event, Item, ItemTime, Participant, Stage, StageResponse, StudyVersion, Trial
from studyapp.queries.participants.excluded import annotate_time, build_rule_condition
from studyapp.queries.participants.flags import HONEYPOT, read_item_pages
from studyapp.queries.studies import cache_per_version
from studyapp.rules.page_timing import PageTiming

COLUMNS = (
    *("timed_items", "fast_items", "client_ms", "hidden_ms", "same_answers", "pattern", "rule_hits"),
    *("is_trapped", "failed_attention", "failed_comprehension"),
)
_ADDED = ("timed_items", "fast_items", "client_ms", "hidden_ms", "pattern", "rule_hits")


def _build_count_update() -> tuple[QuerySet[Participant], dict[str, Any]]:
    answers = make_slot("answers", Participant, "same_answers")
    return Participant.objects.filter(pk=make_slot("participant", Participant)), {
        "items_submitted": F("items_submitted") + 1,
        "last_seen_at": make_slot("now", Participant, "last_seen_at"),
        "same_answers": Case(
            When(items_submitted=0, then=answers),
            When(same_answers=answers, then=answers),
            default=Value(None),
        ),
        **{name: F(name) + make_slot(name, Participant, name) for name in _ADDED},
    }


_COUNT_ITEM = PreparedUpdate(_build_count_update)


def count_item(*, trial: Trial, answers: Mapping[str, Any], timing: PageTiming, now: Any) -> None:
    """Count a submitted item, in the transaction that stores it."""
    if trial.shown_at is None:  # another tab showed it since it was read
        trial.refresh_from_db(fields=["shown_at"])
    # As stored: a page does not end before it began, though the clock was set back meanwhile.
    seconds = measure_seconds(trial.shown_at, max(now, trial.shown_at or now))
    page = ItemPage(trial.item.external_id, answers, seconds, timing.client_total_ms, timing.client_hidden_ms)
    mark = _build_hit_update(trial.participant.version)
    hits = mark(trial=trial.pk) if mark else 0
    if seconds is not None:
        _add_time(trial.participant, round(10 * seconds), 1)
    _COUNT_ITEM(
        participant=trial.participant_id,
        now=now,
        answers=hash_values(answers),
        **_compute_figures(page),
        rule_hits=hits,
    )


@cache_per_version(128)
def _build_hit_update(version: StudyVersion) -> PreparedUpdate | None:
    """Return the update of a trial that a rule hits; None without rules."""
    condition = build_rule_condition(version)
    if condition is None:
        return None
    rows = annotate_time(Trial.objects.filter(pk=make_slot("trial", Trial))).filter(condition)
    return PreparedUpdate(lambda: (rows, {"hits_rule": True}))


_COUNT_TIME = PreparedUpdate(
    lambda: (
        ItemTime.objects.filter(
            **{name: make_slot(name, ItemTime, name) for name in ("version", "mode", "group", "tenths")}
        ),
        # A row that an earlier version did not count must not keep its participant from being deleted.
        {"number": Greatest(F("number") + make_slot("more", ItemTime, "number"), 0)},
    )
)


def _add_time(participant: Participant, tenths: int, more: int) -> None:
    """Change the number of items that took a time."""
    key: dict[str, Any] = {"version": participant.version_id, "mode": participant.mode}
    key |= {"group": participant.group, "tenths": tenths}
    if not _COUNT_TIME(**key, more=more):
        # Another participant may insert the row first; then there is one to update.
        version = key.pop("version")
        ItemTime.objects.bulk_create([ItemTime(version_id=version, **key, number=0)], ignore_conflicts=True)
        _COUNT_TIME(version=version, **key, more=more)


def forget_times(*, participant: Participant) -> None:
    """Subtract the times of a participant who is about to be deleted."""
    for tenths in read_item_times(Trial.objects.filter(participant=participant)):
        _add_time(participant, tenths, -1)


def read_item_times(trials: QuerySet[Trial]) -> Iterator[int]:
    """Yield the server times of submitted items in tenths of a second."""
    rows = trials.filter(submitted_at__isnull=False, shown_at__isnull=False, item__kind=Item.Kind.ITEM)
    for shown, submitted in rows.order_by().values_list("shown_at", "submitted_at").iterator(chunk_size=5000):
        if (seconds := measure_seconds(shown, submitted)) is not None:
            yield round(10 * seconds)


def _compute_figures(page: ItemPage) -> dict[str, int]:
    """Return what an item adds to the figures of its participant."""
    return {
        "timed_items": int(page.seconds is not None),
        "fast_items": int(page.seconds is not None and page.seconds < IMPOSSIBLE_SECONDS),
        "client_ms": page.total_ms or 0,
        "hidden_ms": page.hidden_ms or 0,
        "pattern": hash_values(page.item, page.answers),
    }


def recount(people: QuerySet[Participant]) -> None:
    """Compute the figures of participants again from their pages."""
    people = people.order_by()
    rules = {version: build_rule_condition(version) for version in _select_versions(people)}
    for version, condition in rules.items():
        trials = Trial.objects.filter(participant__in=people.filter(version=version).values("pk"))
        trials.filter(hits_rule=True).update(hits_rule=False)
        if condition:
            answered = annotate_time(trials.filter(answers__isnull=False, item__kind="item"))
            answered.filter(condition).update(hits_rule=True)
    keys = people.values("pk")
    hits = Counter(
        Trial.objects.filter(participant__in=keys, hits_rule=True).values_list("participant", flat=True)
    )
    trapped, inattentive, uncomprehending = (
        set(rows.filter(participant__in=keys).values_list("participant", flat=True))
        for rows in (
            Event.objects.filter(kind=HONEYPOT),
            Trial.objects.filter(passed=False),
            StageResponse.objects.filter(stage=Stage.COMPREHENSION, passed=False),
        )
    )
    figures: dict[int, Counter[str]] = {}
    answers: dict[int, int | None] = {}
    for participant, pages in read_item_pages(people):
        figures[participant] = sum((Counter(_compute_figures(page)) for page in pages), Counter[str]())
        numbers = {hash_values(page.answers) for page in pages}
        answers[participant] = numbers.pop() if len(numbers) == 1 else None
    rows = [
        Participant(
            pk=key,
            **{name: figures.get(key, Counter())[name] for name in _ADDED[:-1]},
            rule_hits=hits[key],
            same_answers=answers.get(key),
            is_trapped=key in trapped,
            failed_attention=key in inattentive,
            failed_comprehension=key in uncomprehending,
        )
        for key in people.values_list("pk", flat=True)
    ]
    Participant.objects.bulk_update(rows, COLUMNS, batch_size=500)


def _select_versions(people: QuerySet[Participant]) -> QuerySet[StudyVersion]:
    return StudyVersion.objects.filter(pk__in=people.values("version")).only("hash")

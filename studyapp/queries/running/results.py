"""Reads of results: versions, participants, pages, events and stimuli."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet

from foundation.errors import NotFound
from foundation.messages import say
from predictions.models import PredictionRun, QuestionScore
from studyapp.models import (
    Condition,
    Event,
    ManualExclusion,
    Participant,
    Payment,
    StageResponse,
    Stimulus,
    Study,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.queries.design.correctness import SOURCES, Verdict, add_verdict, build_empty_verdicts
from studyapp.queries.participants.own_answers import count_decisions
from studyapp.queries.studies import verify_version

Row = dict[str, Any]

CLOCKS = (
    "shown_at",
    "submitted_at",
    "client_total_ms",
    "client_visible_ms",
    "client_hidden_ms",
    "hidden_count",
    "first_interaction_ms",
)
_PAGE = (*CLOCKS, "answers", "changes")
# Acts of staff that change results without another answer.
CHANGING = (
    *("decisions_applied", "participant_excluded", "participant_included"),
    *("participant_deleted", "participant_anonymised"),
)


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything inside at the same moment, while participants write.

    SQLite gets a plain BEGIN, because `transaction.atomic` would take the write lock and stop them.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
    else:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")


def list_verified_versions(study: Study) -> list[StudyVersion]:
    """Return all versions, oldest first, each proven to be what was frozen.

    Raises:
        NotFound: the study was never launched.
        AlteredVersion: what a version froze was changed in the database since.
    """
    versions = list(
        study.versions.select_related("study").prefetch_related("decisions__made_by").order_by("number")
    )
    if not versions:
        raise NotFound(
            say(
                "study %(slug)r was never launched, so it has no results; run launch_study first",
                slug=study.slug,
            )
        )
    for version in versions:
        verify_version(version)
    return versions


def read_conditions(study: Study) -> list[Condition]:
    """Return the conditions of all versions, by version and position."""
    rows = Condition.objects.filter(version__study=study).select_related(
        "system", "run__dataset", "run__score"
    )
    return list(rows.order_by("version__number", "position"))


def read_participants(study: Study, keys: Sequence[int] | None = None) -> list[Row]:
    """Return all participants, or those with these keys, in order of arrival.

    Rows have version number, condition name, link label and behaviour.
    """
    rows = Participant.objects.filter(version__study=study).order_by("pk")
    if keys is not None:
        rows = rows.filter(pk__in=keys)
    fields = (
        *("pk", "public_id", "mode", "version_id", "condition_id", "status", "order_seed"),
        *("consented_at", "assigned_at", "started_at", "completed_at", "ended_at", "returned_at"),
        *("items_submitted", "rule_hits"),
        *("outcome", "stage", "language", "device", "group", "order_row", "rotation", "anonymised_on"),
    )
    return list(
        rows.values(
            *fields,
            version_number=F("version__number"),
            condition_name=F("condition__name"),
            link_label=F("link__label"),
            behaviour=F("link__behaviour"),
            excluded_reason=F("exclusion__reason"),
        )
    )


def sum_payments(study: Study) -> dict[int, Row]:
    """Return what the platform confirmed of each participant's pay, by key.

    ``paid`` is the sum of bonuses and screen-out pay in ``paid_currency``, None without any.
    """
    paid: dict[int, Row] = {}
    rows = Payment.objects.filter(study=study, state=Payment.State.CONFIRMED)
    for who, kind, amount, currency in rows.values_list("participant", "kind", "amount", "currency"):
        row = paid.setdefault(who, {"approved": False, "paid": None, "paid_currency": None})
        row["approved"] |= kind == Payment.Kind.APPROVE
        if amount is not None:
            row["paid"], row["paid_currency"] = round((row["paid"] or 0) + float(amount), 2), currency
    return paid


def read_trials(participants: Sequence[int]) -> dict[int, list[Row]]:
    """Return trials by participant key, in order of position.

    Practice and attention items are included.
    """
    rows = Trial.objects.filter(participant__in=participants).order_by("participant_id", "position")
    return _group_by_participant(select_trial_values(rows))


def select_trial_values(rows: QuerySet[Trial]) -> QuerySet[Trial, Row]:
    """Return the columns of trials that tables show."""
    return rows.values(
        *("participant_id", "item_id", "condition_id", "position", "passed", "articles"),
        *("earlier", "timed_out", "block"),
        *_PAGE,
        question=F("item__question_id"),
        gold_answer=F("item__gold_answer"),
        external_id=F("item__external_id"),
        kind=F("item__kind"),
        condition_name=F("condition__name"),
        other_condition_name=F("other_condition__name"),
    )


def list_manual_exclusions(study: Study) -> list[str]:
    """Return the IDs of the participants whom researchers excluded."""
    rows = ManualExclusion.objects.filter(participant__version__study=study)
    return list(rows.values_list("participant__public_id", flat=True))


def find_answered_version(study: Study, mode: str, number: int | None = None) -> StudyVersion | None:
    """Return the newest version with a submitted item in a mode.

    With a number, return the version of that number if it has one.
    """
    trials = Trial.objects.filter(
        participant__version=OuterRef("pk"), participant__mode=mode, answers__isnull=False
    )
    rows = study.versions.filter(Exists(trials)).defer("frozen")
    return rows.filter(**({} if number is None else {"number": number})).order_by("-number").first()


def read_data_state(study: Study, mode: str) -> dict[str, Any]:
    """Return what changes whenever the data of a mode do, as JSON.

    The number of submitted items, participants and submitted surveys that count, the time of the last item,
    and the numbers of acts of staff and of decisions of judges that change results. A state that was kept
    before surveys and decisions were counted lacks both, and so is always an older one.
    """
    trials = Trial.objects.filter(
        participant__version__study=study, participant__mode=mode, answers__isnull=False
    )
    now = trials.exclude(participant__status=Participant.Status.WITHDRAWN).aggregate(
        trials=Count("pk"), participants=Count("participant", distinct=True), last=Max("submitted_at")
    )
    surveys = SurveyResponse.objects.filter(
        participant__version__study=study, participant__mode=mode, answers__isnull=False
    ).exclude(participant__status=Participant.Status.WITHDRAWN)
    last = now["last"]
    return {
        **now,
        "last": None if last is None else last.isoformat(),
        "surveys": surveys.count(),
        "acts": Event.objects.filter(study=study, kind__in=CHANGING).count(),
        "decisions": count_decisions(study),
    }


def read_stages(participants: Sequence[int]) -> dict[int, list[Row]]:
    """Return pages before the items by participant key, in order."""
    rows = StageResponse.objects.filter(participant__in=participants).order_by("participant_id", "pk")
    return _group_by_participant(
        rows.values("participant_id", "stage", "attempt", "passed", "earlier", *_PAGE)
    )


def read_surveys(participants: Sequence[int]) -> dict[int, list[Row]]:
    """Post surveys by participant key, of which a page was submitted."""
    rows = SurveyResponse.objects.filter(
        Q(answers__isnull=False) | Q(earlier__isnull=False), participant__in=participants
    )
    return _group_by_participant(rows.order_by("participant_id").values("participant_id", "earlier", *_PAGE))


def read_events(participants: Sequence[int]) -> dict[int, list[Row]]:
    """Return events by participant key, oldest first."""
    rows = Event.objects.filter(participant__in=participants).order_by("pk")
    return _group_by_participant(rows.values("participant_id", "at", "kind", "data"))


def read_staff_events(study: Study) -> Iterator[Row]:
    """Return events of the study without a participant, oldest first."""
    rows = Event.objects.filter(study=study, participant__isnull=True).order_by("pk")
    for row in rows.values("at", "kind", "data").iterator():
        yield dict(row)


def read_stimuli(study: Study) -> Iterator[Row]:
    """Yield stimuli in order of version, condition and item."""
    rows = Stimulus.objects.filter(condition__version__study=study)
    yield from (
        rows.order_by("condition__version__number", "condition__position", "item__position")
        .values(
            *("shown_answer", "facts", "exact_match", "answer_f1", "system_correct", "judged_by"),
            version=F("condition__version__number"),
            name=F("condition__name"),
            system=F("condition__system__name"),
            external_id=F("item__external_id"),
            kind=F("item__kind"),
            position=F("item__position"),
            question=F("item__text"),
            gold_answer=F("item__gold_answer"),
            settled_how=F("decision__settled_how"),
            settled_at=F("decision__settled_at"),
            settled_by=F("decision__settled_by__username"),
            settled_note=F("decision__note"),
        )
        .iterator()
    )


def count_correctness(study: Study) -> dict[int, list[Row]]:
    """Count the shown answers of systems by source of their correctness.

    Returns:
        By version number, a row for each condition in order: the number of answers, those that are correct,
        those that are by exact match, the numbers by source, and near-misses that stand by exact match alone.
    """
    rows = Stimulus.objects.filter(
        condition__version__study=study, condition__system__isnull=False, item__kind="item"
    ).order_by("condition__version__number", "condition__position", "pk")
    counts: dict[int, dict[str, Row]] = {}
    for version, name, exact, f1, correct, source in rows.values_list(
        "condition__version__number",
        "condition__name",
        "exact_match",
        "answer_f1",
        "system_correct",
        "judged_by",
    ):
        verdict = Verdict(bool(exact), f1 or 0.0, bool(correct), source if source in SOURCES else "unknown")
        of_version = counts.setdefault(version, {})
        of_version[name] = add_verdict(of_version.get(name) or build_empty_verdicts(name), verdict)
    return {version: list(of_version.values()) for version, of_version in counts.items()}


def read_judgement_rows(study: Study) -> Iterator[Row]:
    """Yield judgements of settled answers, by version, condition and item."""
    rows = Stimulus.objects.filter(condition__version__study=study, decision__isnull=False)
    for row in (
        rows.order_by(
            *("condition__version__number", "condition__position", "item__position"),
            "decision__judgements__place",
        )
        .values(
            version=F("condition__version__number"),
            condition_name=F("condition__name"),
            item_id_shown=F("item__external_id"),
            place=F("decision__judgements__place"),
            judge=F("decision__judgements__judge__username"),
            is_correct=F("decision__judgements__is_correct"),
            note=F("decision__judgements__note"),
            at=F("decision__judgements__at"),
        )
        .iterator()
    ):
        yield {
            **row,
            "condition": row["condition_name"],
            "item_id": row["item_id_shown"],
            "note": row["note"] or None,
        }


def read_correctness(study: Study) -> dict[tuple[int, int], bool]:
    """Return the correctness of shown answers by condition and item key.

    Unknown ones are left out.
    """
    rows = Stimulus.objects.filter(condition__version__study=study)
    return {
        (condition, item): correct
        for condition, item, correct in rows.values_list("condition_id", "item_id", "system_correct")
        if correct is not None
    }


def read_question_scores(run: PredictionRun) -> Iterator[tuple[str, list[float | None]]]:
    """Yield each question's contribution to the scores of a run."""
    rows = QuestionScore.objects.filter(score__run=run).order_by("question_id")
    return rows.values_list("question__external_id", "parts").iterator()


def count_flow(study: Study) -> list[Row]:
    """Count participants by mode, group, status, outcome and items submitted.

    The group is empty for those who were never assigned.
    """
    started = Q(started_at__isnull=False) | Q(items_submitted__gt=0)
    rows = Participant.objects.filter(version__study=study)
    counted = (
        rows.values("mode", "status", "outcome", "items_submitted", "group")
        .annotate(n=Count("pk"), started=Count("pk", filter=started))
        .order_by("mode", "group", "status", "outcome", "items_submitted")
    )
    return [dict(row) for row in counted]


def _group_by_participant(rows: Iterable[Mapping[str, Any]]) -> dict[int, list[Row]]:
    grouped: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        grouped[row["participant_id"]].append(dict(row))
    return grouped

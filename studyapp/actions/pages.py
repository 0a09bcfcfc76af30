"""Writes of participants on their pages: shown, submitted once, completed."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, cast

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from foundation.database.prepared_queries import PreparedUpdate, make_slot
from studyapp.actions import webhooks
from studyapp.actions.conduct import count_item
from studyapp.actions.participants import (
    end,
    enter_stage,
    hold,
    lock_version,
    make_code,
    record,
    select_active_participant,
)
from studyapp.definition.checks import is_admitted, is_comprehended
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.questions.flow import find_next_page
from studyapp.definition.questions.question import Answer
from studyapp.definition.task_designs.task_questions import resolve_answers
from studyapp.models import (
    Outcome,
    Participant,
    Stage,
    StageResponse,
    SurveyResponse,
    TimedPage,
    Trial,
    WebhookEvent,
)
from studyapp.queries.answer_quotas import find_matching_quotas
from studyapp.queries.participants.flags import HONEYPOT
from studyapp.queries.question_pages import (
    PageName,
    build_part_pages,
    build_viewer,
    find_advice,
    find_shown_page,
    is_last_page,
    list_stages,
    measure_seconds_on_page,
    name_item_page,
)
from studyapp.queries.studies import load_frozen_study
from studyapp.rules import states
from studyapp.rules.page_timing import Openings, PageTiming
from studyapp.rules.survey_pages import PageRecord, build_page_record, merge_answers, merge_pages


def _build_submitted_columns(page: type[TimedPage]) -> dict[str, Any]:
    """Return the columns of a submitted page.

    A clock that was set back cannot make a page end before it began.
    """
    names = ("answers", "changes", *(field.name for field in fields(PageTiming)))
    return {
        "submitted_at": Greatest(F("shown_at"), make_slot("now", page, "submitted_at")),
        **{name: make_slot(name, page, name) for name in names},
    }


def _build_column_values(
    now: datetime, answers: Mapping[str, Answer], changes: Mapping[str, int], timing: PageTiming
) -> dict[str, Any]:
    """Return the values of the columns that `_build_submitted_columns` names."""
    return {"now": now, "answers": dict(answers), "changes": dict(changes), **vars(timing)}


def _build_store_update(page: type[StageResponse | Trial], *columns: str) -> PreparedUpdate:
    """Return the update that stores a shown page, with further columns, once."""
    once = {"answers__isnull": True, "shown_at__isnull": False}
    return PreparedUpdate(
        lambda: (
            page.objects.filter(pk=make_slot("key", page), page=make_slot("page", page, "page"), **once),
            {**{name: make_slot(name, page, name) for name in columns}, **_build_submitted_columns(page)},
        )
    )


@transaction.atomic
def show_stage(*, page: StageResponse) -> None:
    """Record when a page before the items was first shown."""
    now = timezone.now()
    pages = StageResponse.objects.filter(pk=page.pk, shown_at__isnull=True)
    if hold(page.participant) and pages.update(shown_at=now):
        Participant.objects.filter(pk=page.participant_id).update(last_seen_at=now)
        record(page.participant, "stage_shown", {"stage": page.stage, "attempt": page.attempt})


_STORE_STAGE = _build_store_update(StageResponse, "passed")


@transaction.atomic
def submit_stage(
    *,
    page: StageResponse,
    answers: Mapping[str, Answer],
    changes: Mapping[str, int],
    timing: PageTiming,
) -> bool:
    """Store a page before the items once, and move the participant on.

    The participant comes to the next page of the stage, to the next stage, or leaves the study.

    Returns:
        True if this call stored it; False if it was stored already, was never shown, or the person withdrew.
    """
    now = timezone.now()
    participant = page.participant
    content = load_frozen_study(participant.version)
    record_now = build_page_record(answers, changes, timing)
    if (follows := _find_next_page(page, cast("PageName", page.stage), record_now)) is not None:
        return _turn_page(page, page.stage, follows, record_now, now)
    answers, changes, timing = merge_pages([*(page.earlier or []), record_now])
    passed = _check_answers(content, page.stage, answers)
    goes_on = passed is not False
    if goes_on:
        lock_version(participant.version)
    stored = _build_column_values(now, answers, changes, timing)
    if not (hold(participant) and _STORE_STAGE(key=page.pk, page=page.page, passed=passed, **stored)):
        return False
    seen: dict[str, Any] = {"last_seen_at": now}
    if passed is False and page.stage == Stage.COMPREHENSION:
        seen["failed_comprehension"] = True
    Participant.objects.filter(pk=participant.pk).update(**seen)
    record(participant, "stage_submitted", {"stage": page.stage, "attempt": page.attempt})
    quotas = (
        find_matching_quotas(participant, answers, now) if goes_on and page.stage == Stage.SCREENING else []
    )
    if any(quota.held >= quota.quota for quota in quotas):
        end(participant=participant, outcome=Outcome.FULL)
    elif goes_on:
        webhooks.announce_full_answers(participant, quotas)
        stages = list_stages(content)
        enter_stage(participant, stages[stages.index(Stage(page.stage)) + 1], now)
    elif content.comprehension and page.stage == Stage.COMPREHENSION:
        webhooks.announce_flag(participant, "failed_comprehension")
        if page.attempt < content.comprehension.tries:
            StageResponse.objects.create(participant=participant, stage=page.stage, attempt=page.attempt + 1)
        else:
            end(participant=participant, outcome=Outcome.FAILED_COMPREHENSION)
    else:
        end(participant=participant, outcome=Outcome.SCREENED_OUT)
    return True


def _find_next_page(
    page: StageResponse | SurveyResponse, part: PageName, record_now: PageRecord
) -> int | None:
    """Return the page of the same part that follows; None after the last."""
    content = load_frozen_study(page.participant.version)
    pages = build_part_pages(content, part, build_viewer(content, page.participant))
    shown, _questions = find_shown_page(pages, page.page, merge_answers(page.earlier))
    return find_next_page(pages, shown + 1, merge_answers([*(page.earlier or []), record_now]))


def _turn_page(
    page: Trial | StageResponse | SurveyResponse,
    part: str,
    follows: int,
    record_now: PageRecord,
    now: datetime,
    **more: Any,
) -> bool:
    """Keep a page before the last of a part, once, and turn to the next.

    ``more`` are columns that change with it.
    """
    if not hold(page.participant):
        return False
    rows = type(page)._default_manager.filter(
        pk=page.pk, page=page.page, answers__isnull=True, shown_at__isnull=False
    )
    if not rows.update(page=follows, earlier=[*(page.earlier or []), record_now], **more):
        return False
    Participant.objects.filter(pk=page.participant_id).update(last_seen_at=now)
    where = {"position": page.position} if isinstance(page, Trial) else {}
    record(page.participant, "page_submitted", {"stage": part, "page": page.page, **where})
    return True


def _check_answers(content: FrozenStudy, stage: str, answers: Mapping[str, Answer]) -> bool | None:
    """Return whether the answers pass the check; None without a check."""
    if stage == Stage.SCREENING:
        return is_admitted(content.screening, answers)
    if stage == Stage.COMPREHENSION and content.comprehension:
        return is_comprehended(content.comprehension, answers)
    return None


_SHOW = PreparedUpdate(
    lambda: (
        Trial.objects.filter(pk=make_slot("trial", Trial), shown_at__isnull=True),
        {"shown_at": make_slot("now", Trial, "shown_at")},
    )
)
# Updates, and with that locks, only a participant who is active: see `hold`.
_NOTE_START = PreparedUpdate(
    lambda: (
        select_active_participant(),
        {
            "started_at": Coalesce("started_at", make_slot("now", Participant, "started_at")),
            "last_seen_at": make_slot("now", Participant, "last_seen_at"),
        },
    )
)


def show_trial(*, trial: Trial) -> None:
    """Record when an item, or a later page of it, was first shown.

    Showing it again changes nothing and runs no query.
    """
    if trial.page > 1:
        _show_later_page(trial)
        return
    if trial.shown_at is not None:
        return
    now = timezone.now()
    with transaction.atomic():
        if _NOTE_START(participant=trial.participant_id, now=now) and _SHOW(trial=trial.pk, now=now):
            trial.shown_at = now
            record(trial.participant, "item_shown", {"position": trial.position})


def _show_later_page(trial: Trial) -> None:
    if trial.page_shown_at is not None:
        return
    now = timezone.now()
    rows = Trial.objects.filter(pk=trial.pk, page=trial.page, page_shown_at__isnull=True)
    with transaction.atomic():
        if hold(trial.participant) and rows.update(page_shown_at=now):
            trial.page_shown_at = now
            Participant.objects.filter(pk=trial.participant_id).update(last_seen_at=now)


_STORE_TRIAL = _build_store_update(Trial, "passed", "articles", "earlier", "timed_out")


@transaction.atomic
def submit_trial(
    *,
    trial: Trial,
    answers: Mapping[str, Answer],
    changes: Mapping[str, int],
    timing: PageTiming,
    articles: Openings | None = None,
    has_run_out: bool = False,
) -> bool:
    """Store the answers to an item, or to a page of it, once.

    ``has_run_out`` says that the time of the page was over.

    True if this call stored them; False if they were stored already, by a double click or a second tab, if
    the item was never shown, or if the person withdrew.
    """
    now = timezone.now()
    content = load_frozen_study(trial.participant.version)
    kind, item_id = trial.item.kind, trial.item.external_id
    if page := name_item_page(content, trial):
        answers = resolve_answers(
            content.task, answers, merge_answers(trial.earlier), find_advice(content, trial)
        )
        timed_out = ";".join(filter(None, (trial.timed_out, page if has_run_out else "")))
        record_now = build_page_record(answers, changes, timing, server_ms=_measure_milliseconds(trial, now))
        if not is_last_page(content, trial):
            return _turn_page(trial, "item", trial.page + 1, record_now, now, timed_out=timed_out)
        trial.earlier, trial.timed_out = [*(trial.earlier or []), record_now], timed_out
        answers, changes, timing = merge_pages(trial.earlier)
    check = content.attention_item(item_id) if kind == "attention" else None
    passed = check.is_passed_by(answers) if check else None
    stored = _build_column_values(now, answers, changes, timing)
    more = {"passed": passed, "articles": articles, "earlier": trial.earlier, "timed_out": trial.timed_out}
    if not (hold(trial.participant) and _STORE_TRIAL(key=trial.pk, page=trial.page, **more, **stored)):
        return False
    if kind == "item":
        count_item(trial=trial, answers=answers, timing=timing, now=now)
    else:
        seen = {"last_seen_at": now, **({"failed_attention": True} if passed is False else {})}
        Participant.objects.filter(pk=trial.participant_id).update(**seen)
    record(trial.participant, "item_submitted", {"position": trial.position})
    if passed is False:
        webhooks.announce_flag(trial.participant, "failed_attention")
    return True


def _measure_milliseconds(trial: Trial, now: datetime) -> int | None:
    """Return how long the page of an item was shown, by the server's clock."""
    seconds = measure_seconds_on_page(trial, now)
    return None if seconds is None else round(1000 * seconds)


def note_honeypot(*, participant: Participant, page: str) -> None:
    """Record that a bot filled the hidden field.

    This stops nobody, and the content of the field is not kept.
    """
    with transaction.atomic():
        if hold(participant):
            record(participant, HONEYPOT, {"page": page})
            Participant.objects.filter(pk=participant.pk).update(is_trapped=True)
            webhooks.announce_flag(participant, "honeypot")


@transaction.atomic
def show_survey(*, participant: Participant) -> None:
    """Record when the post survey was first shown."""
    now = timezone.now()
    survey = SurveyResponse.objects.filter(participant=participant, shown_at__isnull=True)
    if hold(participant) and survey.update(shown_at=now):
        Participant.objects.filter(pk=participant.pk).update(last_seen_at=now)
        record(participant, "survey_shown", {})


def _complete_surveys() -> QuerySet[SurveyResponse]:
    """Return the surveys that can be submitted now.

    A survey can be submitted while it is shown, not submitted, and no item is left.
    """
    left = Trial.objects.filter(participant=OuterRef("participant"), answers__isnull=True)
    return SurveyResponse.objects.filter(
        ~Exists(left),
        participant=make_slot("participant", Participant),
        page=make_slot("page", SurveyResponse, "page"),
        answers__isnull=True,
        shown_at__isnull=False,
    )


_STORE_SURVEY = PreparedUpdate(lambda: (_complete_surveys(), _build_submitted_columns(SurveyResponse)))


@transaction.atomic
def submit_survey(
    *,
    participant: Participant,
    answers: Mapping[str, Answer],
    changes: Mapping[str, int],
    timing: PageTiming,
    number: int = 1,
) -> bool:
    """Store a page of the post survey once, and complete after the last.

    ``number`` is that of the page that was sent.

    True if this call stored it; False if it was stored already, was never shown, items are left, or the
    person withdrew. The code is to be shown only after this has returned, that is, once it is committed.
    """
    now = timezone.now()
    page = SurveyResponse.objects.filter(participant=participant, page=number).first()
    if page is None:
        return False
    page.participant = participant
    record_now = build_page_record(answers, changes, timing)
    if (follows := _find_next_page(page, "survey", record_now)) is not None:
        return _turn_page(page, "survey", follows, record_now, now)
    stored = _build_column_values(now, *merge_pages([*(page.earlier or []), record_now]))
    if webhooks.has_listener(participant.version.study_id, WebhookEvent.FLAGGED):
        # Of two who complete at once with the same answers, the second has to see the first.
        lock_version(participant.version)
    if not (hold(participant) and _STORE_SURVEY(participant=participant.pk, page=page.page, **stored)):
        return False
    participant.status = states.find_next_status(states.PARTICIPANT, "complete", participant.status)
    participant.outcome = Outcome.DONE
    participant.completed_at = participant.ended_at = participant.last_seen_at = now
    participant.completion_code = make_code(10)
    participant.save(
        update_fields=["status", "outcome", "completed_at", "ended_at", "last_seen_at", "completion_code"]
    )
    record(participant, "completed", {})
    webhooks.announce_completed(participant)
    return True

"""Writes of participants: consent, stages, assignment, pages shown and submitted, completion."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.prepared import Prepared, PreparedUpdate, insert, slot
from studyapp import assignment, states
from studyapp.actions import events
from studyapp.freezing import FrozenStudy
from studyapp.models import (
    Condition,
    EntryLink,
    Mode,
    Outcome,
    Participant,
    Stage,
    StageResponse,
    Study,
    StudyVersion,
    SurveyResponse,
    TimedPage,
    Trial,
)
from studyapp.policies import REFUSALS, Full, NotAdmitted, check_admission
from studyapp.queries.flags import HONEYPOT
from studyapp.queries.studies import frozen, item_keys
from studyapp.questionnaires import Answer
from studyapp.stages import is_admitted, is_comprehended
from studyapp.timing import PageTiming

# Without letters and digits that look alike, for people type the code into another site.
_CODE_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


def _filled(page: type[TimedPage]) -> dict[str, Any]:
    """The columns of a submitted page. A clock that was set back cannot make it end before it began."""
    names = ("answers", "changes", *(field.name for field in fields(PageTiming)))
    return {
        "submitted_at": Greatest(F("shown_at"), slot("now", page, "submitted_at")),
        **{name: slot(name, page, name) for name in names},
    }


def _values(
    now: datetime, answers: Mapping[str, Answer], changes: Mapping[str, int], timing: PageTiming
) -> dict[str, Any]:
    """What goes into them."""
    return {"now": now, "answers": dict(answers), "changes": dict(changes), **asdict(timing)}


@transaction.atomic
def consent(*, link: EntryLink, public_id: str | None = None, language: str = "") -> Participant:
    """Make the participant who consented and take them to the first page.

    ``public_id`` names the consent page that was sent: sent twice, it gives the same participant. The
    version row is locked, so that two who consent at once are counted one after the other. (SQLite has no
    row locks; there every transaction holds the write lock from its start.) ``language`` is that of the
    page, empty for the language of the study.

    Raises:
        NotAdmitted: the study is not open, the link is used up, or (Full) no condition or place is open.
    """
    version = _lock_version(link)
    if public_id is not None and (same := _already_in(link, public_id)) is not None:
        return same
    check_admission(link)
    assert version is not None  # an open study has been launched
    if not _free_groups(version, link.mode):
        raise Full(_("This study takes no more participants. Thank you for your interest."))
    now = timezone.now()
    _claim(link, now)
    participant = Participant(
        version=version,
        link=link,
        public_id=public_id or secrets.token_hex(10),
        mode=link.mode,
        language=language,
        consented_at=now,
        last_seen_at=now,
        withdrawal_code=_new_code(12),
    )
    insert(participant)
    _record(participant, "consented", {})
    _enter(participant, _stages(frozen(version))[0], now)
    return participant


_NEWEST = Prepared(
    lambda: (
        StudyVersion.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .defer("frozen", "study__definition")
        .filter(study=slot("study", Study))
        .order_by("-number")[:1]
    )
)


def _lock_version(link: EntryLink) -> StudyVersion | None:
    """Lock the newest version, and look at the study anew: it may have been closed since."""
    version = _NEWEST.first(study=link.study_id)
    if version is not None:
        link.study = version.study
    return version


_SAME = Prepared(
    lambda: (
        Participant.objects.select_related("condition", "version__study")
        .defer("version__frozen", "version__study__definition")
        .filter(public_id=slot("public_id", Participant, "public_id"))
    )
)


def _already_in(link: EntryLink, public_id: str) -> Participant | None:
    """The participant whom the same consent page made before."""
    same = _SAME.first(public_id=public_id)
    if same is not None and same.link_id != link.pk:
        raise NotAdmitted(_("This page belongs to another link. Please open your study link again."))
    return same


def _claim(link: EntryLink, now: datetime) -> None:
    """Use up a single-use link; of two who come at once one gets it."""
    if not link.single_use:
        return
    if not EntryLink.objects.filter(pk=link.pk, used_at__isnull=True).update(used_at=now):
        raise NotAdmitted(str(REFUSALS["link_used"]))
    link.used_at = now


def _stages(content: FrozenStudy) -> list[Stage]:
    """The stages that the study has, in order."""
    has = {
        Stage.SCREENING: bool(content.screening),
        Stage.INSTRUCTIONS: content.instructions_page,
        Stage.COMPREHENSION: content.comprehension is not None,
        Stage.PRE_SURVEY: bool(content.pre_survey),
        Stage.ITEMS: True,
    }
    return [stage for stage in Stage if has[stage]]


def _enter(participant: Participant, stage: Stage, now: datetime) -> None:
    """Take a participant to a stage. The checks lie before the assignment, so that who fails has no place.

    The version must be locked.
    """
    is_check = stage in (Stage.SCREENING, Stage.INSTRUCTIONS, Stage.COMPREHENSION)
    if not (is_check or participant.group or _assign(participant, now)):
        end(participant=participant, outcome=Outcome.FULL)
        return
    if participant.stage != stage:
        participant.stage = stage
        participant.save(update_fields=["stage"])
    if stage != Stage.ITEMS:
        StageResponse.objects.create(participant=participant, stage=stage)


_ARMS = Prepared(lambda: Condition.objects.filter(version=slot("version", StudyVersion)))


def _open_groups(version: StudyVersion) -> dict[str, list[Condition]]:
    """What newcomers can be assigned to: the conditions of each group that are all open, in order."""
    content = frozen(version)
    groups: dict[str, list[Condition]] = {}
    for arm in _ARMS.all(version=version.pk):
        groups.setdefault(content.condition(arm.name).group or arm.name, []).append(arm)
    return {name: arms for name, arms in groups.items() if all(arm.is_open for arm in arms)}


def _free_groups(version: StudyVersion, mode: str) -> dict[str, list[Condition]]:
    """The open groups with a free place. Only where somebody set a quota does this count participants."""
    groups = _open_groups(version)
    minutes = frozen(version).stale_after_minutes
    if minutes is None or not any(arm.quota is not None for arms in groups.values() for arm in arms):
        return groups
    counted, _place = _count(version, mode, timezone.now() - timedelta(minutes=minutes))
    return _below_quota(groups, counted, mode)


def _below_quota(
    groups: dict[str, list[Condition]], counted: Mapping[str, Mapping[tuple[int, int], int]], mode: str
) -> dict[str, list[Condition]]:
    """The groups whose conditions may have one more participant. Quotas are of live participants."""
    if mode != Mode.LIVE:
        return groups
    held = {name: sum(counted.get(name, {}).values()) for name in groups}
    return {
        name: arms
        for name, arms in groups.items()
        if all(arm.quota is None or held[name] < arm.quota for arm in arms)
    }


_ASSIGNMENT = (
    *("assignment_counts", "group", "condition_id", "order_row", "rotation"),
    *("order_seed", "assigned_at"),
)
_STORE_ASSIGNMENT = PreparedUpdate(
    lambda: (
        Participant.objects.filter(pk=slot("participant", Participant)),
        {name: slot(name, Participant, name) for name in _ASSIGNMENT},
    )
)


def _assign(participant: Participant, now: datetime) -> bool:
    """Choose group, order and place, and lay out the pages. False where no group is free any more.

    The version must be locked.
    """
    version = participant.version
    content = frozen(version)
    assert content.order_seed is not None  # only a study run elsewhere lacks the two, and it is never open
    assert content.stale_after_minutes is not None
    fresh_since = now - timedelta(minutes=content.stale_after_minutes)
    counted, place = _count(version, participant.mode, fresh_since)
    groups = _below_quota(_open_groups(version), counted, participant.mode)
    if not groups:
        return False
    seed = assignment.derive_seed(content.order_seed, place)
    participant.assignment_counts = {name: sum(counted.get(name, {}).values()) for name in groups}
    participant.group = assignment.choose(
        list(groups),
        participant.assignment_counts,
        {name: arms[0].weight for name, arms in groups.items()},
        seed=seed,
        block=content.assignment_block,
    )
    arms = groups[participant.group]
    cells = counted.get(participant.group, {})
    row, rotation = assignment.choose_cell(len(arms), cells, seed=seed) if len(arms) > 1 else (None, None)
    participant.condition = arms[0] if len(arms) == 1 else None
    participant.order_row, participant.rotation = row, rotation
    participant.order_seed, participant.assigned_at = seed, now
    _STORE_ASSIGNMENT(
        participant=participant.pk, **{name: getattr(participant, name) for name in _ASSIGNMENT}
    )
    _lay_out(participant, arms, content)
    _record(participant, "assigned", {"group": participant.group, "order_row": row, "rotation": rotation})
    return True


_LOCK = Prepared(
    lambda: (
        StudyVersion.objects.select_for_update(of=("self",), no_key=True)
        .only("pk")
        .filter(pk=slot("version", StudyVersion))
    )
)


def _lock(version: StudyVersion) -> None:
    """Who is assigned at once is counted one after the other."""
    _LOCK.all(version=version.pk)


def _count(
    version: StudyVersion, mode: str, fresh_since: datetime
) -> tuple[dict[str, dict[tuple[int, int], int]], int]:
    """Those of this mode who completed or hold a place, by group and cell; and the next place.

    A place is held while it is neither stale nor given back.
    """
    active = Q(status="active", last_seen_at__gte=fresh_since, returned_at__isnull=True)
    counted = Q(mode=mode) & (Q(status="completed") | active)
    rows = (
        Participant.objects.filter(version=version)
        .exclude(group="")
        .values_list("group", "order_row", "rotation")
        .annotate(total=Count("pk"), counted=Count("pk", filter=counted))
    )
    counts: dict[str, dict[tuple[int, int], int]] = {}
    place = 1
    for group, row, rotation, total, n in rows:
        counts.setdefault(group, {})[row or 0, rotation or 0] = n
        place += total
    return counts, place


def _lay_out(participant: Participant, arms: Sequence[Condition], content: FrozenStudy) -> None:
    """One trial per practice item, item and attention item in this participant's order, and the survey."""
    keys = item_keys(participant.version)
    order = assignment.lay_out(
        len(content.items),
        len(arms),
        participant.order_row or 0,
        participant.rotation or 0,
        blocked=content.condition_order == "blocked",
        seed=participant.order_seed or 0,
    )
    practice = [
        Trial(item_id=keys[item.id], condition=arms[place % len(arms)])
        for place, item in enumerate(content.practice)
    ]
    trials = [Trial(item_id=keys[content.items[item].id], condition=arms[arm]) for item, arm in order]
    checks = {row.position: Trial(item_id=keys[row.id]) for row in content.attention}
    pages = [*practice, *assignment.interleave(trials, checks)]
    for position, trial in enumerate(pages, start=1):
        trial.participant, trial.position = participant, position
    insert(*pages)
    insert(SurveyResponse(participant=participant))


@transaction.atomic
def end(*, participant: Participant, outcome: Outcome) -> None:
    """End the way of an active participant before its last page. Raises ForbiddenTransition if it ended."""
    now = timezone.now()
    participant.status = states.next_status(states.PARTICIPANT, "end", participant.status)
    participant.outcome = outcome
    participant.ended_at = participant.last_seen_at = now
    participant.save(update_fields=["status", "outcome", "ended_at", "last_seen_at"])
    _record(participant, "ended", {"outcome": outcome.value})


@transaction.atomic
def show_stage(*, page: StageResponse) -> None:
    """Note when a page before the items was first shown."""
    now = timezone.now()
    if StageResponse.objects.filter(pk=page.pk, shown_at__isnull=True).update(shown_at=now):
        Participant.objects.filter(pk=page.participant_id).update(last_seen_at=now)
        _record(page.participant, "stage_shown", {"stage": page.stage, "attempt": page.attempt})


_STORE_STAGE = PreparedUpdate(
    lambda: (
        StageResponse.objects.filter(
            pk=slot("stage", StageResponse), answers__isnull=True, shown_at__isnull=False
        ),
        {"passed": slot("passed", StageResponse, "passed"), **_filled(StageResponse)},
    )
)


@transaction.atomic
def submit_stage(
    *,
    page: StageResponse,
    answers: Mapping[str, Answer],
    changes: Mapping[str, int],
    timing: PageTiming,
) -> bool:
    """Store a page before the items, once, and take the participant on: to the next, or out.

    True if this call stored it; False if it was stored already, or was never shown.
    """
    now = timezone.now()
    participant = page.participant
    content = frozen(participant.version)
    passed = _passed(content, page.stage, answers)
    if not _STORE_STAGE(stage=page.pk, passed=passed, **_values(now, answers, changes, timing)):
        return False
    Participant.objects.filter(pk=participant.pk).update(last_seen_at=now)
    _record(participant, "stage_submitted", {"stage": page.stage, "attempt": page.attempt})
    if passed is not False:
        stages = _stages(content)
        _lock(participant.version)
        _enter(participant, stages[stages.index(Stage(page.stage)) + 1], now)
    elif content.comprehension and page.stage == Stage.COMPREHENSION:
        if page.attempt < content.comprehension.tries:
            StageResponse.objects.create(participant=participant, stage=page.stage, attempt=page.attempt + 1)
        else:
            end(participant=participant, outcome=Outcome.FAILED_COMPREHENSION)
    else:
        end(participant=participant, outcome=Outcome.SCREENED_OUT)
    return True


def _passed(content: FrozenStudy, stage: str, answers: Mapping[str, Answer]) -> bool | None:
    """Whether a page with something to pass was passed."""
    if stage == Stage.SCREENING:
        return is_admitted(content.screening, answers)
    if stage == Stage.COMPREHENSION and content.comprehension:
        return is_comprehended(content.comprehension, answers)
    return None


_SHOW = PreparedUpdate(
    lambda: (
        Trial.objects.filter(pk=slot("trial", Trial), shown_at__isnull=True),
        {"shown_at": slot("now", Trial, "shown_at")},
    )
)
_NOTE_START = PreparedUpdate(
    lambda: (
        Participant.objects.filter(pk=slot("participant", Participant)),
        {
            "started_at": Coalesce("started_at", slot("now", Participant, "started_at")),
            "last_seen_at": slot("now", Participant, "last_seen_at"),
        },
    )
)


def show_trial(*, trial: Trial) -> None:
    """Note when an item was first shown. Showing it again changes nothing, and asks the database nothing."""
    if trial.shown_at is not None:
        return
    now = timezone.now()
    with transaction.atomic():
        if _SHOW(trial=trial.pk, now=now):
            trial.shown_at = now
            _NOTE_START(participant=trial.participant_id, now=now)
            _record(trial.participant, "item_shown", {"position": trial.position})


_STORE_TRIAL = PreparedUpdate(
    lambda: (
        Trial.objects.filter(pk=slot("trial", Trial), answers__isnull=True, shown_at__isnull=False),
        {"passed": slot("passed", Trial, "passed"), **_filled(Trial)},
    )
)
_COUNT_ITEM = PreparedUpdate(
    lambda: (
        Participant.objects.filter(pk=slot("participant", Participant)),
        {
            "items_submitted": F("items_submitted") + slot("number", Participant, "items_submitted"),
            "last_seen_at": slot("now", Participant, "last_seen_at"),
        },
    )
)


@transaction.atomic
def submit_trial(
    *, trial: Trial, answers: Mapping[str, Answer], changes: Mapping[str, int], timing: PageTiming
) -> bool:
    """Store the answers to an item, once.

    True if this call stored them; False if they were stored already, by a double click or a second tab, or
    if the item was never shown.
    """
    now = timezone.now()
    kind, item_id = trial.item.kind, trial.item.external_id
    check = frozen(trial.participant.version).attention_item(item_id) if kind == "attention" else None
    passed = check.passes(answers) if check else None
    if not _STORE_TRIAL(trial=trial.pk, passed=passed, **_values(now, answers, changes, timing)):
        return False
    _COUNT_ITEM(participant=trial.participant_id, number=int(kind == "item"), now=now)
    _record(trial.participant, "item_submitted", {"position": trial.position})
    return True


def note_honeypot(*, participant: Participant, page: str) -> None:
    """Note that a field was filled that people do not see. It stops nobody; what it held is not kept."""
    _record(participant, HONEYPOT, {"page": page})


@transaction.atomic
def show_survey(*, participant: Participant) -> None:
    """Note when the post survey was first shown."""
    now = timezone.now()
    survey = SurveyResponse.objects.filter(participant=participant, shown_at__isnull=True)
    if survey.update(shown_at=now):
        Participant.objects.filter(pk=participant.pk).update(last_seen_at=now)
        _record(participant, "survey_shown", {})


def _complete_surveys() -> QuerySet[SurveyResponse]:
    """That of a participant, while it is shown, not submitted, and no item is left."""
    left = Trial.objects.filter(participant=OuterRef("participant"), answers__isnull=True)
    return SurveyResponse.objects.filter(
        ~Exists(left),
        participant=slot("participant", Participant),
        answers__isnull=True,
        shown_at__isnull=False,
    )


_STORE_SURVEY = PreparedUpdate(lambda: (_complete_surveys(), _filled(SurveyResponse)))


@transaction.atomic
def submit_survey(
    *, participant: Participant, answers: Mapping[str, Answer], changes: Mapping[str, int], timing: PageTiming
) -> bool:
    """Store the post survey, once, and complete the participant with a random code.

    True if this call stored it; False if it was stored already, was never shown, or items are left. The
    code is to be shown only after this has returned, that is, once it is committed.
    """
    now = timezone.now()
    if not _STORE_SURVEY(participant=participant.pk, **_values(now, answers, changes, timing)):
        return False
    participant.status = states.next_status(states.PARTICIPANT, "complete", participant.status)
    participant.outcome = Outcome.DONE
    participant.completed_at = participant.ended_at = participant.last_seen_at = now
    participant.completion_code = _new_code(10)
    participant.save(
        update_fields=["status", "outcome", "completed_at", "ended_at", "last_seen_at", "completion_code"]
    )
    _record(participant, "completed", {})
    return True


def _new_code(length: int) -> str:
    return "".join(secrets.choice(_CODE_ALPHABET) for _place in range(length))


def _record(participant: Participant, kind: str, data: dict[str, Any]) -> None:
    events.record(kind=kind, study=participant.version.study, participant=participant, data=data)

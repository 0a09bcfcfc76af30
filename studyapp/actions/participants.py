"""Writes of participants: consent with assignment, pages shown and submitted, completion."""

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, DateTimeField, Exists, F, OuterRef, Q, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from studyapp import assignment, states
from studyapp.actions import events
from studyapp.models import Condition, EntryLink, Item, Participant, StudyVersion, SurveyResponse, Trial
from studyapp.policies import NotAdmitted, check_admission
from studyapp.queries.studies import frozen
from studyapp.questionnaires import Answer
from studyapp.timing import PageTiming

# Without letters and digits that look alike, for people type the code into another site.
_CODE_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


@transaction.atomic
def consent(*, link: EntryLink, public_id: str | None = None) -> Participant:
    """Make the participant who consented, assign a condition, and lay out the pages.

    ``public_id`` names the consent page that was sent: sent twice, it gives the same participant. The
    version row is locked, so that two who consent at once are counted one after the other. (SQLite has no
    row locks; there every transaction holds the write lock from its start.)

    Raises:
        NotAdmitted: the study is not open, the link is used up, or no condition is open.
    """
    version = _lock_version(link)
    if public_id is not None and (same := _already_in(link, public_id)) is not None:
        return same
    check_admission(link)
    assert version is not None  # an open study has been launched
    now = timezone.now()
    _claim(link, now)
    arms = {arm.name: arm for arm in version.conditions.filter(is_open=True)}
    if not arms:
        raise NotAdmitted(_("This study takes no more participants. Thank you for your interest."))
    name, counts, seed = _assign(version, arms, link.mode, now)
    participant = Participant.objects.create(
        version=version,
        link=link,
        public_id=public_id or secrets.token_hex(10),
        mode=link.mode,
        condition=arms[name],
        assignment_counts=counts,
        order_seed=seed,
        consented_at=now,
        assigned_at=now,
        last_seen_at=now,
    )
    _lay_out(participant)
    events.record(kind="consented", study=link.study, participant=participant, data={"condition": name})
    return participant


def _lock_version(link: EntryLink) -> StudyVersion | None:
    """Lock the newest version, and look at the study anew: it may have been closed since."""
    version = (
        StudyVersion.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .defer("frozen", "study__definition")
        .filter(study=link.study_id)
        .order_by("-number")
        .first()
    )
    if version is not None:
        link.study = version.study
    return version


def _already_in(link: EntryLink, public_id: str) -> Participant | None:
    """The participant whom the same consent page made before."""
    participants = Participant.objects.select_related("condition", "version__study")
    same = participants.filter(public_id=public_id).first()
    if same is not None and same.link_id != link.pk:
        raise NotAdmitted(_("This page belongs to another link. Please open your study link again."))
    return same


def _claim(link: EntryLink, now: datetime) -> None:
    """Use up a single-use link; of two who come at once one gets it."""
    if not link.single_use:
        return
    if not EntryLink.objects.filter(pk=link.pk, used_at__isnull=True).update(used_at=now):
        raise NotAdmitted(_("This link was for one person and has been used."))
    link.used_at = now


def _assign(
    version: StudyVersion, arms: Mapping[str, Condition], mode: str, now: datetime
) -> tuple[str, dict[str, int], int]:
    """The name of the condition, what was counted per open condition, and the participant's seed."""
    content = frozen(version)
    assert content.order_seed is not None  # only a study run elsewhere lacks the two, and it is never open
    assert content.stale_after_minutes is not None
    counted, place = _count(version, mode, now - timedelta(minutes=content.stale_after_minutes))
    counts = {name: counted.get(name, 0) for name in arms}
    seed = assignment.derive_seed(content.order_seed, place)
    weights = {name: arm.weight for name, arm in arms.items()}
    name = assignment.choose(list(arms), counts, weights, seed=seed, block=content.assignment_block)
    return name, counts, seed


def _count(version: StudyVersion, mode: str, fresh_since: datetime) -> tuple[dict[str, int], int]:
    """Per condition those of this mode who completed or are active and not stale; and the next place."""
    counted = Q(mode=mode) & (Q(status="completed") | Q(status="active", last_seen_at__gte=fresh_since))
    rows = (
        Participant.objects.filter(version=version)
        .values_list("condition__name")
        .annotate(total=Count("pk"), counted=Count("pk", filter=counted))
    )
    totals = list(rows)
    return {name: n for name, _total, n in totals}, sum(total for _name, total, _n in totals) + 1


def _lay_out(participant: Participant) -> None:
    """One trial per item in this participant's order, and the survey."""
    items = list(
        Item.objects.filter(version=participant.version_id).order_by("position").values_list("pk", flat=True)
    )
    order = assignment.shuffled(len(items), seed=participant.order_seed or 0)
    Trial.objects.bulk_create(
        Trial(participant=participant, item_id=items[index], position=position)
        for position, index in enumerate(order, start=1)
    )
    SurveyResponse.objects.create(participant=participant)


def show_trial(*, trial: Trial) -> None:
    """Note when an item was first shown. Showing it again changes nothing, and asks the database nothing."""
    if trial.shown_at is not None:
        return
    now = timezone.now()
    with transaction.atomic():
        if Trial.objects.filter(pk=trial.pk, shown_at__isnull=True).update(shown_at=now):
            trial.shown_at = now
            Participant.objects.filter(pk=trial.participant_id).update(
                started_at=Coalesce("started_at", Value(now, DateTimeField())), last_seen_at=now
            )
            _record(trial.participant, "item_shown", {"position": trial.position})


@transaction.atomic
def submit_trial(
    *, trial: Trial, answers: Mapping[str, Answer], changes: Mapping[str, int], timing: PageTiming
) -> bool:
    """Store the answers to an item, once.

    True if this call stored them; False if they were stored already, by a double click or a second tab, or
    if the item was never shown.
    """
    now = timezone.now()
    stored = Trial.objects.filter(pk=trial.pk, answers__isnull=True, shown_at__isnull=False).update(
        **_filled(now, answers, changes, timing)
    )
    if not stored:
        return False
    Participant.objects.filter(pk=trial.participant_id).update(
        items_submitted=F("items_submitted") + 1, last_seen_at=now
    )
    _record(trial.participant, "item_submitted", {"position": trial.position})
    return True


@transaction.atomic
def show_survey(*, participant: Participant) -> None:
    """Note when the post survey was first shown."""
    now = timezone.now()
    survey = SurveyResponse.objects.filter(participant=participant, shown_at__isnull=True)
    if survey.update(shown_at=now):
        Participant.objects.filter(pk=participant.pk).update(last_seen_at=now)
        _record(participant, "survey_shown", {})


@transaction.atomic
def submit_survey(
    *, participant: Participant, answers: Mapping[str, Answer], changes: Mapping[str, int], timing: PageTiming
) -> bool:
    """Store the post survey, once, and complete the participant with a random code.

    True if this call stored it; False if it was stored already, was never shown, or items are left. The
    code is to be shown only after this has returned, that is, once it is committed.
    """
    now = timezone.now()
    left = Trial.objects.filter(participant=OuterRef("participant"), answers__isnull=True)
    stored = SurveyResponse.objects.filter(
        ~Exists(left), participant=participant, answers__isnull=True, shown_at__isnull=False
    ).update(**_filled(now, answers, changes, timing))
    if not stored:
        return False
    participant.status = states.next_status(states.PARTICIPANT, "complete", participant.status)
    participant.completed_at = participant.last_seen_at = now
    participant.completion_code = "".join(secrets.choice(_CODE_ALPHABET) for _place in range(10))
    participant.save(update_fields=["status", "completed_at", "last_seen_at", "completion_code"])
    _record(participant, "completed", {})
    return True


def _filled(
    now: datetime, answers: Mapping[str, Answer], changes: Mapping[str, int], timing: PageTiming
) -> dict[str, Any]:
    """The columns of a submitted page. A clock that was set back cannot make it end before it began."""
    return {
        "submitted_at": Greatest(F("shown_at"), Value(now, DateTimeField())),
        "answers": dict(answers),
        "changes": dict(changes),
        **asdict(timing),
    }


def _record(participant: Participant, kind: str, data: dict[str, Any]) -> None:
    events.record(kind=kind, study=participant.version.study, participant=participant, data=data)

"""Writes of participants: consent, stages, assignment, the end of the way."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from foundation.database.prepared_queries import Prepared, insert, make_slot
from foundation.errors import Conflict
from foundation.messages import say
from studyapp.actions import events, webhooks
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.tasks import Preference, Simulation
from studyapp.link_tokens import resume_token
from studyapp.models import (
    Condition,
    EntryLink,
    Mode,
    Outcome,
    Participant,
    Stage,
    StageResponse,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.policies import REFUSALS, Full, NotAdmitted, Outdated, check_admission
from studyapp.queries.question_pages import build_part_pages, build_viewer, list_stages
from studyapp.queries.studies import load_frozen_study, map_item_keys, match_counted_participants
from studyapp.rules import assignment, pairs, states
from studyapp.rules.balanced_blocks import lay_out_blocks

# Without letters and digits that look alike, because participants type the code into another site.
_CODE_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


@transaction.atomic
def consent(
    *,
    link: EntryLink,
    public_id: str | None = None,
    shown: int | None = None,
    language: str = "",
    device: str = "",
) -> Participant:
    """Create a participant at consent and open the first page.

    ``public_id`` names the consent page that was sent: sent twice, it gives the same participant. ``shown``
    is the number of the version whose consent the page showed, None if unknown. The version row is locked, so
    that two who consent at once are counted one after the other. (SQLite has no row locks; there every
    transaction holds the write lock from its start.) ``language`` is that of the page, empty for the language
    of the study; ``device`` is one of `Device`, empty if unknown.

    Raises:
        NotAdmitted: the study is not open, the link is used up, (Full) no condition has room, or (Outdated)
            the page showed another version.
    """
    version = _lock_newest(link)
    if public_id is not None and (same := _find_same_participant(link, public_id)) is not None:
        return same
    check_admission(link)
    assert version is not None  # an open study has been launched
    check_room(version, link.mode)
    if shown not in (None, version.number):
        raise Outdated(str(REFUSALS["outdated"]))
    now = timezone.now()
    _claim(link, now)
    participant = Participant(
        version=version,
        link=link,
        public_id=public_id or secrets.token_hex(10),
        mode=link.mode,
        language=language,
        device=device,
        consented_at=now,
        last_seen_at=now,
        withdrawal_code=make_code(12),
    )
    participant.save(force_insert=True)
    record(participant, "consented", {})
    webhooks.announce_full_link(link)
    enter_stage(participant, list_stages(load_frozen_study(version))[0], now)
    return participant


def _lock_newest(link: EntryLink) -> StudyVersion | None:
    """Lock the newest version and read the study again.

    The study may have been closed since.
    """
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


@transaction.atomic
def revoke_links(*, participant: Participant, reason: str, by: User | None) -> None:
    """End all cookies and personal links of a participant."""
    Participant.objects.filter(pk=participant.pk).update(link_generation=F("link_generation") + 1)
    events.record(kind="links_revoked", participant=participant, by=by, data={"reason": reason})


@transaction.atomic
def replace_link(*, participant: Participant, by: User | None) -> str:
    """End a participant's personal links, and return a new link's token.

    Cookies end, too. The token is not stored and cannot be retrieved again.

    Raises:
        Conflict: The participant has nothing to go on with.
    """
    rows = Participant.objects.filter(pk=participant.pk, status=Participant.Status.ACTIVE)
    if not rows.update(link_generation=F("link_generation") + 1):
        raise Conflict(say("Only a participant in progress can have a new link."))
    participant.refresh_from_db(fields=["link_generation"])
    events.record(kind="link_replaced", participant=participant, by=by)
    return resume_token(participant)


def _find_same_participant(link: EntryLink, public_id: str) -> Participant | None:
    """Return the participant whom the same consent page created before."""
    same = (
        Participant.objects.select_related("condition", "version__study")
        .defer("version__frozen", "version__study__definition")
        .filter(public_id=public_id)
        .first()
    )
    if same is not None and same.link_id != link.pk:
        raise NotAdmitted(_("This page belongs to another link. Please open your study link again."))
    return same


def _claim(link: EntryLink, now: datetime) -> None:
    """Use up a single-use link; only one of two simultaneous visitors gets it."""
    if not link.single_use:
        return
    if not EntryLink.objects.filter(pk=link.pk, used_at__isnull=True).update(used_at=now):
        raise NotAdmitted(str(REFUSALS["link_used"]))
    link.used_at = now


def enter_stage(participant: Participant, stage: Stage, now: datetime) -> None:
    """Take a participant to a stage; assign a condition after the checks.

    Participants who fail a check are never assigned, unless it is about instructions that differ between
    conditions: those can be shown after the assignment only. The version must be locked.
    """
    content = load_frozen_study(participant.version)
    is_check = stage == Stage.SCREENING or (
        stage in (Stage.INSTRUCTIONS, Stage.COMPREHENSION) and isinstance(content.instructions, str)
    )
    if not (is_check or participant.group or _assign(participant, now)):
        end(participant=participant, outcome=Outcome.FULL)
        return
    if stage == Stage.PRE_SURVEY and not build_part_pages(
        content, "pre_survey", build_viewer(content, participant)
    ):
        stage = Stage.ITEMS  # none of its questions is about a condition that the participant sees
    if participant.stage != stage:
        participant.stage = stage
        participant.save(update_fields=["stage"])
    if stage != Stage.ITEMS:
        StageResponse.objects.create(participant=participant, stage=stage)


def check_room(version: StudyVersion, mode: str) -> None:
    """Check that a version admits one more participant.

    Only while the version is locked does this hold a moment later.

    Raises:
        Full: All places are held, or no condition has room.
    """
    if not (_has_place(version, mode) and _free_groups(version, mode)):
        raise Full(str(REFUSALS["study_full"]))


def _has_place(version: StudyVersion, mode: str) -> bool:
    """Return whether a version admits another participant.

    A place is held from the consent to the end; one who fails a check, leaves, times out or returns the
    submission gives it back. Only one who timed out and comes back can make more complete than were to come.
    """
    content = load_frozen_study(version)
    if content.participants is None or mode != Mode.LIVE:
        return True
    held = match_counted_participants(content.stale_after_minutes, timezone.now())
    return Participant.objects.filter(held, version=version, mode=mode).count() < content.participants


def _open_groups(version: StudyVersion) -> dict[str, list[Condition]]:
    """Return the groups whose conditions are all open, in order."""
    content = load_frozen_study(version)
    groups: dict[str, list[Condition]] = {}
    for condition in Condition.objects.filter(version=version):
        groups.setdefault(content.condition(condition.name).group or condition.name, []).append(condition)
    return {
        name: conditions
        for name, conditions in groups.items()
        if all(condition.is_open for condition in conditions)
    }


def _free_groups(version: StudyVersion, mode: str) -> dict[str, list[Condition]]:
    """Return the open groups that have room for another participant.

    Participants are counted only if a quota is set.
    """
    groups = _open_groups(version)
    if not any(condition.quota is not None for conditions in groups.values() for condition in conditions):
        return groups
    return _filter_below_quota(groups, _count(version, mode, timezone.now()), mode)


def _filter_below_quota(
    groups: dict[str, list[Condition]], counted: Mapping[str, Mapping[tuple[int, int], int]], mode: str
) -> dict[str, list[Condition]]:
    """Return the groups that are below the quota of their conditions.

    Only live participants count against quotas.
    """
    if mode != Mode.LIVE:
        return groups
    held = {name: sum(counted.get(name, {}).values()) for name in groups}
    return {name: conditions for name, conditions in groups.items() if _has_room(conditions, held[name])}


def _has_room(conditions: Sequence[Condition], held: int) -> bool:
    """Return whether a group of conditions may hold another participant."""
    return all(condition.quota is None or held < condition.quota for condition in conditions)


def _assign(participant: Participant, now: datetime) -> bool:
    """Choose group and order of a participant, and create the pages.

    Returns False if no group has room.

    The version must be locked.
    """
    version = participant.version
    content = load_frozen_study(version)
    assert content.order_seed is not None  # only an imported study has none, and it is never open
    counted = _count(version, participant.mode, now)
    opened = _open_groups(version)
    groups = _filter_below_quota(opened, counted, participant.mode)
    if not groups:
        return False
    seed = assignment.derive_seed(content.order_seed, participant.public_id)
    participant.assignment_counts = {name: sum(counted.get(name, {}).values()) for name in groups}
    participant.group = assignment.choose(
        list(groups),
        participant.assignment_counts,
        {name: conditions[0].weight for name, conditions in groups.items()},
        seed=seed,
        block=content.assignment_block,
    )
    conditions = groups[participant.group]
    cells = counted.get(participant.group, {})
    row, rotation = _choose_cell(content, len(conditions), cells, seed)
    participant.condition = conditions[0] if len(conditions) == 1 else None
    participant.order_row, participant.rotation = row, rotation
    participant.order_seed, participant.assigned_at = seed, now
    participant.save(
        update_fields=[
            *("assignment_counts", "group", "condition", "order_row", "rotation"),
            *("order_seed", "assigned_at"),
        ]
    )
    _lay_out(participant, conditions, content)
    record(participant, "assigned", {"group": participant.group, "order_row": row, "rotation": rotation})
    _announce_quotas(participant, opened, counted)
    return True


def _choose_cell(
    content: FrozenStudy, conditions: int, counts: Mapping[tuple[int, int], int], seed: int
) -> tuple[int | None, int | None]:
    """Return the row and the rotation of a participant.

    They are None for one condition.
    """
    if isinstance(content.task, Preference):
        return assignment.choose_cell(pairs.ROWS, pairs.count_rotations(conditions), counts, seed=seed)
    if conditions == 1:
        return None, None
    rows = len(assignment.build_condition_orders(conditions))
    return assignment.choose_cell(rows, conditions, counts, seed=seed)


def _announce_quotas(
    participant: Participant,
    groups: Mapping[str, Sequence[Condition]],
    counted: Mapping[str, Mapping[tuple[int, int], int]],
) -> None:
    """Announce the quotas that an assignment filled.

    ``counted`` does not count it yet; ``groups`` are all that are open.
    """
    conditions = groups[participant.group]
    if participant.mode != Mode.LIVE or all(condition.quota is None for condition in conditions):
        return
    held = {name: sum(counted.get(name, {}).values()) for name in groups}
    held[participant.group] += 1
    webhooks.announce_full(
        participant.version.study,
        [
            condition
            for condition in conditions
            if condition.quota is not None and held[participant.group] >= condition.quota
        ],
        all_groups=None if any(_has_room(groups[name], held[name]) for name in groups) else groups.values(),
    )


def lock_version(version: StudyVersion) -> None:
    """Lock a version, so that concurrent assignments run one after the other."""
    StudyVersion.objects.select_for_update(no_key=True).only("pk").get(pk=version.pk)


def _count(version: StudyVersion, mode: str, now: datetime) -> dict[str, dict[tuple[int, int], int]]:
    """Count participants of a mode by group and cell.

    Those who completed count, and active ones who are neither stale nor returned by the platform.
    """
    counted = Q(mode=mode) & match_counted_participants(load_frozen_study(version).stale_after_minutes, now)
    rows = (
        Participant.objects.filter(version=version)
        .exclude(group="")
        .values_list("group", "order_row", "rotation")
        .annotate(counted=Count("pk", filter=counted))
    )
    counts: dict[str, dict[tuple[int, int], int]] = {}
    for group, row, rotation, n in rows:
        counts.setdefault(group, {})[row or 0, rotation or 0] = n
    return counts


def _lay_out(participant: Participant, conditions: Sequence[Condition], content: FrozenStudy) -> None:
    """Create the trials in this participant's order, and the post survey."""
    keys = map_item_keys(participant.version)
    if isinstance(content.task, Preference):
        _insert_pages(participant, content, *_build_preference_trials(participant, conditions, content))
        return
    practice = [
        Trial(item_id=keys[item.id], condition=conditions[index % len(conditions)])
        for index, item in enumerate(content.practice)
    ]
    if isinstance(content.task, Simulation):
        trials = _lay_out_block_trials(participant, conditions[0], content, content.task)
    else:
        trials = _lay_out_trials(participant, conditions, content)
    _insert_pages(participant, content, practice, trials)


def _lay_out_trials(
    participant: Participant, conditions: Sequence[Condition], content: FrozenStudy
) -> list[Trial]:
    """Return the trials of a participant in order, not stored yet."""
    keys = map_item_keys(participant.version)
    order = assignment.lay_out(
        len(content.items),
        len(conditions),
        participant.order_row or 0,
        participant.rotation or 0,
        blocked=content.condition_order == "blocked",
        seed=participant.order_seed or 0,
    )
    return [
        Trial(item_id=keys[content.items[item].id], condition=conditions[number]) for item, number in order
    ]


def _lay_out_block_trials(
    participant: Participant, condition: Condition, content: FrozenStudy, task: Simulation
) -> list[Trial]:
    """Return the trials of a simulation in order, not stored yet."""
    keys = map_item_keys(participant.version)
    shown = content.condition(condition.name).shown
    right = [bool(shown[item.id].correct) for item in content.items]
    order = lay_out_blocks(right, task.blocks.sizes, seed=participant.order_seed or 0)
    return [
        Trial(item_id=keys[content.items[item].id], condition=condition, block=block) for item, block in order
    ]


def _build_preference_trials(
    participant: Participant, conditions: Sequence[Condition], content: FrozenStudy
) -> tuple[list[Trial], list[Trial]]:
    """Return the practice trials and the trials of a preference study."""
    keys = map_item_keys(participant.version)

    def trial(number: int, item: str) -> Trial:
        left, right = pairs.choose_sides(
            number, len(conditions), participant.order_row or 0, participant.rotation or 0
        )
        return Trial(item_id=keys[item], condition=conditions[left], other_condition=conditions[right])

    practice = [trial(number, item.id) for number, item in enumerate(content.practice)]
    order = assignment.draw_permutation(len(content.items), seed=participant.order_seed or 0)
    return practice, [trial(number, content.items[number].id) for number in order]


def _insert_pages(
    participant: Participant, content: FrozenStudy, practice: Sequence[Trial], trials: Sequence[Trial]
) -> None:
    """Insert the pages of a participant, with attention items at their places."""
    keys = map_item_keys(participant.version)
    checks = {row.position: Trial(item_id=keys[row.id]) for row in content.attention}
    pages = [*practice, *assignment.interleave(trials, checks)]
    for position, trial in enumerate(pages, start=1):
        trial.participant, trial.position = participant, position
    insert(*pages)
    SurveyResponse.objects.create(participant=participant)


# Transactions lock rows in the order version, participant, page, so that they cannot deadlock
# (docs/adr/0012-order-of-locks.md).


def select_active_participant() -> QuerySet[Participant]:
    """Return the participant of a slot if they are active."""
    return Participant.objects.filter(
        pk=make_slot("participant", Participant), status="active", anonymised_on__isnull=True
    )


_ON_THEIR_WAY = Prepared(lambda: select_active_participant().select_for_update(no_key=True).only("pk"))


def hold(participant: Participant) -> bool:
    """Lock a participant who is active.

    Returns False if the participant has ended or withdrew, for example in another tab.
    """
    return _ON_THEIR_WAY.exists(participant=participant.pk)


@transaction.atomic
def end(*, participant: Participant, outcome: Outcome) -> None:
    """End an active participant's part before its last page.

    Raises:
        ForbiddenTransition: it ended already.
    """
    now = timezone.now()
    participant.status = states.find_next_status(states.PARTICIPANT, "end", participant.status)
    participant.outcome = outcome
    participant.ended_at = participant.last_seen_at = now
    participant.save(update_fields=["status", "outcome", "ended_at", "last_seen_at"])
    record(participant, "ended", {"outcome": outcome.value})


def make_code(length: int) -> str:
    """Return a random code of letters and digits that are hard to confuse."""
    return "".join(secrets.choice(_CODE_ALPHABET) for _position in range(length))


def record(participant: Participant, kind: str, data: dict[str, Any]) -> None:
    """Log an event of a participant."""
    events.record(kind=kind, participant=participant, data=data)

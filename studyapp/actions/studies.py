"""Write studies: definitions, launches that freeze a version, status."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.db.models import Max

from accounts.models import User, Workspace
from foundation.blank_texts import is_blank
from foundation.messages import say
from foundation.validation_messages import FORMS
from studyapp.actions import events
from studyapp.actions.drafts import replace_draft
from studyapp.actions.running import restore_study
from studyapp.definition.frozen.freezing import Shown
from studyapp.definition.schema import StudyDefinition
from studyapp.errors import StudyRefused
from studyapp.models import Condition, Item, JudgedAnswer, LaunchDecision, Stimulus, Study, StudyVersion
from studyapp.queries.design.correctness import (
    EXACT_MATCH,
    GOLD,
    Answer,
    determine_verdict,
    find_decisions,
    find_missed_answers_of_design,
)
from studyapp.queries.design.designs import Design, build_design
from studyapp.queries.design.item_pools import PlannedCondition
from studyapp.queries.design.launches import NeedsDecision, OpenCheck, open_checks, plan_launch
from studyapp.rules import states
from studyapp.rules.launch_checks import LONGEST_REASON, SHORTEST_REASON
from studyapp.studio.drafts import open_draft


@transaction.atomic
def create_study(*, definition: StudyDefinition, workspace: Workspace, by: User | None) -> Study:
    """Create a draft study, or replace the definition of an existing one.

    Versions stay as they are. The same definition again changes nothing; another one becomes a revision of
    the draft.

    Raises:
        StudyRefused: something that the definition refers to is missing, or the name belongs to a study of
            another workspace; nothing is stored then.
    """
    build_design(definition, workspace)
    draft = definition.model_dump(mode="json")
    study, is_new = Study.objects.select_for_update(no_key=True).get_or_create(
        slug=definition.study,
        defaults={"workspace": workspace, "title": definition.title, "definition": draft, "created_by": by},
    )
    if study.workspace_id != workspace.pk:
        raise StudyRefused(("study",), "a study with this name already exists; choose another name")
    if not is_new and study.definition == draft:
        return study
    if is_new:
        events.record(kind="study_created", study=study, by=by)
    else:
        replace_draft(study=study, draft=open_draft(draft), by=by)
    return study


@transaction.atomic
def launch_study(
    *, study: Study, by: User | None, accept: Mapping[str, str] = MappingProxyType({})
) -> StudyVersion:
    """Freeze the draft into a version and open the study.

    If the newest version holds the same content, it stays the newest.

    Args:
        study: The study.
        by: The person, None for the shell.
        accept: Decisions to launch although a check is open: the reason by the name of the check. Those that
            turn out to be unnecessary are not stored.

    Raises:
        StudyRefused: something that the definition refers to is missing, a check before the launch refuses
            it, or the content is that of a version replaced since.
        NeedsDecision: a check is open and nobody has decided to launch all the same.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    plan = plan_launch(study)
    checks = open_checks(study, plan)
    for name, reason in accept.items():
        checks = decide(study=study, plan=plan, checks=checks, name=name, reason=reason, by=by)
    if undecided := [check for check in checks if check.decision is None]:
        raise NeedsDecision(undecided)
    existing = _find_same_version(study, plan)
    if existing is not None and study.status == Study.Status.OPEN:
        return existing  # somebody else launched it at the same moment
    version = existing or freeze(study=study, plan=plan, by=by)
    version.decisions.add(*(check.decision for check in checks if check.decision))
    _move(study, "launch", by)
    data: dict[str, Any] = {"version": version.number, "hash": version.hash}
    if checks:
        data["decisions"] = {check.name: check.decision.reason for check in checks if check.decision}
    events.record(kind="study_launched", study=study, by=by, data=data)
    Study.every.filter(rehearsal_of=study).update(status=Study.Status.CLOSED)
    return version


@transaction.atomic
def accept_check(*, study: Study, check: str, reason: str, by: User | None) -> None:
    """Record the decision to launch the draft although a check is open.

    Raises:
        StudyRefused: the draft cannot be launched anyway, there is no such check, or the reason is too short.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    plan = plan_launch(study)
    checks = open_checks(study, plan)
    decide(study=study, plan=plan, checks=checks, name=check, reason=reason, by=by)


def decide(
    *, study: Study, plan: Design, checks: Sequence[OpenCheck], name: str, reason: str, by: User | None
) -> list[OpenCheck]:
    """Return the open checks with a decision on one of them.

    It is stored if the check is open and has none yet. The study must be locked. Raises as `accept_check`.
    """
    names = LaunchDecision.Check.values
    if name not in names:
        message = say(
            "unknown check %(check)r; checks that take a decision: %(checks)s",
            check=name,
            checks=", ".join(names),
        )
        raise StudyRefused(("accept",), message)
    if is_blank(reason):
        raise StudyRefused(("accept", name), say(FORMS["blank"]))
    if not SHORTEST_REASON <= len(reason.strip()) <= LONGEST_REASON:
        message = say(
            "the reason for %(check)s needs %(least)s to %(most)s characters",
            check=name,
            least=SHORTEST_REASON,
            most=LONGEST_REASON,
        )
        raise StudyRefused(("accept", name), message)
    decided = []
    for check in checks:
        if check.name == name and check.decision is None:
            content_hash = plan.content.hash()
            decision = LaunchDecision.objects.create(
                study=study,
                check_name=name,
                reason=reason.strip(),
                facts=list(check.facts),
                hash=content_hash,
                made_by=by,
            )
            data = {"check": name, "reason": decision.reason, "hash": content_hash}
            events.record(kind="check_accepted", study=study, by=by, data=data)
            check = replace(check, decision=decision)
        decided.append(check)
    return decided


@transaction.atomic
def change_status(*, study: Study, act: str, by: User | None) -> Study:
    """Change the status of a study by an act of `STATUS_EVENTS`, and log it.

    While a study is paused or closed, nobody new is admitted; participants in progress may finish.

    Raises:
        ForbiddenTransition: the act does not fit the present status.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    _move(study, act, by)
    events.record(kind=STATUS_EVENTS[act], study=study, by=by)
    return study


STATUS_EVENTS = {
    "pause": "study_paused",
    "resume": "study_resumed",
    "close": "study_closed",
    "reopen": "study_reopened",
}
pause_study, resume_study = partial(change_status, act="pause"), partial(change_status, act="resume")
close_study, reopen_study = partial(change_status, act="close"), partial(change_status, act="reopen")


def _move(study: Study, act: str, by: User | None) -> None:
    """Change the status; a study that admits people leaves the archive."""
    study.status = states.find_next_status(states.STUDY, act, study.status)
    study.save(update_fields=["status"])
    if study.status == Study.Status.OPEN:
        study.archived_at = restore_study(study=study, by=by).archived_at


def _find_same_version(study: Study, plan: Design) -> StudyVersion | None:
    """Return the newest version if it holds the same content.

    An older version cannot become the newest again.
    """
    versions = study.versions.defer("frozen")
    same = versions.filter(hash=plan.content.hash()).first()
    newest = versions.order_by("-number").first()
    if same is None or newest is None or same.pk == newest.pk:
        return same
    raise StudyRefused(
        (),
        "this is what version %(number)s holds, which version %(newest)s has replaced; "
        "to run it again, change something, for example order_seed",
        number=same.number,
        newest=newest.number,
    )


def freeze(*, study: Study, plan: Design, by: User | None) -> StudyVersion:
    """Store the content of a design as the next version of a study."""
    last = study.versions.aggregate(last=Max("number"))["last"] or 0
    version = StudyVersion.objects.create(
        study=study,
        number=last + 1,
        hash=plan.content.hash(),
        frozen=plan.content.canonical(),
        frozen_by=by,
    )
    items = _freeze_items(version, plan)
    judged = find_decisions(find_missed_answers_of_design(plan))
    for position, planned in enumerate(plan.conditions, start=1):
        condition = _create_condition(version, position, planned)
        if not planned.definition.advice:
            continue
        shown = plan.content.condition(condition.name).shown
        Stimulus.objects.bulk_create(
            _build_stimulus(condition, item, shown[item.external_id], judged) for item in items
        )
    return version


def _freeze_items(version: StudyVersion, plan: Design) -> list[Item]:
    """Store items, practice items and attention items.

    Returns the first two kinds, which the conditions show.
    """
    questions = [
        *((question, Item.Kind.ITEM) for question in plan.questions),
        *((question, Item.Kind.PRACTICE) for question in plan.practice),
    ]
    items = [
        Item(
            version=version,
            kind=kind,
            external_id=question.external_id,
            question=question,
            text=question.text,
            gold_answer=question.answer,
            context=question.context,
        )
        for question, kind in questions
    ]
    checks = [
        Item(
            version=version,
            kind=Item.Kind.ATTENTION,
            external_id=row.id,
            text=row.text,
            gold_answer=row.gold_answer,
            context=row.context,
        )
        for row in plan.content.attention
    ]
    for position, item in enumerate((*items, *checks), start=1):
        item.position = position
    Item.objects.bulk_create([*items, *checks])
    return items


def _create_condition(version: StudyVersion, position: int, planned: PlannedCondition) -> Condition:
    return Condition.objects.create(
        version=version,
        position=position,
        name=planned.definition.name,
        label=planned.definition.label,
        system=planned.run.system if planned.run else None,
        run=planned.run,
        weight=planned.definition.weight,
        quota=planned.definition.quota,
        gives_advice=planned.definition.advice,
    )


def _build_stimulus(
    condition: Condition, item: Item, shown: Shown, judged: Mapping[Answer, JudgedAnswer]
) -> Stimulus:
    """Return the stimulus of a condition for an item.

    The gold answer is correct; the correctness of a system's answer is that of `verdict`.
    """
    assert shown.answer is not None  # a design shows something everywhere
    assert item.question is not None
    judgement = determine_verdict(item.question, shown.answer, judged)
    is_gold = condition.is_ground_truth
    return Stimulus(
        condition=condition,
        item=item,
        shown_answer=shown.answer,
        facts=shown.facts,
        exact_match=judgement.exact_match,
        answer_f1=judgement.f1,
        system_correct=is_gold or judgement.is_correct,
        judged_by=GOLD if is_gold else judgement.source,
        decision=None if is_gold or judgement.source == EXACT_MATCH else judgement.row,
    )

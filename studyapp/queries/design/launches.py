"""Reads before a launch: the checklist, and the decisions it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from django.db.models import Count, Q
from django.utils import timezone

from foundation.messages import Message, say
from foundation.translated_messages import translate_text
from studyapp.definition.conditions import group_conditions
from studyapp.definition.schema import StudyDefinition
from studyapp.definition.tasks import Preference
from studyapp.definition.yaml_document import Location
from studyapp.errors import StudyRefused
from studyapp.models import LaunchDecision, Mode, Participant, Study
from studyapp.queries.design.correctness import ONE_JUDGE, list_shown_answers
from studyapp.queries.design.designs import Design, build_design
from studyapp.queries.design.drafts import Preview, preview_draft, read_current_draft, read_definition
from studyapp.rules.launch_checks import REFUSING, check_of, launch_refusals
from studyapp.studio.drafts import parse_draft

CHECK = LaunchDecision.Check


@dataclass(frozen=True)
class OpenCheck:
    """A check that needs a decision, and the decision if there is one.

    ``facts`` are what is open.
    """

    name: str
    message: Message
    facts: tuple[str, ...]
    decision: LaunchDecision | None


class NeedsDecision(StudyRefused):
    """A launch needs decisions that nobody has recorded."""

    def __init__(self, checks: Sequence[OpenCheck]) -> None:
        self.checks = checks
        if len(checks) == 1:
            message = say(
                "launching needs a recorded decision on %(check)s: %(message)s",
                check=checks[0].name,
                message=checks[0].message,
            )
        else:
            message = say(
                "launching needs recorded decisions on %(check)s and %(other)s: %(message)s %(more)s",
                check=checks[0].name,
                other=checks[1].name,
                message=checks[0].message,
                more=checks[1].message,
            )
        super().__init__(("accept", checks[0].name), message)


@dataclass(frozen=True)
class CheckState:
    """A line of the checklist before a launch.

    ``messages`` and ``location`` say what to do: one sentence, and the field to change. A check is waiting
    while the draft lacks what it reads.
    """

    name: str
    state: Literal["done", "refused", "undecided", "decided", "waiting"]
    message: str
    location: Location = ()
    decision: LaunchDecision | None = None


@dataclass(frozen=True)
class Rehearsed:
    """The numbers of bots and people who completed a rehearsal of a draft."""

    bots: int = 0
    people: int = 0


def plan_launch(study: Study) -> Design:
    """Return what a launch of the draft would freeze.

    Raises:
        StudyRefused: the draft is not complete, something that it refers to is missing, or a check refuses
            it.
    """
    definition = read_definition(study)
    plan = build_design(definition, study.workspace)
    for refusal in launch_refusals(definition, timezone.localdate()):
        raise StudyRefused(refusal.location, refusal.message)
    return plan


def open_checks(study: Study, plan: Design) -> list[OpenCheck]:
    """Return the checks that need a decision before a launch of a design."""
    content_hash = plan.content.hash()
    shown = list_shown_answers(plan)
    near = [answer for answer in shown if answer.verdict.is_open]
    checks: list[tuple[str, Message, tuple[str, ...]]] = []
    if near and not isinstance(plan.content.task, Preference):  # of two answers, none is judged
        message = say(
            "%(near)s of %(shown)s shown answers resemble the gold answer, and nobody judged them: they "
            "count as wrong.",
            near=len(near),
            shown=len(shown),
        )
        checks.append((CHECK.JUDGING, message, tuple(sorted({answer.key for answer in near}))))
    done = count_rehearsals(study, content_hash)
    if not (done.bots or done.people):
        checks.append((CHECK.REHEARSAL, say("Nobody rehearsed this draft."), (content_hash,)))
    return [
        OpenCheck(str(name), text, facts, _find_decision(study, name, facts)) for name, text, facts in checks
    ]


def _find_decision(study: Study, name: str, facts: Sequence[str]) -> LaunchDecision | None:
    """Return the newest decision on a check that covers what is open now."""
    rows = study.decisions.filter(check_name=name).select_related("made_by").order_by("-pk")
    return next((row for row in rows if set(facts) <= set(row.facts)), None)


def count_rehearsals(study: Study, content_hash: str) -> Rehearsed:
    """Count those who completed a rehearsal of a draft with this content."""
    counts = Participant.objects.filter(
        version__study__rehearsal_of=study,
        version__hash=content_hash,
        status=Participant.Status.COMPLETED,
    ).aggregate(bots=Count("pk", filter=Q(mode=Mode.BOT)), people=Count("pk", filter=~Q(mode=Mode.BOT)))
    return Rehearsed(**counts)


def build_checklist(study: Study, seen: Preview | None = None) -> list[CheckState]:
    """Return the checklist of a draft, in the active language.

    ``seen`` is the look at the present draft, if it was taken already.
    """
    draft = read_current_draft(study).draft
    problems = (seen or preview_draft(draft, study.workspace)).problems
    definition = parse_draft(draft)
    rows = []
    for name in REFUSING:
        own = [problem for problem in problems if check_of(problem.location) == name]
        rows += [CheckState(name, "refused", problem.message, problem.location) for problem in own]
        if not own:
            rows.append(
                CheckState(name, "done", translate_text(_describe_passed_check(name, definition)))
                if definition
                else _build_waiting_check(name)
            )
    if definition is None or problems:
        return [*rows, *map(_build_waiting_check, CHECK.values)]
    plan = build_design(definition, study.workspace)
    unfinished = {check.name: check for check in open_checks(study, plan)}
    for check in CHECK.values:
        if check in unfinished:
            state: Literal["decided", "undecided"] = "decided" if unfinished[check].decision else "undecided"
            message = translate_text(unfinished[check].message)
            rows.append(CheckState(check, state, message, decision=unfinished[check].decision))
        else:
            text = _describe_judgements(plan) if check == CHECK.JUDGING else _describe_rehearsals(study, plan)
            rows.append(CheckState(check, "done", translate_text(text)))
    return rows


def _build_waiting_check(name: str) -> CheckState:
    return CheckState(name, "waiting", translate_text(say("The site checks this once no error is left.")))


def _describe_judgements(plan: Design) -> Message:
    shown = list_shown_answers(plan)
    judged = [
        answer
        for answer in shown
        if not answer.verdict.exact_match and answer.verdict.source != "exact match"
    ]
    if not shown:
        return say("No condition shows the answers of a system.")
    if not judged:
        return say("No shown answer resembles the gold answer without being equal to it.")
    return say(
        "Judged: %(n)s of %(shown)s shown answers, %(single)s of them by one judge alone.",
        n=len(judged),
        shown=len(shown),
        single=sum(answer.verdict.source == ONE_JUDGE for answer in judged),
    )


def _describe_rehearsals(study: Study, plan: Design) -> Message:
    done = count_rehearsals(study, plan.content.hash())
    return say(
        "Rehearsed. Completed by bots: %(bots)s, by people: %(people)s.",
        bots=done.bots,
        people=done.people,
    )


def _describe_passed_check(name: str, definition: StudyDefinition) -> Message:
    """Return the sentence of a check that refuses nothing."""
    match name:
        case "consent":
            return say("The consent holds no placeholder and no empty part.")
        case "retention":
            return _describe_retention(definition.privacy.retain_until)
        case "completion":
            if definition.completion.redirect_url or definition.recruitment:
                return say("Participants return with the code of their outcome.")
            return say("Participants see a code and are sent nowhere.")
        case "places":
            return _describe_admission(definition)
    return say("The draft is complete.")


def _describe_retention(day: date | None) -> Message:
    if day is None:
        return say("The site keeps personal data until somebody removes them.")
    return say("The site keeps personal data until %(day)s.", day=str(day))


def _describe_admission(definition: StudyDefinition) -> Message:
    participants, closes = _compute_admission_limit(definition), definition.closes
    if participants is None and closes is None:
        return say("Participants are admitted without a limit until somebody closes the study.")
    if participants is None:
        return say("Participants are admitted until %(day)s.", day=str(closes))
    if closes is None:
        return say("At most %(n)s participants are admitted.", n=participants)
    return say("At most %(n)s participants are admitted, until %(day)s.", n=participants, day=str(closes))


def _compute_admission_limit(definition: StudyDefinition) -> int | None:
    """Return the number of participants that limits allow; None without one."""
    # A group is full once one of its conditions is; without a quota in each group some are never full.
    of_groups = [
        min((condition.quota for condition in group if condition.quota is not None), default=None)
        for group in group_conditions(definition.design, definition.conditions).values()
    ]
    of_conditions = None if None in of_groups else sum(filter(None, of_groups))
    of_answers = (question.most_admitted for question in definition.screening)
    return min(filter(None, (definition.participants, of_conditions, *of_answers)), default=None)

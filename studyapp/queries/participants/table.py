"""Reads of participants for staff: the table, one participant's way."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, cast

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from foundation.database.days import measure_seconds
from foundation.errors import NotFound
from foundation.frozen_model import FrozenModel
from foundation.messages import say
from studyapp.definition.participation.suspicion_flags import Flag
from studyapp.definition.questions.question import Question
from studyapp.definition.task_designs.task_questions import list_all_questions
from studyapp.models import (
    Event,
    ManualExclusion,
    Participant,
    StageResponse,
    Study,
    StudyVersion,
    SurveyResponse,
    Trial,
)
from studyapp.queries.participants.excluded import find_excluded_people
from studyapp.queries.participants.flags import list_participant_flags, match_any_flag, match_flag
from studyapp.queries.question_pages import list_part_questions
from studyapp.queries.studies import load_frozen_study
from studyapp.rules.survey_pages import merge_answers

PAGE = 50
_SHOWN = ("version", "link", "condition", "exclusion")


class PeopleFilter(FrozenModel):
    """The participants that a table shows; an empty value lets all through.

    ``flag`` is a flag, or "any".
    """

    state: str = ""
    group: str = ""
    mode: str = ""
    link: int | None = None
    flag: str = ""
    excluded: bool | None = None


@dataclass(frozen=True)
class Person:
    """A participant in a table, with what follows from other rows.

    ``items`` is the number of items to answer, without practice and attention items, as
    ``row.items_submitted`` counts.
    """

    row: Participant
    state: str
    items: int
    flags: Sequence[Flag]

    @property
    def exclusion(self) -> ManualExclusion | None:
        """The exclusion by hand, if any."""
        return getattr(self.row, "exclusion", None)

    @property
    def minutes(self) -> float | None:
        """Minutes from consent to the end, None without both."""
        seconds = measure_seconds(self.row.consented_at, self.row.completed_at or self.row.ended_at)
        return None if seconds is None else seconds / 60


@dataclass(frozen=True)
class PeoplePage:
    """A part of the table.

    ``after`` is the key to continue with; None at the end, and if pages have numbers.
    """

    rows: list[Person]
    total: int
    after: int | None
    has_more: bool


def read_people_page(
    study: Study,
    chosen: PeopleFilter,
    *,
    before: int | None = None,
    order: Sequence[Any] = (),
    number: int = 1,
) -> PeoplePage:
    """Return the participants of a table, the latest first, from a key on.

    With an order of their own they come by the number of the page, from 1.
    """
    rows = filter_people(study, chosen)
    total = rows.count()
    if before is not None and not order:
        rows = rows.filter(pk__lt=before)
    start = (number - 1) * PAGE if order else 0
    rows = rows.select_related(*_SHOWN).defer("version__frozen").order_by(*(order or ["-pk"]))
    people = list(rows[start : start + PAGE + 1])
    flags = list_participant_flags(Participant.objects.filter(pk__in=[row.pk for row in people]))
    shown = [_build_person(row, flags) for row in people[:PAGE]]
    has_more = len(people) > PAGE
    return PeoplePage(shown, total, people[PAGE - 1].pk if has_more and not order else None, has_more)


def filter_people(study: Study, chosen: PeopleFilter) -> QuerySet[Participant]:
    """Return the participants that a filter lets through."""
    rows = Participant.objects.filter(version__study=study)
    if chosen.state:
        rows = rows.filter(_match_state(study, chosen.state))
    if chosen.group:
        rows = rows.filter(group=chosen.group)
    if chosen.mode:
        rows = rows.filter(mode=chosen.mode)
    if chosen.link is not None:
        rows = rows.filter(link=chosen.link)
    if chosen.flag:
        rows = rows.filter(match_any_flag() if chosen.flag == "any" else match_flag(cast(Flag, chosen.flag)))
    if chosen.excluded is not None:
        out = Q(pk__in=find_excluded_people(study).values("pk"))
        rows = rows.filter(out if chosen.excluded else ~out)
    return rows


def _match_state(study: Study, state: str) -> Q:
    active = Q(status=Participant.Status.ACTIVE)
    if state in ("completed", "withdrawn"):
        return Q(status=state)
    if state == "returned":
        return active & Q(returned_at__isnull=False)
    if state in ("active", "stale"):
        fresh = reduce(or_, map(_is_fresh, study.versions.defer("frozen")), Q(pk__in=()))
        return active & Q(returned_at__isnull=True) & (fresh if state == "active" else ~fresh)
    return Q(status=Participant.Status.ENDED, outcome=state)


def _is_fresh(version: StudyVersion) -> Q:
    minutes = load_frozen_study(version).stale_after_minutes
    since = Q() if minutes is None else Q(last_seen_at__gte=timezone.now() - timedelta(minutes=minutes))
    return Q(version=version) & since


def find_participant_state(participant: Participant) -> str:
    """Return the state of a participant, such as stale or screened_out."""
    if participant.status == Participant.Status.ENDED:
        return participant.outcome
    if participant.status != Participant.Status.ACTIVE:
        return participant.status
    if participant.returned_at is not None:
        return "returned"
    minutes = load_frozen_study(participant.version).stale_after_minutes
    seen = participant.last_seen_at
    if minutes is None:
        return "active"
    return "active" if seen and seen >= timezone.now() - timedelta(minutes=minutes) else "stale"


def _build_person(row: Participant, flags: Mapping[int, Sequence[Flag]]) -> Person:
    return Person(
        row, find_participant_state(row), len(load_frozen_study(row.version).items), flags.get(row.pk, ())
    )


def find_person(study: Study, public_id: str) -> Person:
    """Return a participant of a study.

    Raises:
        NotFound: The study has no participant with this ID.
    """
    rows = Participant.objects.filter(version__study=study, public_id=public_id)
    row = rows.select_related(*_SHOWN, "version__study").defer("version__frozen").first()
    if row is None:
        raise NotFound(
            say("%(slug)s has no participant with the ID %(public_id)r", slug=study.slug, public_id=public_id)
        )
    return _build_person(row, list_participant_flags(Participant.objects.filter(pk=row.pk)))


@dataclass(frozen=True)
class Step:
    """A step of a participant's way.

    ``kind`` is "event" or the kind of the page: a stage, "item" or "survey". Of an item, ``title`` is the ID
    and ``question`` the text. ``page`` has the answers, and ``seconds`` the time that it took on the
    server's clock.
    """

    at: datetime | None
    kind: str
    title: str = ""
    question: str = ""
    event: Event | None = None
    page: Trial | StageResponse | SurveyResponse | None = None
    answers: list[tuple[str, str]] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """Seconds from the first sight of the page to its submission."""
        page = self.page
        return None if page is None else measure_seconds(page.shown_at, page.submitted_at)


# Events that a page of the way says already.
_OF_PAGES = (
    "item_shown",
    "item_submitted",
    "stage_shown",
    "stage_submitted",
    "survey_shown",
    "page_submitted",
)


def list_steps(person: Person) -> list[Step]:
    """Return the way of a participant in order of time.

    The answers of participants who withdrew are left out, as in every export.
    """
    row = person.row
    events = Event.objects.filter(participant=row).exclude(kind__in=_OF_PAGES).select_related("actor")
    steps = [Step(event.at, "event", event=event) for event in events]
    if row.status != Participant.Status.WITHDRAWN:
        steps += _list_page_steps(row)
    latest = max((step.at for step in steps if step.at is not None), default=timezone.now())
    return sorted(steps, key=lambda step: step.at or latest)


def _list_page_steps(row: Participant) -> Iterator[Step]:
    content = load_frozen_study(row.version)
    for page in StageResponse.objects.filter(participant=row, shown_at__isnull=False):
        answers = _list_answers(list_part_questions(content, page.stage), page)
        yield Step(page.shown_at, page.stage, page=page, answers=answers)
    seen = Q(shown_at__isnull=False) | Q(answers__isnull=False)
    trials = Trial.objects.filter(seen, participant=row).order_by("position")
    asked = [*list_all_questions(content.task, _), *content.item_questionnaire]
    for trial in trials.select_related("item", "condition", "other_condition"):
        item, answers = trial.item, _list_answers(asked, trial)
        yield Step(trial.shown_at, "item", item.external_id, item.text or "", page=trial, answers=answers)
    for survey in SurveyResponse.objects.filter(participant=row, shown_at__isnull=False):
        answers = _list_answers(content.post_survey, survey)
        yield Step(survey.shown_at, "survey", page=survey, answers=answers)


def _list_answers(
    questions: Sequence[Question], page: Trial | StageResponse | SurveyResponse
) -> list[tuple[str, str]]:
    """Return the questions of a page with their answers, by their labels."""
    given = page.answers or merge_answers(page.earlier)
    return [
        line
        for question in questions
        for line in (
            *(
                (part.text, _format_answer(part, given[part.key]))
                for part in question.parts
                if part.key in given
            ),
            *([(question.text, _("declined"))] if question.declined_key in given else []),
        )
    ]


def _format_answer(question: Any, answer: Any) -> str:
    is_yes_no = question.kind == "yes_no"
    labels = {"yes": _("Yes"), "no": _("No")} if is_yes_no else dict(question.choices)
    by_value = {value: labels.get(sent, sent) for sent, value in question.values.items()}
    if isinstance(answer, list):
        return ", ".join(str(by_value.get(value, value)) for value in answer)
    return str(by_value.get(answer, answer))


def list_groups(study: Study) -> list[str]:
    """Return the groups of conditions, those of the newest version first."""
    groups: dict[str, None] = {}
    for version in study.versions.defer("frozen").order_by("-number"):
        for condition in load_frozen_study(version).conditions:
            groups.setdefault(condition.group or condition.name)
    return list(groups)

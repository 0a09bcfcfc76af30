"""The pages of participants: one type, and one function that chooses.

The contexts need no participant, so the preview of the studio shows the same pages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from studyapp import link_tokens
from studyapp.actions import pages as actions
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.participation.recruitment import WayBack
from studyapp.definition.participation.suspicion_flags import HONEYPOT_FIELD
from studyapp.definition.questions.flow import Viewer
from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.task_designs.task_questions import ANSWER, INITIAL, list_task_pages
from studyapp.definition.tasks import Simulation
from studyapp.models import Outcome, Participant, Stage, StageResponse, SurveyResponse, Trial
from studyapp.queries.participants.recruitment import find_way_back
from studyapp.queries.question_pages import (
    PageName,
    build_part_pages,
    build_viewer,
    find_shown_page,
    find_time_limit,
    is_last_page,
    list_item_questions,
    measure_seconds_on_page,
    name_item_page,
)
from studyapp.queries.studies import (
    CurrentPage,
    find_current_page,
    find_image_slug,
    load_translated_study,
    name_trial_conditions,
)
from studyapp.rules.survey_pages import merge_answers
from studyapp.rules.time_limits import compute_time_left, has_run_out, is_too_late
from studyapp.web.forms.participants import (
    CLOCK_FIELDS,
    Row,
    build_rows,
    is_same_for_all,
    make_page_key,
    render_empty_questions,
    render_questions,
    select_wrong_rows,
)
from studyapp.web.html.comparison import render_comparison_once
from studyapp.web.html.stimulus import render_change_once, render_instructions, render_stimulus_once
from studyapp.web.simulated_pages import build_outcome_context, build_part_context, select_shown_parts


class TimeUp(NamedTuple):
    """The state of the time of a page.

    Answers that came too late are not stored.
    """

    has_run_out: bool
    is_too_late: bool


@dataclass(frozen=True)
class Page:
    """The page that a participant may see now.

    A request for another address is redirected to ``url``. ``next_url`` is a guess
    that costs no query; a wrong one is redirected. Pages without a form have no row.
    """

    participant: Participant
    url: str
    next_url: str = ""
    name: PageName | None = None
    row: StageResponse | Trial | SurveyResponse | None = None
    viewer: Viewer | None = None
    note_shown: Callable[[], object] = lambda: None
    submit: Callable[..., object] = lambda **_sent: None
    details: Callable[[], dict[str, Any]] = dict
    template: str = "studyapp/participant/page.html"

    @property
    def key(self) -> str:
        """The signed name of this page, which its form sends back."""
        return make_page_key(self.name, self.row.pk, self.number) if self.name and self.row else ""

    @property
    def number(self) -> int:
        """The number of this page in a part of several pages."""
        return self.row.page if self.row else 1

    @property
    def earlier(self) -> dict[str, Answer]:
        """The answers to earlier pages of the same part."""
        return {} if self.row is None else merge_answers(self.row.earlier)

    @cached_property
    def questions(self) -> list[Question]:
        """The questions of this page, as this participant sees them."""
        if self.name is None or self.viewer is None:
            return []
        content = load_translated_study(self.participant.version, self.participant.language)
        if isinstance(self.row, Trial):
            return list_item_questions(content, self.row, self.viewer, _)
        return find_shown_page(build_part_pages(content, self.name, self.viewer), self.number, self.earlier)[
            1
        ]

    @cached_property
    def is_shared(self) -> bool:
        """True if all participants of the viewer's conditions see this page alike."""
        content = load_translated_study(self.participant.version, self.participant.language)
        return self.name is not None and is_same_for_all(content, self.name)

    def show(self) -> None:
        """Store the time of the first view."""
        is_later_page = isinstance(self.row, Trial) and self.row.page > 1
        if self.row and (is_later_page or self.row.shown_at is None):
            self.note_shown()

    def check_time_limit(self, *, sent_at_the_end: bool) -> TimeUp:
        """Return whether the time of the page is over.

        ``sent_at_the_end`` says that the browser sent the page because it was.
        """
        if not isinstance(self.row, Trial):
            return TimeUp(False, False)
        limit = find_time_limit(load_translated_study(self.participant.version, ""), self.row)
        seconds = None if limit is None else measure_seconds_on_page(self.row, timezone.now())
        has = has_run_out(seconds, limit, sent_at_the_end=sent_at_the_end)
        return TimeUp(has, is_too_late(seconds, limit))

    def context(self, filled: Sequence[Row] | None = None) -> dict[str, Any]:
        """Return the template's context; ``filled`` is a form sent with errors."""
        mark = {"mark": self.participant.mode}
        if self.name is None or self.viewer is None:
            return mark | self.details()
        version, language = self.participant.version, self.participant.language
        if filled is None and self.is_shared:
            questions = render_empty_questions(version, self.name, language, self.viewer, self.number)
        else:
            asked = build_rows(self.questions, {}, {}) if filled is None else filled
            questions = render_questions(asked, find_image_slug(version))
        common = {
            "instructions": ""
            if self.name == "survey"
            else render_instructions(version, language, self._reader()),
            "page_key": self.key,
            "errors": tuple(select_wrong_rows(filled or [])),
            "resume_token": link_tokens.resume_token(self.participant),
            "site_url": settings.SITE_URL,
            **mark,
        }
        return (
            form_context(load_translated_study(version, language), self.name, questions)
            | common
            | self.details()
        )

    def _reader(self) -> Viewer:
        """Return what decides the instructions: all conditions of a participant."""
        return build_viewer(load_translated_study(self.participant.version, ""), self.participant)


@lru_cache(maxsize=4096)
def _address(slug: str, name: str, *arguments: str | int) -> str:
    return reverse(f"studyapp:{name}", args=[slug, *arguments])


def page_of(participant: Participant) -> Page:
    """Return the one page that a participant may see now."""
    content = load_translated_study(participant.version, participant.language)

    address = partial(_address, participant.version.study.slug)

    match find_current_page(participant):
        case CurrentPage(stage=StageResponse() as stage):
            name = cast("PageName", stage.stage)
            return Page(
                *(participant, address("stage", name), address("study"), name, stage),
                viewer=build_viewer(content, participant),
                note_shown=partial(actions.show_stage, page=stage),
                submit=partial(actions.submit_stage, page=stage),
                details=partial(stage_context, content, Stage(name), stage.attempt),
            )
        case CurrentPage(trial=Trial() as trial):
            is_last = trial.position >= len(content.practice) + content.pages
            next_url = address("survey") if is_last else address("item", trial.position + 1)
            if not is_last_page(content, trial):
                next_url = address("item", trial.position)
            return Page(
                *(participant, address("item", trial.position), next_url, "item", trial),
                viewer=build_viewer(content, participant, name_trial_conditions(trial)),
                note_shown=partial(actions.show_trial, trial=trial),
                submit=partial(actions.submit_trial, trial=trial),
                details=partial(_trial_context, content, trial),
            )
        case CurrentPage(survey=SurveyResponse() as survey):
            is_last = _is_last(content, survey)
            return Page(
                *(participant, address("survey"), address("done" if is_last else "survey"), "survey", survey),
                viewer=build_viewer(content, participant),
                note_shown=partial(actions.show_survey, participant=participant),
                submit=partial(actions.submit_survey, participant=participant, number=survey.page),
                details=partial(survey_context, content, is_last=is_last),
            )
        case CurrentPage(kind="done"):
            template = "studyapp/participant/done.html"
            details = partial(_end_context, content, participant)
            return Page(participant, address("done"), details=details, template=template)
    return Page(participant, address("study"))


def _trial_context(content: FrozenStudy, trial: Trial) -> dict[str, Any]:
    version, language = trial.participant.version, trial.participant.language
    item_id = trial.item.external_id
    page = name_item_page(content, trial)
    shows_condition, has_answer = select_shown_parts(content, page)
    names = name_trial_conditions(trial) if shows_condition and page != INITIAL else ()
    if len(names) > 1:
        stimulus = render_comparison_once(version, names, item_id=item_id, language=language)
    else:
        shown = "".join(names)
        stimulus = render_stimulus_once(
            version, condition=shown, item_id=item_id, language=language, has_answer=has_answer
        )
    context = item_context(content, trial.position, page, trial.block) | {"stimulus": stimulus}
    context["changed"] = render_change_once(version, item_id=item_id, language=language)
    if page == ANSWER and isinstance(content.task, Simulation):
        predicted = content.condition(names[0]).shown[item_id]
        context["outcome"] = build_outcome_context(content.task, merge_answers(trial.earlier), predicted)
    if (limit := find_time_limit(content, trial)) is not None:
        context["time_left"] = compute_time_left(measure_seconds_on_page(trial, timezone.now()), limit)
    return context


def _is_last(content: FrozenStudy, survey: SurveyResponse) -> bool:
    """Return whether no page can follow, whatever is answered."""
    return survey.page >= len(build_part_pages(content, "survey", build_viewer(content, survey.participant)))


def _end_context(content: FrozenStudy, participant: Participant) -> dict[str, Any]:
    has_withdrawn = participant.status == Participant.Status.WITHDRAWN
    return {
        "title": content.shown_title,
        "outcome": participant.outcome or Outcome.DONE,
        "has_withdrawn": has_withdrawn,
        "back": WayBack() if has_withdrawn else find_way_back(participant),
        "withdrawal_code": "" if has_withdrawn else participant.withdrawal_code or "",
    }


def form_context(content: FrozenStudy, name: PageName, questions: SafeString) -> dict[str, Any]:
    """Return the part of the context that all pages with a form share."""
    return {
        "title": content.shown_title,
        "steps": content.pages,
        "clocks": CLOCK_FIELDS,
        "honeypot": HONEYPOT_FIELD,
        "questions": questions,
        "kind": name,
    }


def stage_context(content: FrozenStudy, stage: Stage, attempt: int = 1) -> dict[str, Any]:
    """Return the context of a page before the items."""
    heading = {
        Stage.SCREENING: _("A few questions first"),
        Stage.INSTRUCTIONS: _("Your task"),
        Stage.COMPREHENSION: _("Is everything clear?"),
        Stage.PRE_SURVEY: _("Before you begin"),
    }[stage]
    tries = content.comprehension.tries if content.comprehension else 0
    return {
        "position": heading,
        "heading": heading,
        "submit_text": _("Continue"),
        "step": 0,
        "again": attempt > 1,
        "tries_left": tries - attempt + 1,
        "shows_instructions": stage == Stage.INSTRUCTIONS or attempt > 1,
    }


def item_context(content: FrozenStudy, position: int, page: str = "", block: str = "") -> dict[str, Any]:
    """Return the context of an item; practice items are counted apart.

    ``page`` is the name of the page of an item that has several, and ``block`` that of a simulation.
    """
    practice = len(content.practice)
    number = position - practice
    if number < 1:
        label = _("Practice %(n)d of %(all)d") % {"n": position, "all": practice}
    else:
        label = _("Question %(n)d of %(all)d") % {"n": number, "all": content.pages}
    pages = list_task_pages(content.task, block)
    if len(pages) > 1 and page:
        label = _("%(question)s, step %(n)d of %(all)d") % {
            "question": label, "n": pages.index(page) + 1, "all": len(pages),
        }  # fmt: skip
    return {
        "position": label,
        "step": max(number - 1, 0),
        "is_practice": number < 1,
        "submit_text": _("Continue") if page == ANSWER else _("Save and continue"),
        "item_page": page,
        "part": build_part_context(content, position),
        "time_left": None,
    }


def survey_context(content: FrozenStudy, *, is_last: bool = True) -> dict[str, Any]:
    """Return the context of a page after the last item."""
    return {
        "position": _("Last page") if is_last else _("Last pages"),
        "submit_text": _("Finish") if is_last else _("Continue"),
        "step": content.pages,
    }


def consent_context(content: FrozenStudy, language: str) -> dict[str, Any]:
    """Return the context of the consent page, which has no participant yet."""
    offered = list_offered_languages(content)
    return {
        "title": content.shown_title,
        "consent": content.consent,
        "instructions": "" if content.instructions_page else content.instructions_for(content.viewer([])),
        "language": language,
        "languages": offered if len(offered) > 1 else {},
    }


def list_offered_languages(content: FrozenStudy) -> dict[str, str]:
    """Return the names of the languages that study and site share, by code."""
    spoken = {code for code, _name in settings.LANGUAGES}
    return {
        code: translation.get_language_info(code)["name_local"]
        for code in content.languages
        if code in spoken or code == content.language
    }

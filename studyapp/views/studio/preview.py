"""Preview of participants' pages in a frame, of a draft or a version.

The templates are those of participants. A preview stores nothing, cannot be
submitted, and runs no script.
"""

from typing import Any, cast

from csp.constants import NONE, SELF
from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods

from accounts.policy_table import Act
from foundation.pages.paragraphs import paragraphs
from studyapp.definition.frozen.freezing import FrozenStudy
from studyapp.definition.participation.recruitment import OUTCOMES, Arrival, Outcome, WayBack
from studyapp.definition.questions.question import Answer, Question
from studyapp.definition.task_designs.blocks import LEARNING
from studyapp.definition.task_designs.comparing import COMPARISON
from studyapp.definition.task_designs.task_questions import (
    ANSWER,
    INITIAL,
    limit_of,
    list_check_questions,
    list_task_pages,
    list_task_questions,
    select_page_questions,
)
from studyapp.definition.tasks import Preference, Simulation
from studyapp.models import Stage, Study
from studyapp.policies import REFUSALS
from studyapp.queries.design.drafts import preview_draft, read_current_draft
from studyapp.queries.question_pages import PageName, build_part_pages
from studyapp.studio import sample
from studyapp.studio.steps import BY_NAME
from studyapp.views import participant_messages
from studyapp.views.access import study_page
from studyapp.views.participants.pages import (
    consent_context,
    form_context,
    item_context,
    stage_context,
    survey_context,
)
from studyapp.views.studio.forms import draft_sent
from studyapp.web.forms.participants import build_rows, render_questions
from studyapp.web.html.comparison import render_comparison
from studyapp.web.html.stimulus import render_change, render_stimulus
from studyapp.web.simulated_pages import build_outcome_context, find_learning_position, select_shown_parts

EXAMPLE_CODE = "EXAMPLE"


FRAME_CSP = {"frame-ancestors": [SELF], "form-action": [NONE], "script-src": [NONE]}


@csp_replace(FRAME_CSP)
@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Act.STUDY_EDIT)
@xframe_options_sameorigin
def page(request: HttpRequest, study: Study, step: str) -> HttpResponse:
    """Show a page of the draft with the unsaved fields of a step."""
    now = read_current_draft(study)
    draft = draft_sent(request, study, BY_NAME.get(step), now) if request.method == "POST" else now.draft
    content = preview_draft(draft, study.workspace).content
    sent = request.POST if request.method == "POST" else request.GET
    return render_preview(request, study, content, choices(content, sent, "preview_"))


def render_preview(
    request: HttpRequest, study: Study, content: FrozenStudy, chosen: dict[str, str]
) -> HttpResponse:
    """Render the page that `choices` chose."""
    with translation.override(chosen["language"]):
        name, context = _page(content.translate_into(chosen["language"]), study.slug, chosen)
        return render(request, f"studyapp/participant/{name}.html", context | {"mark": "preview"})


def _page(content: FrozenStudy, slug: str, chosen: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the template of a page and its context."""
    if chosen["page"] == "consent":
        return "consent", consent_context(content, chosen["language"])
    if (message := _message(content, slug, chosen["page"])) is not None:
        return "message", message
    if chosen["page"] in OUTCOMES:
        return "done", _build_end_context(content, chosen["page"])
    return "page", _form_page(content, slug, chosen)


def choices(content: FrozenStudy, wanted: Any, prefix: str = "") -> dict[str, str]:
    """Return the chosen page, condition, item and language, with defaults."""
    offered = {
        "page": [name for name, _name, _number in _pages(content)],
        "condition": [condition.name for condition in content.conditions],
        "other": [condition.name for condition in content.conditions],
        "item": [name for _name, rows in sample.items(content) for name, _text in rows],
        "language": content.languages,
    }
    chosen = {}
    for name, values in offered.items():
        value = wanted.get(f"{prefix}{name}", "")
        chosen[name] = value if value in values else "item" if name == "page" else values[0]
    if chosen["other"] == chosen["condition"]:
        chosen["other"] = next(
            (name for name in offered["other"] if name != chosen["other"]), chosen["other"]
        )
    return chosen


def _pages(content: FrozenStudy) -> list[tuple[str, str, int]]:
    """Return name, title and number of all pages; parts have up to several."""
    pages = []
    for name, title in sample.list_pages(content):
        last = 1
        if name in ("screening", "comprehension", "pre_survey", "survey"):
            viewers = [content.viewer([condition]) for condition in content.conditions]
            last = max(len(build_part_pages(content, cast("PageName", name), viewer)) for viewer in viewers)
        elif name in ("item", "practice"):
            last = len(list_task_pages(content.task, LEARNING if name == "item" else "")) or 1
        pages += [(name, title, 1), *((f"{name}.{n}", title, n) for n in range(2, last + 1))]
    return pages


def build_preview_form(content: FrozenStudy, chosen: dict[str, str]) -> dict[str, Any]:
    """Return what the form of a preview offers, and what it shows."""
    return {
        "chosen": chosen,
        "pages": _pages(content),
        "conditions": [
            (condition.name, condition.label or condition.name) for condition in content.conditions
        ],
        "are_compared": isinstance(content.task, Preference),
        "items": sample.items(content),
        "languages": content.languages,
    }


def _message(content: FrozenStudy, slug: str, page: str) -> dict[str, Any] | None:
    """Return a page for people who do not take part; None for other pages."""
    if page == "no_consent":
        return participant_messages.confirm_decline(slug, _build_way_back(content, "no_consent"))
    if page in REFUSALS:
        is_full = page in ("closed", "link_full")
        back = _build_way_back(content, "full") if is_full else WayBack()
        return participant_messages.explain_refusal(content.shown_title, str(REFUSALS[page]), back)
    if page == "no_link":
        return participant_messages.ask_for_link()
    if page == "withdrawn":
        return participant_messages.confirm_withdrawal(content.privacy.withdrawal)
    if page == "not_arrived" and content.recruitment is not None:
        parameter = content.recruitment.person_parameter
        return participant_messages.explain_bad_address(content.shown_title, "missing", parameter)
    return None


def _build_way_back(content: FrozenStudy, outcome: Outcome, own_code: str = "") -> WayBack:
    """Return the way back to the platform, with example IDs."""
    recruitment = content.recruitment
    if recruitment is None:
        return WayBack()
    arrival = Arrival(recruitment.platform, "PERSON", "STUDY", "SESSION")
    return recruitment.way_back(outcome, arrival, own_code)


def _build_end_context(content: FrozenStudy, outcome: Outcome) -> dict[str, Any]:
    """Return the context of the last page, with example codes and IDs."""
    own_code = EXAMPLE_CODE if outcome == "done" else ""
    back = _build_way_back(content, outcome, own_code)
    if not back.url and outcome == "done":
        code = back.code or own_code
        back = WayBack(code, (content.redirect_url or "").replace("{code}", code), back.platform)
    return {"title": content.shown_title, "outcome": outcome, "has_withdrawn": False, "back": back,
            "withdrawal_code": EXAMPLE_CODE}  # fmt: skip


def _form_page(content: FrozenStudy, slug: str, chosen: dict[str, str]) -> dict[str, Any]:
    """Return the context of a page with a form: stage, item or survey."""
    part, _dot, number = chosen["page"].partition(".")
    name = cast("PageName", "item" if part in ("item", "practice", "attention") else part)
    seen = [chosen["condition"], *([chosen["other"]] if isinstance(content.task, Preference) else [])]
    viewer = content.viewer([content.condition(condition) for condition in seen])
    pages = build_part_pages(content, name, viewer)
    asked = pages[int(number or 1) - 1] if len(pages) >= int(number or 1) else []
    context = form_context(content, name, render_questions(build_rows(asked, {}, {}), slug))
    context |= {"page_key": "", "resume_token": "...", "site_url": settings.SITE_URL}
    if name == "survey":
        return context | survey_context(content, is_last=int(number or 1) >= len(pages))
    context["instructions"] = paragraphs(content.instructions_for(viewer))
    if name != "item":
        return context | stage_context(content, Stage(name))
    positions = {
        row.id: position for position, row in enumerate((*content.practice, *content.items), start=1)
    }
    positions |= {row.id: len(content.practice) + row.position for row in content.attention}
    of_kind = {
        "practice": [row.id for row in content.practice],
        "attention": [row.id for row in content.attention],
    }
    ids = of_kind.get(part, [chosen["item"]])
    item_id = chosen["item"] if chosen["item"] in ids else ids[0]
    block = LEARNING if number else ""
    page = (
        (list_task_pages(content.task, block) or ("",))[int(number or 1) - 1] if part != "attention" else ""
    )
    shows_condition, has_answer = select_shown_parts(content, page)
    condition = chosen["condition"] if shows_condition and page != INITIAL else ""
    position = find_learning_position(content) if page == ANSWER else positions[item_id]
    context |= item_context(content, position, page, block)
    if page == COMPARISON:
        pair = (chosen["condition"], chosen["other"])
        context["stimulus"] = render_comparison(content, pair, item_id, slug=slug)
    else:
        context["stimulus"] = render_stimulus(content, condition, item_id, slug=slug, has_answer=has_answer)
    context["changed"] = render_change(content, item_id)
    if page == ANSWER and isinstance(content.task, Simulation):
        shown = content.condition(chosen["condition"]).shown[item_id]
        given: dict[str, Answer] = {"predicted_answer": shown.answer or ""}
        if content.task.ask == "correct":
            given = {"predicted_correct": True}
        context["outcome"] = build_outcome_context(content.task, given, shown)
    if list_task_pages(content.task):
        asked = _list_own_questions(content, page, item_id, chosen["condition"], pages[0] if pages else [])
        context["questions"] = render_questions(build_rows(asked, {}, {}), slug)
        context["time_left"] = limit_of(content.task, page)
    return context


def _list_own_questions(
    content: FrozenStudy, page: str, item_id: str, condition: str, rest: list[Question]
) -> list[Question]:
    """Return the questions of an item with own answers.

    On the final page, the first answer is an example.
    """
    if not page:
        return [*list_check_questions(content.task, _), *select_page_questions(content.task, page, rest)]
    options = content.options_of(condition, item_id)
    given, advice = options[0] if options else _("an example"), content.advice_of(condition, item_id)
    own = list_task_questions(content.task, page, options, given, advice, _)
    return own if page == INITIAL else [*own, *select_page_questions(content.task, page, rest)]

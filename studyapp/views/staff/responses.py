"""Responses of a study for staff: single trials as a table, and as CSV."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from foundation.pages.whole_numbers import parse_whole_number
from studyapp.downloads import ResponsesOptions
from studyapp.exports.responses import (
    ResponsePage,
    format_cells,
    list_default_columns,
    list_response_columns,
    load_response_data,
    load_response_page,
)
from studyapp.exports.study_data import StudyData
from studyapp.models import Study
from studyapp.queries.running.condition_styles import style_conditions
from studyapp.queries.running.responses import Key, filter_trials
from studyapp.views.access import study_page
from studyapp.views.staff.results import start_job
from studyapp.web.forms.results import ResponsesForm


@require_safe
@study_page(Act.STUDY_RESULTS, reads="responses")
def responses(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the filtered trials with the columns that the reader picked."""
    data = load_response_data(study)
    columns = list_response_columns(data)
    questions = _questions(data)
    form = ResponsesForm(
        request.GET, study=study, columns=[column.name for column in columns], items=questions
    )
    chosen = form.build_filter()
    picked = form.cleaned_data.get("column") or list_default_columns(data)
    shown = [column for column in columns if column.name in picked]
    page = load_response_page(data, chosen, after=_key(request.GET.get("after", "")))
    query = request.GET.copy()
    query.pop("after", None)
    context = {
        "study": study,
        "form": form,
        "columns": shown,
        "picked": picked,
        "questions": questions,
        "rows": [(row, list(zip(shown, format_cells(shown, row), strict=True))) for row in page.rows],
        "total": filter_trials(study, chosen).count(),
        "next": _build_next_link(page, query.urlencode()),
        "query": query.urlencode(),
        "styles": style_conditions(study),
        "is_first": "after" not in request.GET,
        "is_filtered": any(value for name, value in request.GET.items() if name != "column"),
    }
    return render(request, "studyapp/staff/responses.html", context)


@require_POST
@study_page(Act.STUDY_RESULTS)
def export_responses(request: HttpRequest, study: Study) -> HttpResponse:
    """Start a job that writes exactly these rows and columns as CSV."""
    data = load_response_data(study)
    names = [column.name for column in list_response_columns(data)]
    form = ResponsesForm(request.GET, study=study, columns=names, items=_questions(data))
    chosen = form.build_filter()
    picked = form.cleaned_data.get("column") or list_default_columns(data)
    options = ResponsesOptions(study=study.pk, filter=chosen, columns=tuple(picked))
    return start_job(request, study, "export_responses", options)


def _questions(data: StudyData) -> dict[str, str]:
    """Return the questions of all items by ID."""
    contents = data.frozen.values()
    return {item.id: item.question or item.id for content in contents for item in content.items}


def _key(text: str) -> Key | None:
    participant, _dot, position = text.partition(".")
    key = parse_whole_number(participant), parse_whole_number(position)
    return None if key[0] is None or key[1] is None else (key[0], key[1])


def _build_next_link(page: ResponsePage, query: str) -> str:
    if page.after is None:
        return ""
    participant, position = page.after
    key = urlencode({"after": f"{participant}.{position}"})
    return f"?{query}&{key}" if query else f"?{key}"

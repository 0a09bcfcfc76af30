"""Pages to duplicate a study and to compare its versions."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_somewhere, require_user
from foundation.errors import TouchstoneError
from foundation.translated_messages import translate_error
from studyapp.actions.running import duplicate_study
from studyapp.definition.frozen.version_diff import Difference, find_differences
from studyapp.errors import StudyRefused
from studyapp.models import Study
from studyapp.queries.design.designs import build_design
from studyapp.queries.design.drafts import read_definition
from studyapp.views.access import StudyRequest, study_page
from studyapp.web.forms.staff import DuplicateForm

DRAFT = "draft"
LONGEST = 600  # characters of a value on the page of differences


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Act.STUDY_EDIT)
def duplicate(request: HttpRequest, study: Study) -> HttpResponse:
    """Copy the draft of a study under another short name."""
    workspaces = require_somewhere(require_user(request), Act.STUDY_EDIT)
    initial = {
        "slug": f"{study.slug}-copy"[:100],
        "title": study.title,
        "workspace": study.workspace.slug,
    }
    data = request.POST if request.method == "POST" else None
    form = DuplicateForm(data, initial=initial, workspaces=workspaces)
    if request.method == "POST" and form.is_valid():
        try:
            copy = duplicate_study(
                study=study,
                slug=form.cleaned_data["slug"],
                title=form.cleaned_data["title"],
                workspace=form.chosen_workspace,
                by=require_user(request),
            )
        except TouchstoneError as error:
            form.add_error("slug", translate_error(error))
        else:
            messages.success(request, _("Study duplicated. This is the copy."))
            return redirect("studyapp:staff_study", copy.slug)
    status = 422 if form.errors else 200
    return render(request, "studyapp/staff/duplicate.html", {"study": study, "form": form}, status=status)


@require_safe
@study_page(Act.STUDY_SEE)
def compare(request: StudyRequest, study: Study) -> HttpResponse:
    """Compare two versions of a study; editors also compare the draft."""
    contents: dict[str, Any] = {
        str(number): frozen
        for number, frozen in study.versions.order_by("number").values_list("number", "frozen")
    }
    problem = ""
    if Act.STUDY_EDIT in request.may:
        try:
            contents[DRAFT] = build_design(read_definition(study), study.workspace).content.canonical()
        except StudyRefused as error:
            problem = translate_error(error)
    names = list(contents)
    chosen = [request.GET.get(name, "") for name in ("before", "after")]
    defaults = [names[-2] if len(names) > 1 else "", names[-1] if names else ""]
    before, after = (
        name if name in contents else default for name, default in zip(chosen, defaults, strict=True)
    )
    rows = (
        [
            _row(difference, _questions(contents[before], contents[after]))
            for difference in find_differences(contents[before], contents[after])
        ]
        if before and after
        else []
    )
    context = {
        "study": study,
        "names": names,
        "before": before,
        "after": after,
        "rows": rows,
        "problem": problem,
    }
    return render(request, "studyapp/staff/compare.html", context)


def _questions(*contents: dict[str, Any]) -> dict[str, str]:
    """Return the questions of the items of frozen studies by ID."""
    rows = [row for content in contents for name in ("items", "practice") for row in content.get(name, ())]
    return {row["id"]: row["question"] or row["id"] for row in rows}


def _row(difference: Difference, questions: dict[str, str]) -> dict[str, Any]:
    return {
        "path": [questions.get(part, part) for part in difference.path],
        "ids": difference.path,
        "kind": difference.kind,
        "before": "" if difference.kind == "added" else _format_value(difference.before),
        "after": "" if difference.kind == "removed" else _format_value(difference.after),
    }


def _format_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"

"""The studio page to choose items by hand."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.errors import TouchstoneError
from foundation.translated_messages import show_errors, translate_error
from studyapp.actions.drafts import save_draft
from studyapp.errors import StudyRefused
from studyapp.models import Study
from studyapp.queries.design.drafts import (
    count_correct,
    draw_items,
    find_candidates,
    list_usable_names,
    read_current_draft,
    search_candidates,
)
from studyapp.studio.edits import set_value
from studyapp.views.access import study_page
from studyapp.views.studio.forms import base_sent, remove_nul

SHOWN = 50  # questions of a search


@require_safe
@study_page(Act.STUDY_EDIT)
def pick(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the items and a search for questions to add."""
    now = read_current_draft(study)
    name = str(now.draft.get("dataset", ""))
    dataset = study.workspace.datasets.filter(name=name).first()
    systems = list_usable_names(now.draft, study, require_user(request)).systems
    ids, problem = _ids(now.draft), ""
    items = find_candidates(dataset, systems, ids)
    if not ids:
        try:
            items = draw_items(now.draft, study.workspace)
        except StudyRefused as error:
            problem = translate_error(error)
    [wanted] = remove_nul([request.GET.get("q", "")])
    questions, count = search_candidates(dataset, systems, wanted, SHOWN)
    chosen = {item.external_id for item in items}
    context = {
        "study": study,
        "now": now,
        "dataset": name,
        "items": items,
        "is_by_hand": bool(ids),
        "counts": count_correct(items),
        "problem": problem,
        "wanted": wanted,
        "questions": [(question, question.external_id in chosen) for question in questions],
        "count": count,
        "shown": SHOWN,
    }
    return render(request, "studyapp/studio/items.html", context)


@require_POST
@study_page(Act.STUDY_EDIT)
def change(request: HttpRequest, study: Study) -> HttpResponse:
    """Store the chosen items: those kept and those added."""
    now = read_current_draft(study)
    ids = list(dict.fromkeys(remove_nul(request.POST.getlist("keep") + request.POST.getlist("add"))))
    draft = set_value(now.draft, ("items",), {"ids": ids} if ids else {"count": 25, "seed": 1})
    with show_errors(request, TouchstoneError):
        save_draft(
            study=study,
            base=base_sent(request),
            draft=draft,
            changed="items",
            by=require_user(request),
        )
        messages.success(request, _("Items chosen by hand: %(n)d.") % {"n": len(ids)})
    address = reverse("studyapp:studio_items", args=[study.slug])
    return redirect(f"{address}?{urlencode({'q': request.POST.get('q', '')})}")


def _ids(draft: dict[str, object]) -> list[str]:
    items = draft.get("items")
    ids = items.get("ids") if isinstance(items, dict) else None
    return [str(external_id) for external_id in ids] if isinstance(ids, list) else []

"""The pages of an adjudicator: what waits, one item's works side by side, agreement over the project."""

import csv
import io

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.actions import review
from annotation.comparing import draft
from annotation.forms import ReturnForm
from annotation.models import Item, Membership, Role, Work
from annotation.queries.comparison import documents_of, lettered, project_agreement
from annotation.queries.overview import agreement_rows, comparison_page
from annotation.queries.review import finished_works, items_to_settle, review_counts
from annotation.states import ForbiddenTransition
from annotation.subjects import kind_of, program_of
from annotation.views.access import NOT_THERE, members_only, user_of


@require_safe
@members_only(Role.ADJUDICATOR)
def waiting(request: HttpRequest, member: Membership) -> HttpResponse:
    """What waits for a decision."""
    context = {
        "project": member.project,
        "counts": review_counts(member.project),
        "items": items_to_settle(member.project)[:200],
    }
    return render(request, "annotation/review.html", context)


@require_safe
@members_only(Role.ADJUDICATOR)
def item(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """The finished works of one item side by side, and what can be decided."""
    found = _item_or_404(member, pk)
    context = comparison_page(found, member.project) | {
        "project": member.project,
        "item": found,
        "form": ReturnForm(),
    }
    return render(request, "annotation/item.html", context)


@require_POST
@members_only(Role.ADJUDICATOR)
def adjudicate(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Open the editor on the item's gold, starting from what everybody marked."""
    found = _item_or_404(member, pk)
    works = finished_works(found)
    if not works:
        messages.error(request, _("Nobody has finished this item yet."))
        return redirect("annotation:item", member.project.slug, pk)
    program = program_of(found, kind_of(member.project))
    start = draft(program, documents_of(works), found.tokens, found.passage)
    work = review.start_adjudication(item=found, document=start, by=user_of(request))
    return redirect("annotation:work", work.pk)


@require_POST
@members_only(Role.ADJUDICATOR)
def accept(request: HttpRequest, member: Membership, pk: int, letter: str) -> HttpResponse:
    """Take one annotator's work as the gold."""
    work = _lettered_or_404(_item_or_404(member, pk), letter)
    try:
        review.accept(work=work, by=user_of(request))
    except ForbiddenTransition as error:
        messages.error(request, str(error))
        return redirect("annotation:item", member.project.slug, pk)
    messages.success(request, _("What %(letter)s drew is the gold of this item now.") % {"letter": letter})
    return redirect("annotation:review", member.project.slug)


@require_POST
@members_only(Role.ADJUDICATOR)
def send_back(request: HttpRequest, member: Membership, pk: int, letter: str) -> HttpResponse:
    """Send a work back with what is to be changed."""
    found = _item_or_404(member, pk)
    work = _lettered_or_404(found, letter)
    form = ReturnForm(request.POST)
    if not form.is_valid():
        context = comparison_page(found, member.project)
        context |= {"project": member.project, "item": found, "form": form}
        return render(request, "annotation/item.html", context, status=422)
    try:
        review.return_work(work=work, by=user_of(request), **form.cleaned_data)
    except ForbiddenTransition as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The work went back to %(letter)s.") % {"letter": letter})
    return redirect("annotation:item", member.project.slug, pk)


@require_safe
@members_only(Role.ADJUDICATOR)
def agreement(request: HttpRequest, member: Membership) -> HttpResponse:
    """How far people agree, as a page or, with ?format=csv, as a table."""
    found, items = project_agreement(member.project)
    rows = agreement_rows(found)
    if request.GET.get("format") == "csv":
        return _csv(rows, f"{member.project.slug}-agreement.csv")
    partings = found.first_parting_modules()
    context = {"project": member.project, "items": items, "rows": rows, "partings": partings}
    return render(request, "annotation/agreement.html", context)


def _csv(rows: list[dict[str, object]], name: str) -> HttpResponse:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["by", "name", "measure", "value", "low", "high", "n", "reason"])
    writer.writeheader()
    writer.writerows(rows)
    response = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _item_or_404(member: Membership, pk: int) -> Item:
    found = member.project.items.filter(pk=pk).first()
    if found is None:
        raise Http404(NOT_THERE)
    return found


def _lettered_or_404(item: Item, letter: str) -> Work:
    work = lettered(finished_works(item)).get(letter)
    if work is None:
        raise Http404(NOT_THERE)
    return work

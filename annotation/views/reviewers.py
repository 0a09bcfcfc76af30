"""Pages of an adjudicator: review queue, one item, agreement."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_existing, require_user
from annotation.actions import review
from annotation.errors import StaleBase
from annotation.forms.review import DecisionForm, ReturnForm
from annotation.models import Annotation, Item, Membership
from annotation.parsed_items import get_kind, parse_task
from annotation.policies import may
from annotation.queries.charts import compute_agreement_by_week
from annotation.queries.comparison import (
    build_adjudication_draft,
    compute_project_agreement,
    is_slow_to_compare,
)
from annotation.queries.imports import is_in_use
from annotation.queries.overview import build_agreement_rows, build_comparison_page
from annotation.queries.review import count_reviews, find_next_to_settle, list_first_to_settle
from annotation.states import ForbiddenTransition
from annotation.views.access import members_only
from foundation.pages.spreadsheet import build_csv_download
from foundation.translated_messages import translate_error

SHOWN = 200  # items that wait for a decision


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def list_waiting(request: HttpRequest, member: Membership) -> HttpResponse:
    """List the items and annotations that wait for a decision."""
    counts = count_reviews(member.project)
    context = {
        "project": member.project,
        "stats": [
            (_("Items to adjudicate"), counts["items"]),
            (_("Annotations submitted"), counts["submitted"]),
            (_("In review"), counts["in_review"]),
            (_("Returned to annotators"), counts["returned"]),
        ],
        "waiting": counts["items"],
        "items": list_first_to_settle(member.project, SHOWN),
    }
    return render(request, "annotation/review.html", context)


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def item(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Show the finished annotations of an item side by side."""
    row = _item_or_404(member, pk)
    return render(request, "annotation/item.html", _item_page(row, member, ReturnForm()))


@require_POST
@members_only(Act.ANNOTATION_SETTLE)
def adjudicate(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Open an adjudication, starting from everybody's objects."""
    row = _item_or_404(member, pk)
    start = build_adjudication_draft(row, get_kind(member.project))
    if start is None:
        messages.error(request, _("No annotation of this item is finished yet."))
        return redirect("annotation:item", member.project.slug, pk)
    annotation = review.start_adjudication(item=row, document=start, by=require_user(request))
    return redirect("annotation:editor", annotation.pk)


@require_POST
@members_only(Act.ANNOTATION_SETTLE)
def accept(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Make one annotation the gold."""
    row, form = _item_or_404(member, pk), DecisionForm(request.POST)
    annotation = _find_decided_or_404(row, form)
    seen = {name: form.cleaned_data[name] for name in ("revision", "version")}
    try:
        review.accept(annotation=annotation, by=require_user(request), **seen)
    except (ForbiddenTransition, StaleBase) as error:
        messages.error(request, translate_error(error))
        return redirect("annotation:item", member.project.slug, pk)
    letter = form.cleaned_data["letter"]
    messages.success(
        request, _("Accepted annotation %(letter)s as the gold of this item.") % {"letter": letter}
    )
    return redirect("annotation:review", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_SETTLE)
def send_back(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Return an annotation with requested changes."""
    row, form = _item_or_404(member, pk), ReturnForm(request.POST)
    annotation = _find_decided_or_404(row, form)
    if form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("revision", "text", "node")}
        try:
            review.return_annotation(annotation=annotation, by=require_user(request), **given)
        except (ForbiddenTransition, StaleBase) as error:
            form.add_error(None, translate_error(error))
        else:
            letter = form.cleaned_data["letter"]
            messages.success(request, _("Returned the annotation to %(letter)s.") % {"letter": letter})
            return redirect("annotation:item", member.project.slug, pk)
    return render(request, "annotation/item.html", _item_page(row, member, form), status=422)


@require_safe
@members_only(Act.ANNOTATION_SETTLE)
def agreement(request: HttpRequest, member: Membership) -> HttpResponseBase:
    """Show inter-annotator agreement, or with ?format=csv export it.

    The page of a large project opens without the figures, and its script asks for them with ?part=figures.
    """
    wanted = {"format", "part", "figures"} & request.GET.keys()
    if not wanted and is_slow_to_compare(member.project):
        return render(request, "annotation/agreement.html", {"project": member.project, "later": True})
    measured, items = compute_project_agreement(member.project)
    rows = build_agreement_rows(
        measured, task=parse_task(member.project), names=may(member, Act.ANNOTATION_MANAGE)
    )
    if request.GET.get("format") == "csv":
        columns = ["by", "name", "measure", "value", "low", "high", "n", "reason"]
        values = ([row[column] for column in columns] for row in rows)
        return build_csv_download(f"{member.project.slug}-agreement", columns, values)
    partings = measured.count_parting_modules()
    context = {
        "project": member.project,
        "items": items,
        "rows": rows,
        "partings": partings,
        "weeks": compute_agreement_by_week(member.project),
    }
    is_part = request.GET.get("part") == "figures"
    template = "annotation/agreement_figures.html" if is_part else "annotation/agreement.html"
    return render(request, template, context)


def _item_or_404(member: Membership, pk: int) -> Item:
    return require_existing(member.project.items.filter(pk=pk).first())


def _item_page(item: Item, member: Membership, form: ReturnForm) -> dict[str, object]:
    return build_comparison_page(item, member.project) | {
        "project": member.project,
        "item": item,
        "form": form,
        "is_free": not is_in_use(item),
        "following": find_next_to_settle(item),
    }


def _find_decided_or_404(item: Item, form: DecisionForm) -> Annotation:
    """Return the annotation that a decision names, in any state."""
    form.is_valid()
    named = form.cleaned_data.keys() >= DecisionForm.base_fields.keys()
    annotations = item.annotations.filter(task=Annotation.Task.ANNOTATION)
    return require_existing(annotations.filter(pk=form.cleaned_data["annotation"]).first() if named else None)

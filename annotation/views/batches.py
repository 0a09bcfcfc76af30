"""Pages of batches: items that a manager gives to one person together."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_user
from annotation.actions import batches
from annotation.errors import AssignmentLost, Conflict
from annotation.forms.assignment import BatchForm, DueDateForm
from annotation.models import Membership
from annotation.queries.batches import build_batch_progress
from annotation.queries.batches import select_batches as batches_of
from annotation.views.access import batch_or_404, members_only
from annotation.views.tables import BATCHES
from foundation.translated_messages import translate_error


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def list_batches(request: HttpRequest, member: Membership) -> HttpResponse:
    """List the batches, the earliest due first."""
    return _page(request, member, BatchForm(project=member.project))


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def assign(request: HttpRequest, member: Membership) -> HttpResponse:
    """Assign a batch to a member."""
    form = BatchForm(request.POST, project=member.project)
    if form.is_valid():
        chosen, plan = form.cleaned_data["username"], form.cleaned_data["plan"]
        try:
            batch = batches.assign_batch(member=chosen, plan=plan, by=require_user(request))
        except (AssignmentLost, Conflict) as error:
            form.add_error(None, translate_error(error))
        else:
            number = batch.annotations.count()
            text = ngettext(
                "Assigned %(number)d item to %(name)s.", "Assigned %(number)d items to %(name)s.", number
            )
            messages.success(request, text % {"number": number, "name": chosen.user})
            return redirect("annotation:batches", member.project.slug)
    return _page(request, member, form, status=422)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def change_due_date(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Change the due date of a batch."""
    batch, form = batch_or_404(member, pk), DueDateForm(request.POST)
    if form.is_valid():
        batches.change_due_date(batch=batch, due_on=form.cleaned_data["due_on"], by=require_user(request))
        messages.success(request, _("Changed the due date of batch %(name)s.") % {"name": batch.name})
    else:
        messages.error(request, _("Enter the due date as a day, such as 2030-01-31."))
    return redirect("annotation:batches", member.project.slug)


@require_POST
@members_only(Act.ANNOTATION_MANAGE)
def release(request: HttpRequest, member: Membership, pk: int) -> HttpResponse:
    """Release the unfinished items of a batch."""
    batch = batch_or_404(member, pk)
    number = batches.release_batch(batch=batch, by=require_user(request))
    text = ngettext(
        "Released %(number)d item of batch %(name)s. Annotations remain saved.",
        "Released %(number)d items of batch %(name)s. Annotations remain saved.",
        number,
    )
    messages.success(request, text % {"number": number, "name": batch.name})
    return redirect("annotation:batches", member.project.slug)


def _page(request: HttpRequest, member: Membership, form: BatchForm, *, status: int = 200) -> HttpResponse:
    table = BATCHES.of(request.GET)
    context = {
        "project": member.project,
        "table": table,
        "batches": table.rows(build_batch_progress(batches_of(member.project))),
        "form": form,
    }
    return render(request, "annotation/batches.html", context, status=status)

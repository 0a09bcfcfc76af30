"""Pages of a running study: conditions, flags, estimates, log."""

from operator import itemgetter

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.actions.audit import record_export
from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.errors import TouchstoneError
from foundation.pages.spreadsheet import build_csv_download
from foundation.translated_messages import show_errors, translate_error
from studyapp.actions import running as actions
from studyapp.exports.estimates import compute_running_estimates
from studyapp.models import Condition, Event, Study
from studyapp.queries.log import (
    LOG_COLUMNS,
    LogFilter,
    list_actors,
    list_event_kinds,
    list_events,
    list_notes,
    log_rows,
)
from studyapp.queries.participants.flags import count_flags, list_flagged_participants
from studyapp.queries.running.condition_styles import label_groups
from studyapp.queries.running.overview import count_flagged_participants
from studyapp.queries.running.progress import drop_outs, list_archived_studies
from studyapp.queries.studies import AlteredVersion, find_latest_version
from studyapp.views.access import study_page
from studyapp.web.event_labels import EVENT_LABELS
from studyapp.web.forms.staff import ConditionForm, LogForm, NoteForm
from studyapp.web.html.tables import ARCHIVED, LOG

PAGE = 100  # events on a page of the log
FLAGGED = 100  # participants listed; the table of participants has all
FEWEST = 5  # participants of a condition; a bootstrap of fewer gives confidence intervals that are too short


@require_safe
@study_page(Act.STUDY_RESULTS, reads="running")
def show_running_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Show conditions and quotas, drop-outs, flags and notes."""
    return _page(request, study, NoteForm())


@require_POST
@study_page(Act.STUDY_EDIT)
def set_condition(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Open or close a condition of the newest version, and set its quota."""
    condition = Condition.objects.filter(pk=pk, version=find_latest_version(study)).first()
    if condition is None:
        raise Http404(_("The newest version does not have this condition."))
    form = ConditionForm(request.POST, condition=pk)
    if not form.is_valid():
        return _page(request, study, NoteForm(), failed=(pk, form), status=422)
    actions.set_condition(
        condition=condition,
        is_open=form.cleaned_data["is_open"],
        quota=form.cleaned_data["quota"],
        by=require_user(request),
    )
    messages.success(request, _("Condition %(name)s saved.") % {"name": condition.name})
    return redirect("studyapp:staff_running", study.slug)


@require_POST
@study_page(Act.STUDY_EDIT)
def write_note(request: HttpRequest, study: Study) -> HttpResponse:
    """Write a note into the log."""
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    actions.write_note(study=study, text=form.cleaned_data["text"], by=require_user(request))
    return redirect("studyapp:staff_running", study.slug)


@require_safe
@study_page(Act.STUDY_RESULTS)
def estimates(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the measures so far, with confidence intervals."""
    try:
        result = compute_running_estimates(study)
    except AlteredVersion as error:
        messages.error(request, translate_error(error))
        result = None
    context = {"study": study, "result": result, "fewest": FEWEST}
    return render(request, "studyapp/staff/estimates.html", context)


@require_safe
@study_page(Act.STUDY_RESULTS, reads="log")
def study_log(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the events of a study."""
    form, rows = _events(request, study)
    table = LOG.of(request.GET)
    page = Paginator(rows.order_by(*table.order()), PAGE).get_page(table.number)
    context = {
        "study": study,
        "form": form,
        "page": page,
        "events": [
            (event, EVENT_LABELS.kind_label(event.kind), EVENT_LABELS.detail_labels(event.data))
            for event in page
        ],
        "table": table,
        "first": table.address() if page.has_previous() else "",
        "next": table.address(page=page.next_page_number()) if page.has_next() else "",
    }
    return render(request, "studyapp/staff/log.html", context)


@require_safe
@study_page(Act.STUDY_RESULTS)
def export_log(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Return the events that the filters let through as CSV."""
    _form, rows = _events(request, study)
    if request.method == "GET":  # HEAD exports nothing
        record_export(by=require_user(request), subject=study, kind="log")
    return build_csv_download(f"{study.slug}-log", LOG_COLUMNS, log_rows(rows))


def _events(request: HttpRequest, study: Study) -> tuple[LogForm, QuerySet[Event]]:
    labels = sorted(
        ((kind, EVENT_LABELS.kind_label(kind)) for kind in list_event_kinds(study)), key=itemgetter(1)
    )
    form = LogForm(request.GET, kinds=labels, actors=list_actors(study))
    return form, list_events(study, LogFilter(**form.cleaned_data) if form.is_valid() else LogFilter())


@require_safe
@login_required
def archive(request: HttpRequest) -> HttpResponse:
    """List the archived studies that the user may see."""
    table = ARCHIVED.of(request.GET)
    rows = list_archived_studies(require_user(request)).order_by(*table.order())
    return render(request, "studyapp/staff/archive.html", {"studies": rows, "table": table})


@require_POST
@study_page(Act.STUDY_EDIT)
def archive_study(request: HttpRequest, study: Study) -> HttpResponse:
    """Move a study to the archive."""
    with show_errors(request, TouchstoneError):
        actions.archive_study(study=study, by=require_user(request))
        messages.success(request, _("Study archived."))
        return redirect("studyapp:staff_home")
    return redirect("studyapp:staff_study", study.slug)


def _page(
    request: HttpRequest,
    study: Study,
    note: NoteForm,
    *,
    failed: tuple[int, ConditionForm] | None = None,
    status: int = 200,
) -> HttpResponse:
    version = find_latest_version(study)
    conditions = list(version.conditions.all()) if version else []
    context = {
        "study": study,
        "version": version,
        "conditions": [
            (
                row,
                failed[1]
                if failed and failed[0] == row.pk
                else ConditionForm(condition=row.pk, initial={"is_open": row.is_open, "quota": row.quota}),
            )
            for row in conditions
        ],
        "labels": label_groups(study),
        "drop_outs": drop_outs(study),
        "flagged": list_flagged_participants(study, most=FLAGGED),
        "flagged_count": count_flagged_participants(study),
        "flag_counts": count_flags(study),
        "notes": list_notes(study)[:20],
        "note": note,
        "refused": failed[1] if failed else note,
    }
    return render(request, "studyapp/staff/running.html", context, status=status)

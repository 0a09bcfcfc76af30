"""Pages of studies: list, overview, and the acts of their life cycle."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_user
from accounts.rights.current_workspace import find_chosen_workspace
from foundation.errors import TouchstoneError
from foundation.pages import charts
from foundation.translated_messages import show_errors
from studyapp.actions import studies as actions
from studyapp.actions.running import restore_study
from studyapp.models import Study
from studyapp.queries.answer_quotas import list_answer_quotas
from studyapp.queries.participants.excluded import count_excluded_trials
from studyapp.queries.running import overview
from studyapp.queries.running.condition_styles import style_conditions
from studyapp.queries.running.progress import ModeProgress, build_study_progress, list_studies_with_counts
from studyapp.rules import states
from studyapp.rules.states import ForbiddenTransition
from studyapp.views.access import StudyRequest, study_page
from studyapp.web.html.progress_bars import PROGRESS_LABELS, ConditionBar, build_condition_bar
from studyapp.web.html.tables import STUDIES


@require_safe
@login_required
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies that the user may see, with their status."""
    user = require_user(request)
    workspace = find_chosen_workspace(request)
    table = STUDIES.of(request.GET)
    rows = list_studies_with_counts(user, workspace).order_by(*table.order())
    return render(request, "studyapp/staff/studies.html", {"studies": rows, "table": table})


@require_safe
@study_page(Act.STUDY_SEE)
def study(request: StudyRequest, study: Study) -> HttpResponse:
    """Show a study: figures, next acts, progress, charts, versions."""
    context = {
        "study": study,
        "versions": study.versions.defer("frozen").order_by("-number"),
        "acts": [move.act for move in states.STUDY if study.status in move.sources],
        **_figures(request, study),
    }
    return render(request, "studyapp/staff/study.html", context)


@require_safe
@study_page(Act.STUDY_SEE)
def progress(request: StudyRequest, study: Study) -> HttpResponse:
    """Return the figures of a study, which its page fetches repeatedly."""
    return render(request, "studyapp/staff/figures.html", {"study": study, **_figures(request, study)})


def _figures(request: StudyRequest, study: Study) -> dict[str, Any]:
    """Return what changes while a study runs."""
    modes = build_study_progress(study)
    live = modes[0]
    arrivals, times = overview.count_arrivals(study), overview.summarise_times(study)
    submitted, excluded = count_excluded_trials(study)
    flagged = overview.count_flagged_participants(study)
    return {
        "modes": build_mode_bars(study, modes),
        "states": PROGRESS_LABELS,
        "answer_quotas": list_answer_quotas(study),
        "completed": live.completed,
        "quota": overview.sum_quotas(live),
        "median": None if times.median is None else _clock(times.median),
        "submitted": submitted,
        "excluded": excluded,
        "flagged": flagged,
        "next": [
            act
            for act in overview.list_next_acts(study, live, flagged=flagged, user=require_user(request))
            if act.act in request.may
        ],
        "arrivals": charts.build_columns(
            [(_moment(bar.start, arrivals.by), bar.count) for bar in arrivals.bars]
        ),
        "arrivals_by": arrivals.by,
        "times": charts.build_columns([(_minutes(bar.start, bar.end), bar.count) for bar in times.bars]),
    }


def build_mode_bars(study: Study, modes: list[ModeProgress]) -> list[tuple[ModeProgress, list[ConditionBar]]]:
    """Return the progress of each mode with the bars of its conditions."""
    styles = style_conditions(study)
    return [
        (mode, [build_condition_bar(row, styles.get(row.condition, "")) for row in mode.conditions])
        for mode in modes
    ]


def _clock(minutes: float) -> str:
    whole, seconds = divmod(round(60 * minutes), 60)
    return f"{whole}:{seconds:02d}"


def _moment(at: Any, by: str) -> str:
    return formats.date_format(at, "Y-m-d H:i" if by == "hour" else "Y-m-d")


def _minutes(start: Any, end: Any) -> str:
    return _("%(start)s to %(end)s min") % {
        "start": formats.number_format(round(start, 1)),
        "end": formats.number_format(round(end, 1)),
    }


def act_page(action: Callable[..., Any], done: str | Promise) -> Callable[..., HttpResponse]:
    """Return the view of an act on a study, which goes back to its page."""

    @require_POST
    @study_page(Act.STUDY_EDIT)
    def page(request: HttpRequest, study: Study) -> HttpResponse:
        with show_errors(request, TouchstoneError, ForbiddenTransition):
            action(study=study, by=require_user(request))
            messages.success(request, str(done))
        return redirect("studyapp:staff_study", study.slug)

    return page


pause = act_page(actions.pause_study, gettext_lazy("Study paused. Participants in progress can finish."))
resume = act_page(actions.resume_study, gettext_lazy("The study is open again."))
close = act_page(actions.close_study, gettext_lazy("Study closed. Participants in progress can finish."))
reopen = act_page(actions.reopen_study, gettext_lazy("The study is open again."))
restore = act_page(restore_study, gettext_lazy("Study restored from the archive."))

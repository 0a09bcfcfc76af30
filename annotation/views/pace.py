"""The page of the pace of annotators: submissions, and time per item."""

from itertools import pairwise
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.policy_table import Act
from annotation.models import Membership
from annotation.queries.pace import ENDS, Pace, PaceRow, compute_pace
from annotation.views.access import members_only
from foundation.pages import charts
from foundation.pages.spreadsheet import build_csv_download

PERIODS = (7, 30, 90)  # days


@require_safe
@members_only(Act.ANNOTATION_MANAGE)
def show_pace(request: HttpRequest, member: Membership) -> HttpResponseBase:
    """Show the pace of the last days, or with ?format=csv export it."""
    given = request.GET.get("days", "")
    days = int(given) if given in map(str, PERIODS) else 30
    measured = compute_pace(member.project, days)
    if request.GET.get("format") == "csv":
        return build_csv_download(f"{member.project.slug}-pace", PaceRow._fields, measured.rows)
    context = {
        "project": member.project,
        "periods": PERIODS,
        "days": days,
        "first": measured.days[0],
        "last": measured.days[-1],
        "people": _build_people_rows(measured),
        "seconds": charts.build_columns(list(zip(_labels(), measured.classes, strict=True))),
    }
    return render(request, "annotation/pace.html", context)


def _build_people_rows(measured: Pace) -> list[dict[str, Any]]:
    """Return each person with the columns of their days, all of one scale."""
    most = max((number for person in measured.people for number in person.by_day), default=0)
    labels = [day.isoformat() for day in measured.days]
    rows = [
        ("", "", middle, low, high) for low, middle, high in (person.quartiles for person in measured.people)
    ]
    shapes, _zero = charts.build_intervals(rows)
    return [
        {
            "person": person,
            "days": charts.build_columns(list(zip(labels, person.by_day, strict=True)), most=most),
            "time": shape,
        }
        for person, shape in zip(measured.people, shapes, strict=True)
    ]


def _labels() -> list[str]:
    """Return the labels of the classes of seconds per item."""
    between = [
        _("%(low)s to %(high)s") % {"low": _time(low), "high": _time(high)} for low, high in pairwise(ENDS)
    ]
    return [
        _("under %(high)s") % {"high": _time(ENDS[0])},
        *between,
        _("%(low)s or more") % {"low": _time(ENDS[-1])},
    ]


def _time(seconds: int) -> str:
    return (
        _("%(number)d min") % {"number": seconds // 60}
        if seconds >= 60
        else _("%(number)d s") % {"number": seconds}
    )

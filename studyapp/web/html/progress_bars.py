"""Bars of the progress of conditions, with states as their parts."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from foundation.pages.charts import Part, build_bar_parts, format_percent
from studyapp.queries.running.progress import ConditionProgress

PROGRESS_LABELS = {
    "completed": _("completed"),
    "active": _("active"),
    "stale": _("stale"),
    "returned": _("returned"),
    "ended": _("ended early"),
    "withdrawn": _("withdrawn"),
}


@dataclass(frozen=True)
class ConditionBar:
    """A bar of progress, as long as the quota or what was assigned.

    ``style`` is the colour of the condition, ``quota`` the place of the quota in percent, empty if it is
    the end of the bar or missing.
    """

    row: ConditionProgress
    style: str
    parts: list[Part]
    quota: str


def build_condition_bar(row: ConditionProgress, style: str) -> ConditionBar:
    """Return the bar of a condition."""
    length = max(row.quota or 0, row.assigned) or 1
    states = [(state, str(label), getattr(row, state)) for state, label in PROGRESS_LABELS.items()]
    is_inside = row.quota is not None and row.quota < length
    quota = format_percent(100 * (row.quota or 0) / length) if is_inside else ""
    return ConditionBar(row, style, build_bar_parts(states, length=length), quota)

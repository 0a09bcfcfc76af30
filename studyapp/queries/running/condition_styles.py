"""The colour and the mark of each condition, the same on every page."""

from django.utils.translation import gettext as _

from analysis.participants.condition_styles import number_conditions
from studyapp.definition.conditions import ALL_CONDITIONS
from studyapp.models import Condition, Study
from studyapp.queries.studies import load_frozen_study

TRUTH = "truth"


def style_conditions(study: Study) -> dict[str, str]:
    """Return the style of each condition and group, by name.

    A style is the end of a CSS class.

    Systems are counted in the order of the newest version, and then of older ones; ground truth is grey. A
    group of several conditions has the style of its first one.
    """
    rows = Condition.objects.filter(version__study=study).order_by("-version__number", "position")
    conditions = list(rows.select_related("version").defer("version__frozen"))
    numbers = number_conditions((row.name, row.is_ground_truth) for row in conditions)
    styles = {name: TRUTH if number is None else str(number + 1) for name, number in numbers.items()}
    groups: dict[str, str] = {}
    for row in conditions:
        group = load_frozen_study(row.version).condition(row.name).group
        if group:
            groups.setdefault(group, styles[row.name])
    return {**groups, **styles}


def label_conditions(study: Study) -> dict[str, str]:
    """Return the label of each condition, that of the newest version."""
    rows = Condition.objects.filter(version__study=study).order_by("version__number", "position")
    return {name: label or name for name, label in rows.values_list("name", "label")}


def label_groups(study: Study) -> dict[str, str]:
    """Return the label of each group of conditions in the page's language."""
    return {**label_conditions(study), ALL_CONDITIONS: _("all conditions")}

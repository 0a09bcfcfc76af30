"""The colour and the mark of each condition, the same on every page."""

from studyapp.models import Condition, Study
from studyapp.queries.studies import frozen

COLOURS = 7  # as many as `analysis.report.figures` has, in the same order
TRUTH = "truth"


def condition_looks(study: Study) -> dict[str, str]:
    """Return the look of each condition and group, by name.

    A look is the end of a CSS class.

    Systems are counted in the order of the newest version, and then of older ones; ground truth is grey. A
    group of several conditions has the look of its first one.
    """
    rows = Condition.objects.filter(version__study=study).order_by("-version__number", "position")
    looks: dict[str, str] = {}
    groups: dict[str, str] = {}
    number = 0
    for row in rows.select_related("version").defer("version__frozen"):
        if row.name not in looks:
            looks[row.name] = TRUTH if row.is_ground_truth else str(number % COLOURS + 1)
            number += not row.is_ground_truth
        group = frozen(row.version).condition(row.name).group
        if group:
            groups.setdefault(group, looks[row.name])
    return {**groups, **looks}


def condition_labels(study: Study) -> dict[str, str]:
    """Return the label of each condition, that of the newest version."""
    rows = Condition.objects.filter(version__study=study).order_by("version__number", "position")
    return {name: label or name for name, label in rows.values_list("name", "label")}

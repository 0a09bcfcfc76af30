"""The colour and the mark of each condition, on pages and in reports.

Colours: Okabe and Ito 2008 (colour universal design), with a mark of its own per condition; ground truth is
grey. The style sheet ``static/css/results.css`` has the same colours by their number.
"""

from collections.abc import Iterable

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")
MARKERS = ("o", "s", "^", "D", "v", "P", "h")
GREY = "#555555"


def number_conditions(conditions: Iterable[tuple[str, bool]]) -> dict[str, int | None]:
    """Assign numbers from 0 to systems' conditions, None to ground truth.

    Conditions keep their order. After the last colour the first comes again.

    Args:
        conditions: Name of each condition, and whether it shows the ground truth.
    """
    numbers: dict[str, int | None] = {}
    systems = 0
    for name, is_ground_truth in conditions:
        if name not in numbers:
            numbers[name] = None if is_ground_truth else systems % len(COLOURS)
            systems += not is_ground_truth
    return numbers

"""Titles of the checks before a launch."""

from django.utils.translation import gettext_lazy as _

CHECK_TITLES = {
    "definition": _("Draft"),
    "consent": _("Consent"),
    "retention": _("Retention"),
    "completion": _("Completion"),
    "places": _("Number and time"),
    "judging": _("Correctness of answers"),
    "rehearsal": _("Rehearsal"),
}
# Labels of the reason to launch without a check.
REASON_LABELS = {
    "judging": _("Reason to launch without judging them"),
    "rehearsal": _("Reason to launch without a rehearsal"),
}

"""Labels of the flags of participants.

Exports, webhooks and addresses contain the codes; pages show the labels.
"""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from studyapp.definition.participation.suspicion_flags import Flag

FLAG_LABELS: dict[Flag, str | Promise] = {
    "impossible_speed": _("Impossibly fast"),
    "straight_lining": _("Straight-lining"),
    "identical_pattern": _("Identical answers"),
    "honeypot": _("Hidden field filled in"),
    "focus_loss": _("Page hidden too long"),
    "failed_attention": _("Failed attention item"),
    "failed_comprehension": _("Failed comprehension check"),
}

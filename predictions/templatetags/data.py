"""Template tag for times that a person reads."""

from django import template
from django.utils.translation import ngettext

register = template.Library()


@register.simple_tag
def duration(seconds: float) -> str:
    """Return an estimated time in the largest fitting unit."""
    if seconds < 90:
        number = max(1, round(seconds))
        return ngettext("%(number)d second", "%(number)d seconds", number) % {"number": number}
    if seconds < 90 * 60:
        number = round(seconds / 60)
        return ngettext("%(number)d minute", "%(number)d minutes", number) % {"number": number}
    number = round(seconds / 3600)
    return ngettext("%(number)d hour", "%(number)d hours", number) % {"number": number}

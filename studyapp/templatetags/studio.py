"""Template tags of the studio and the staff pages."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from analysis import __version__

register = template.Library()


@register.filter
def code(text: str) -> SafeString:
    """Show text between backticks as code."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", conditional_escape(text)))  # noqa: S308 (escaped here)


@register.filter
def within(name: str) -> str:
    """Return a label as part of a sentence: in lower case, except in German."""
    return name if get_language() == "de" else name.lower()


@register.simple_tag
def version() -> str:
    """Return the version of this release."""
    return __version__

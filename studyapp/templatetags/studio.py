"""How the studio shows the descriptions of the definition."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

register = template.Library()


@register.filter
def code(text: str) -> SafeString:
    """What stands between backticks as code."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", conditional_escape(text)))  # noqa: S308 (escaped here)


@register.filter
def within(name: str) -> str:
    """A name inside a sentence: in lower case, but in German, where nouns keep their capital."""
    return name if get_language() == "de" else name.lower()

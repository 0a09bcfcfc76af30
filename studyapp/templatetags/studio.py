"""How the studio shows the descriptions of the definition."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def code(text: str) -> SafeString:
    """What stands between backticks as code."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", conditional_escape(text)))  # noqa: S308 (escaped here)

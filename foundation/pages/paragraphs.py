"""Plain text as paragraphs of HTML."""

import re

from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe

_WRAPPED = 50  # characters; a line that an editor wrapped is at least so long
_LIST = re.compile(r"\s*([-*•–]|\d+[.)])\s")


def paragraphs(text: str) -> SafeString:
    """Return a text as paragraphs, escaped; an empty line begins one.

    Lines that an editor wrapped are joined again. Short lines, as of an address, and lists keep theirs.
    """
    joined: list[str] = []
    before = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if len(before) >= _WRAPPED and line.strip() and not _LIST.match(line):
            joined[-1] = f"{joined[-1].rstrip()} {line.strip()}"
        else:
            joined.append(line)
        before = line
    return mark_safe(linebreaks("\n".join(joined), autoescape=True))  # noqa: S308 (escaped there)

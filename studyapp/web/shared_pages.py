"""Pages that participants see alike, rendered once per process.

Such a page differs between participants only in the values of `OWN_VALUES`. It is rendered with a mark in
place of each, and cut at the marks. Everything else that the template reads is part of the cache's key, so
that a page of another study, version, condition, language or theme is another entry.
"""

import re
import secrets
from functools import lru_cache
from html import escape
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.translation import get_language

# The names of the context that each participant has values of; "path" is the address of the page.
OWN_VALUES = ("csrf_token", "page_key", "resume_token", "position", "step", "path")
# Random, so that no text of a study can hold one.
_MARKS = {name: f"{name}-{secrets.token_hex(16)}" for name in OWN_VALUES}


def render_shared(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """Render a page of which all values but those of `OWN_VALUES` are shared.

    Args:
        request: The request; the template may read nothing of it but its path and theme.
        template: The name of the template.
        context: The values by name, which must be hashable. The template may test none of `OWN_VALUES`;
            these are texts or numbers, not HTML.
    """
    shared = tuple(item for item in context.items() if item[0] not in OWN_VALUES)
    theme = request.COOKIES.get("theme", "")
    pieces = _render_pieces(template, get_language(), theme if theme in ("light", "dark") else "", shared)
    own = context | {"csrf_token": get_token(request), "path": request.path}
    filled = {_MARKS[name].encode(): escape(str(own[name])).encode() for name in OWN_VALUES}
    return HttpResponse(b"".join([filled.get(piece, piece) for piece in pieces]))


@lru_cache(maxsize=1024)
def _render_pieces(
    template: str, _language: str | None, theme: str, shared: tuple[tuple[str, Any], ...]
) -> list[bytes]:
    """Return a page in the active language, cut before and behind each mark."""
    request = HttpRequest()
    request.path, request.COOKIES["theme"] = _MARKS["path"], theme
    html = render_to_string(template, {**dict(shared), **_MARKS, "request": request})
    return re.split(f"({'|'.join(_MARKS.values())})".encode(), html.encode())

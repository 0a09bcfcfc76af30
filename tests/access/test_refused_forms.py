"""A refused form says at the top what to correct and links to the fields.

Each form is sent empty, or with nonsense.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.access.world import make_world
from tests.soak.test_malformed_requests import targets

pytestmark = pytest.mark.django_db


class Refused(HTMLParser):
    """Title, ids and links of the summary of a page with a refused form."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids, self.title, self._in_title = set[str](), "", False
        self.feed(page)
        summary = re.search(r'<div class="errors"(.*?)</div>', page, re.DOTALL)
        self.has_summary = summary is not None
        self.links = re.findall(r'href="#([^"]*)"', summary[1]) if summary else []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title"
        self.ids |= {value or "" for name, value in attrs if name == "id"}

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title, self._in_title = data, False


def remarks(answer: Any) -> list[str]:
    """Name what the page of a refused form lacks; nothing if none was refused."""
    if not answer.get("Content-Type", "").startswith("text/html") or answer.streaming:
        return []
    text = answer.content.decode()
    if answer.status_code != 422 and 'class="error-text"' not in text:
        return []
    page = Refused(text)
    lacks = [] if page.has_summary else ["no summary"]
    if not page.title.strip().startswith("Error: "):
        lacks.append(f"the title {page.title!r}")
    return lacks + [f"a link to #{link}" for link in page.links if link not in page.ids]


def test_it_works():
    wrong, refused = list[str](), 0
    for client, address, form, _files in targets(make_world("own")):
        for text in ("", "?"):
            answer = client.post(address, dict.fromkeys(form, text))
            refused += answer.status_code == 422
            wrong += [f"{address} has {remark}" for remark in remarks(answer)]
    assert not wrong, "\n".join(wrong)
    assert refused > 40

"""The text and the controls of a page, as a language model reads them.

No Django.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from studyapp.definition.participation.suspicion_flags import HONEYPOT_FIELD

_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
_SKIPPED = frozenset({"script", "style", "template"})
# Classes: the honeypot, the clock, which would make each page another one, and the personal link.
_UNSEEN = frozenset({"unasked", "time-left", "hash"})
_MARKED = frozenset({"mark", "del", "ins"})
_INLINE = _MARKED | {"a", "b", "em", "i", "label", "option", "select", "span", "strong"}
_SPACE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


@dataclass
class Control:
    """A field of the page's form.

    Attributes:
        values: The values to choose among; empty for a text or a number.
        several: More than one value may be chosen.
    """

    values: list[str] = field(default_factory=list)
    several: bool = False


@dataclass
class ReadPage:
    """The content of a page.

    Attributes:
        text: Its text, with ``{…}`` around marked words, and before each choice the field and value that
            the form sends for it.
        controls: The fields that a participant fills, by name.
        images: The number of its images.
    """

    text: str
    controls: dict[str, Control]
    images: int


def read_text(html: str) -> ReadPage:
    """Read the main part of a page, or a piece of one."""
    start = html.find("<main")
    reader = _Reader()
    reader.feed(html if start < 0 else html[start : html.find("</main>", start)])
    reader.close()
    lines = (_SPACE.sub(" ", line).strip() for line in _LINES.sub("\n", "".join(reader.pieces)).split("\n"))
    return ReadPage("\n".join(filter(None, lines)), reader.controls, reader.images)


class _Reader(HTMLParser):
    """Collects text and controls; leaves out what no participant sees."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.controls: dict[str, Control] = {}
        self.images = 0
        self._open: list[tuple[str, bool]] = []  # the elements around, and whether each is out of sight
        self._select = ""

    def handle_starttag(self, tag: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        hidden = (
            tag in _SKIPPED or "hidden" in given or not _UNSEEN.isdisjoint(given.get("class", "").split())
        )
        if tag not in _VOID:
            self._open.append((tag, self._is_hidden or hidden))
        if self._is_hidden or hidden:
            return
        if tag not in _INLINE and tag != "input":
            self.pieces.append("\n")
        if tag in _MARKED:
            self.pieces.append("{")
        self.images += tag == "img"
        if tag in ("input", "textarea", "select", "option"):
            self._control(tag, given)

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            name, hidden = self._open.pop()
            if name == tag:
                if not hidden:
                    self.pieces.append("}" if tag in _MARKED else "" if tag in _INLINE else "\n")
                break

    def handle_data(self, data: str) -> None:
        if not self._is_hidden:
            self.pieces.append(data.replace("\n", " "))

    @property
    def _is_hidden(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _control(self, tag: str, given: dict[str, str]) -> None:
        kind, name, value = given.get("type", "text"), given.get("name", ""), given.get("value", "")
        if tag == "option":
            name, kind = self._select, "radio"
        elif tag == "select":
            self._select = name
            self.controls[name] = Control()
            return
        if (
            not name
            or name == HONEYPOT_FIELD
            or kind in ("hidden", "range")
            or (tag == "option" and not value)
        ):
            return
        if kind == "checkbox" and name in self.controls and not self.controls[name].values:
            return  # "I prefer not to say", beside a text
        control = self.controls.setdefault(name, Control())
        if kind in ("radio", "checkbox"):
            control.values.append(value)
            control.several |= kind == "checkbox"
            self.pieces.append(f"\n[{name}={value}] ")
        else:
            self.pieces.append(f" [{name}] ")

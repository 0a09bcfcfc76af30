"""The commands of the documents, in the order of their page.

Each is a line of an ``sh`` block.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from scripts.sites.processes import ROOT

BLOCK = re.compile(r"^( *)```sh\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
ASSIGNMENT = re.compile(r"[A-Z][A-Z_]*=")


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes:
        page: The page's path in the repository.
        text: The command as typed, without comments, continued lines joined.
        words: Its words as a shell splits them, redirections included.
    """

    page: str
    text: str
    words: tuple[str, ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Program and arguments, without settings and redirections."""
        words = list(self.words)
        while ASSIGNMENT.match(words[0]):
            words.pop(0)
        for at, word in enumerate(words):
            if set(word) <= set("<>|&;"):
                return tuple(words[:at])
        return tuple(words)

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def pages() -> list[Path]:
    """Return the pages whose commands readers type."""
    named = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return [*named, *sorted((ROOT / "docs").rglob("*.md"))]


def commands_of(page: Path) -> list[Command]:
    """Return the commands of a page in their order."""
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT))
    return [
        command for match in BLOCK.finditer(text) for command in _commands(name, _dedent(match[2], match[1]))
    ]


def _dedent(block: str, indent: str) -> str:
    return re.sub(rf"^{indent}", "", block, flags=re.MULTILINE)


def _commands(page: str, block: str) -> list[Command]:
    commands, open_text = [], ""
    for line in block.replace("\\\n", " ").splitlines():
        open_text += ("\n" if open_text else "") + line
        try:
            words = _split(open_text)
        except ValueError:  # a quotation that goes on in the next line
            continue
        if words.count("do") > words.count("done"):  # a loop goes on, too
            continue
        if words:
            commands.append(Command(page, _without_comment(open_text), tuple(words)))
        open_text = ""
    assert not open_text, f"{page}: {open_text!r} does not end"
    return commands


def _split(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def _without_comment(text: str) -> str:
    return re.sub(r"(^|\s)#\s.*$", "", text).strip()

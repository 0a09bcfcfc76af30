"""Findings of a reader: what an import mends, and what it refuses."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from foundation.errors import BadFile
from foundation.import_fields import all_errors

MOST_EXAMPLES = 5  # of each kind of mending
MOST_REFUSALS = 100  # listed; the rest is only counted


@dataclass(frozen=True)
class Refusal:
    """A part of a file that an import refuses; one is enough to store nothing.

    Attributes:
        line: None if the form of the file has no lines, or the problem concerns all of it.
        field: The entry and its field, as ``entry 3 (q2): answer``.
    """

    file: str
    line: int | None
    field: str
    reason: str


@dataclass
class Mending:
    """All mendings of one kind (a key of `predictions.mendings.LABELS`)."""

    kind: str
    count: int = 0
    examples: list[str] = field(default_factory=list)


class BadFields(BadFile):
    """Several fields of a file are wrong; the message names the first.

    Attributes:
        problems: The field, the reason and the line, None if unknown, of each.
    """

    def __init__(self, path: Path, problems: Sequence[tuple[str, str, int | None]]) -> None:
        self.problems = problems
        field, reason, line = problems[0]
        super().__init__(path, f"{field}: {reason}", line=line)


class Findings:
    """The findings of one file; complete when it has been read to its end.

    Args:
        path: The file.
        collect: List refusals and go on, as a preview does; otherwise the first one is raised.
    """

    def __init__(self, path: Path, *, collect: bool = False) -> None:
        self.path = path
        self.collect = collect
        self.mended: dict[str, Mending] = {}
        self.refused: list[Refusal] = []
        self.refused_count = 0

    def mend(self, kind: str, place: str, count: int = 1) -> None:
        """Count mendings of a kind; ``place`` is an example."""
        mending = self.mended.setdefault(kind, Mending(kind))
        mending.count += count
        if len(mending.examples) < MOST_EXAMPLES:
            mending.examples.append(place)

    def refuse(self, field: str, reason: str, *, line: int | None = None) -> None:
        """List a refusal.

        Raises:
            BadFile: Refusals are not collected.
        """
        if not self.collect:
            raise BadFile(self.path, f"{field}: {reason}" if field else reason, line=line)
        self.refused_count += 1
        if len(self.refused) < MOST_REFUSALS:
            self.refused.append(Refusal(self.path.name, line, field, reason))

    def refuse_fields(self, error: ValidationError, *, entry: str = "", line: int | None = None) -> None:
        """List every wrong field of an entry. Raises as `refuse`."""
        for name, reason in all_errors(error):
            self.refuse(": ".join(part for part in (entry, name) if part), reason, line=line)

    def end_at(self, error: BadFile) -> None:
        """List the error that ends the reading. Raises it if nothing is collected."""
        if not self.collect:
            raise error
        field, separator, reason = error.message.partition("]: ")
        first = (f"{field}]", reason, error.line) if separator else ("", error.message, error.line)
        for name, why, line in error.problems if isinstance(error, BadFields) else [first]:
            self.refuse(name, why, line=line)

    def as_json(self) -> dict[str, Any]:
        """Return the findings as the result of a job holds them."""
        return {
            "mended": [asdict(each) for each in self.mended.values()],
            "refused": [asdict(each) for each in self.refused],
            "refused_count": self.refused_count,
        }

    def until_unreadable(self, records: Iterator[Any]) -> Iterator[Any]:
        """Yield records up to a place where the file cannot be read on."""
        try:
            yield from records
        except BadFile as error:
            self.end_at(error)

"""Count repairs of a reader by kind, and note what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field

from foundation.errors import TouchstoneError

MOST_EXAMPLES = 5  # examples of each kind


@dataclass
class Repair:
    """All repairs of one kind."""

    kind: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.count:,} × {self.kind} ({', '.join(self.examples)}{more})"


class Report:
    """The repairs of one import, in the order of their first example.

    It is complete when the reader has been read to its end.

    Attributes:
        repairs: The repairs by kind.
        refused: The messages of what was refused, at most ``most_refused``. An import ends at its first
            error; a preview goes on, so that a person can correct a file in one go.
    """

    def __init__(self, most_refused: int = 0) -> None:
        self.repairs: dict[str, Repair] = {}
        self.refused: list[str] = []
        self._most_refused = most_refused

    def add(self, kind: str, path: str) -> None:
        """Count one repair. ``path`` names a line, an item or a cell."""
        repair = self.repairs.setdefault(kind, Repair(kind))
        repair.count += 1
        if len(repair.examples) < MOST_EXAMPLES:
            repair.examples.append(path)

    def refuse(self, error: TouchstoneError) -> None:
        """Note an error and go on, or raise it once there are too many."""
        if len(self.refused) >= self._most_refused:
            raise error
        self.refused.append(str(error))

    def count(self, kind: str) -> int:
        """Return the number of repairs of a kind."""
        return self.repairs[kind].count if kind in self.repairs else 0

    def __str__(self) -> str:
        return "\n".join(str(repair) for repair in self.repairs.values()) or "nothing had to be mended"

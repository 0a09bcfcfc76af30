"""What a reader had to mend, leave out or put aside: counted by kind, with the first places."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_PLACES = 5  # of each kind are kept


@dataclass
class Repair:
    """All that was mended in one way."""

    kind: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.places) else ""
        return f"{self.count:,} × {self.kind} ({', '.join(self.places)}{more})"


class Report:
    """The repairs of one import, in the order in which their kinds came first.

    Empty until the reader has been read to its end: readers mend as they go.
    """

    def __init__(self) -> None:
        self.repairs: dict[str, Repair] = {}

    def add(self, kind: str, place: str) -> None:
        """Count one repair. ``place`` says where: a line, an item, a cell."""
        repair = self.repairs.setdefault(kind, Repair(kind))
        repair.count += 1
        if len(repair.places) < MOST_PLACES:
            repair.places.append(place)

    def count(self, kind: str) -> int:
        """How many repairs there were of a kind."""
        return self.repairs[kind].count if kind in self.repairs else 0

    def __str__(self) -> str:
        return "\n".join(str(repair) for repair in self.repairs.values()) or "nothing had to be mended"

"""Programs of the generated worlds: calls of modules, numbered root first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """A module with its argument and the calls below it.

    The argument is words of the sentence or question.
    """

    module: str
    argument: str | None = None
    children: tuple[Call, ...] = ()

    def __str__(self) -> str:
        """Return the nested text.

        Arguments here hold no brackets, so nothing is escaped.
        """
        argument = "" if self.argument is None else f"[{self.argument}]"
        inside = f"({', '.join(map(str, self.children))})" if self.children else ""
        return f"{self.module}{argument}{inside}"

    def nodes(self) -> Iterator[Call]:
        """Yield this call and all below it, parents first, left before right."""
        yield self
        for child in self.children:
            yield from child.nodes()


def call(module: str, *children: Call, argument: str | None = None) -> Call:
    """Return a call of a module."""
    return Call(module, argument, children)


def number_subtrees(root: Call) -> dict[Call, int]:
    """Return the number of the first node of each distinct subtree."""
    numbers: dict[Call, int] = {}
    for number, node in enumerate(root.nodes()):
        numbers.setdefault(node, number)
    return numbers

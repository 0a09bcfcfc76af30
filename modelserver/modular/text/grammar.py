"""The grammar of programs over spans, made from the table of modules: what may follow, and nothing else does.

A program is written from the root down, left before right. At each step the next open place of the tree says
which types it takes, and a production fits where its type is one of them. Every program that
`analysis.programs` accepts has exactly one derivation, and every derivation is such a program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from analysis.programs import MODULES, OBJECTS, Module, Node, Program, Type
from analysis.programs.program import Part, build

MOST_NODES = 12  # of a parsed program; the longest of DROP's question types has 6, of the games 7
WORDED = frozenset({"find", "filter", "relocate"})  # take words of the question
SORTING = frozenset({"find-max-num", "find-min-num", "num-compare", "date-compare"})
NEEDS_NUMBER = frozenset({"find-num", "find-max-num", "find-min-num", "num-compare"})
NEEDS_DATE = frozenset({"find-date", "date-compare"})
ROOTS: tuple[Type, ...] = ("spans", "numbers", "dates", "number")

Slot = tuple[Type, ...]  # the types that a place of the tree takes


@dataclass(frozen=True)
class Production:
    """A module with its type, its places below, and its argument where that is one of a few."""

    module: str
    output: Type
    slots: tuple[Slot, ...]
    choice: str | None = None

    @property
    def worded(self) -> bool:
        return self.module in WORDED


@cache
def productions() -> tuple[Production, ...]:
    """Return all productions in the order of the table; networks number them by it."""
    return tuple(one for module in MODULES["spans"].values() for one in _of(module))


def _of(module: Module) -> Iterator[Production]:
    for choice in module.choices or (None,):
        for slots in _places(module):
            yield Production(module.name, module.output or slots[0][0], slots, choice)


def _places(module: Module) -> Iterator[tuple[Slot, ...]]:
    """Yield the ways of filling a module: of each, the types alone that may stand there together."""
    for count in range(module.least, len(module.inputs) + 1):
        slots = module.inputs[:count]
        if module.output is None:  # the type of the first input is that of the whole
            yield from (((each,), *slots[1:]) for each in slots[0])
        elif count < len(module.inputs):
            yield tuple(tuple(each for each in slot if each in OBJECTS) for slot in slots)
        elif module.alike:
            for dated in (False, True):
                yield tuple(tuple(each for each in slot if (each == "dates") == dated) for slot in slots)
        else:
            yield slots


@dataclass(frozen=True)
class Language:
    """Which modules programs may use: extract-answer, the sorting and comparing ones, and by the passage.

    ``numbers`` and ``dates`` say whether the passage states any: without, nothing can look for them.
    """

    extract: bool = True
    sorting: bool = True
    numbers: bool = True
    dates: bool = True

    def holds(self, module: str) -> bool:
        """Return whether programs of the language may use a module."""
        return not (
            (module == "extract-answer" and not self.extract)
            or (module in SORTING and not self.sorting)
            or (module in NEEDS_NUMBER and not self.numbers)
            or (module in NEEDS_DATE and not self.dates)
        )

    @cached_property
    def smallest(self) -> dict[Type, float]:
        """The fewest nodes of a program of each type; infinite where there is none."""
        fewest: dict[Type, float] = dict.fromkeys(ROOTS, math.inf)
        usable = [one for one in productions() if self.holds(one.module)]
        while True:
            before = dict(fewest)
            for one in usable:
                size = 1 + sum(min(fewest[each] for each in slot) for slot in one.slots)
                fewest[one.output] = min(fewest[one.output], size)
            if fewest == before:
                return fewest

    def room(self, slots: Sequence[Slot]) -> float:
        """Return the fewest nodes that fill all of these places."""
        return sum(min(self.smallest[each] for each in slot) for slot in slots)

    def whole(self, program: Program) -> bool:
        """Return whether a program uses only modules of the language."""
        return all(self.holds(node.module) for node in program.nodes)


@dataclass(frozen=True)
class Derivation:
    """A program being written: the productions taken, and the places still open, the next one last."""

    taken: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    open: tuple[tuple[Slot, int], ...] = field(default=((ROOTS, 0),))  # types, depth

    @property
    def done(self) -> bool:
        return not self.open

    def allowed(self, language: Language, most: int = MOST_NODES) -> list[int]:
        """Return the productions that may come next and still leave a way to end within ``most`` nodes."""
        if self.done:
            return []
        (wanted, _), rest = self.open[-1], [slot for slot, _ in self.open[:-1]]
        left = most - len(self.taken) - 1 - language.room(rest)
        return [
            number
            for number, one in enumerate(productions())
            if one.output in wanted and language.holds(one.module) and language.room(one.slots) <= left
        ]

    def take(self, number: int) -> Derivation:
        """Return the derivation with one production more.

        Raises ValueError where it does not fit.
        """
        one = productions()[number]
        if self.done or one.output not in self.open[-1][0]:
            raise ValueError(f"{one.module} does not fit here")
        depth = self.open[-1][1]
        below = tuple((slot, depth + 1) for slot in reversed(one.slots))
        return Derivation((*self.taken, number), (*self.depths, depth), (*self.open[:-1], *below))

    def program(self, words: Sequence[str | None] = ()) -> Program:
        """Return the program. words: an argument for each node, used for those that take words."""
        given = tuple(words) or (None,) * len(self.taken)
        parts = []
        for number, depth, argument in zip(self.taken, self.depths, given, strict=True):
            one = productions()[number]
            parts.append(Part(depth, one.module, one.choice or (argument if one.worded else None), 0))
        return build("spans", parts, "")


def derivation(program: Program) -> Derivation:
    """Return the one derivation of a program over spans."""
    made = Derivation()
    for node in program.nodes:
        made = made.take(_number(program, node))
    return made


def _number(program: Program, node: Node) -> int:
    types = [program.nodes[child].type for child in node.children]
    for number, one in enumerate(productions()):
        alike = one.module == node.module and one.output == node.type and one.choice in (None, node.argument)
        filled = len(one.slots) == len(types) and all(map(tuple.__contains__, one.slots, types))
        if alike and filled:
            return number
    raise ValueError(f"{node.module} is no module of programs over spans")

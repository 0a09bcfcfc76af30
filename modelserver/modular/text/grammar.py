"""The grammar of programs over spans, built from the table of modules.

A program is written from the root down, left before right. At each step the next open slot of the tree
determines which types it takes, and a production fits if its type is one of them. Every program that
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
    """A module with its type, its slots, and its argument if that is fixed."""

    module: str
    output: Type
    slots: tuple[Slot, ...]
    choice: str | None = None

    @property
    def worded(self) -> bool:
        """Return True if the module takes words of the question."""
        return self.module in WORDED


@cache
def list_all_productions() -> tuple[Production, ...]:
    """Return all productions in table order, by which networks number them."""
    return tuple(
        production for module in MODULES["spans"].values() for production in _list_productions(module)
    )


def _list_productions(module: Module) -> Iterator[Production]:
    for choice in module.choices or (None,):
        for slots in _list_fillings(module):
            yield Production(module.name, module.output or slots[0][0], slots, choice)


def _list_fillings(module: Module) -> Iterator[tuple[Slot, ...]]:
    """Yield the ways of filling a module: the types allowed in each slot."""
    for count in range(module.least, len(module.inputs) + 1):
        slots = module.inputs[:count]
        if module.output is None:  # the type of the first input is that of the whole
            yield from (((type_,), *slots[1:]) for type_ in slots[0])
        elif count < len(module.inputs):
            yield tuple(tuple(type_ for type_ in slot if type_ in OBJECTS) for slot in slots)
        elif module.alike:
            for dated in (False, True):
                yield tuple(tuple(type_ for type_ in slot if (type_ == "dates") == dated) for slot in slots)
        else:
            yield slots


@dataclass(frozen=True)
class Language:
    """The modules that programs may use, which also depend on the passage.

    Some need extract-answer, some sort or compare. ``numbers`` and ``dates`` tell if the passage states
    any: without them, nothing can look for them.
    """

    extract: bool = True
    sorting: bool = True
    numbers: bool = True
    dates: bool = True

    def can_use(self, module: str) -> bool:
        """Return whether programs of the language may use a module."""
        return not (
            (module == "extract-answer" and not self.extract)
            or (module in SORTING and not self.sorting)
            or (module in NEEDS_NUMBER and not self.numbers)
            or (module in NEEDS_DATE and not self.dates)
        )

    @cached_property
    def smallest(self) -> dict[Type, float]:
        """Return the fewest nodes of a program of each type; infinite if none."""
        fewest: dict[Type, float] = dict.fromkeys(ROOTS, math.inf)
        usable = [production for production in list_all_productions() if self.can_use(production.module)]
        while True:
            before = dict(fewest)
            for production in usable:
                size = 1 + sum(min(fewest[type_] for type_ in slot) for slot in production.slots)
                fewest[production.output] = min(fewest[production.output], size)
            if fewest == before:
                return fewest

    def room(self, slots: Sequence[Slot]) -> float:
        """Return the fewest nodes that fill all of these places."""
        return sum(min(self.smallest[type_] for type_ in slot) for slot in slots)

    def can_express(self, program: Program) -> bool:
        """Return whether a program uses only modules of the language."""
        return all(self.can_use(node.module) for node in program.nodes)


@dataclass(frozen=True)
class Derivation:
    """A program in the making: productions taken, and open slots, next last."""

    taken: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    open: tuple[tuple[Slot, int], ...] = field(default=((ROOTS, 0),))  # types, depth

    @property
    def done(self) -> bool:
        """Return True if no slot is open."""
        return not self.open

    def list_allowed(self, language: Language, most: int = MOST_NODES) -> list[int]:
        """Return the productions that fit and allow an end within ``most`` nodes."""
        if self.done:
            return []
        (wanted, _), rest = self.open[-1], [slot for slot, _ in self.open[:-1]]
        left = most - len(self.taken) - 1 - language.room(rest)
        return [
            number
            for number, production in enumerate(list_all_productions())
            if production.output in wanted
            and language.can_use(production.module)
            and language.room(production.slots) <= left
        ]

    def take(self, number: int) -> Derivation:
        """Return the derivation with one production more.

        Raises ValueError if it does not fit.
        """
        production = list_all_productions()[number]
        if self.done or production.output not in self.open[-1][0]:
            raise ValueError(f"{production.module} does not fit here")
        depth = self.open[-1][1]
        below = tuple((slot, depth + 1) for slot in reversed(production.slots))
        return Derivation((*self.taken, number), (*self.depths, depth), (*self.open[:-1], *below))

    def program(self, words: Sequence[str | None] = ()) -> Program:
        """Return the program.

        Args:
            words: An argument for each node, used for those that take words.
        """
        given = tuple(words) or (None,) * len(self.taken)
        taken = [list_all_productions()[number] for number in self.taken]
        parts = [
            Part(depth, production.module, production.choice or (argument if production.worded else None), 0)
            for production, depth, argument in zip(taken, self.depths, given, strict=True)
        ]
        return build("spans", parts, "")


def build_derivation(program: Program) -> Derivation:
    """Return the one derivation of a program over spans."""
    result = Derivation()
    for node in program.nodes:
        result = result.take(_find_production(program, node))
    return result


def _find_production(program: Program, node: Node) -> int:
    types = [program.nodes[child].type for child in node.children]
    for number, production in enumerate(list_all_productions()):
        alike = (production.module, production.output) == (node.module, node.type)
        filled = len(production.slots) == len(types) and all(map(tuple.__contains__, production.slots, types))
        if alike and filled and production.choice in (None, node.argument):
            return number
    raise ValueError(f"{node.module} is not a module of programs over spans")

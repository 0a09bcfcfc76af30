"""Programs: nodes in pre-order, typed, and properties of their shape."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

from .errors import ProgramError
from .modules import ALIASES, MODULES, OBJECTS, Kind, Module, Role, Type
from .notation import format_module

MOST_DEEP = 100  # levels; programs of people and parsers stay below 20, and the walks below are recursive


class Part(NamedTuple):
    """A node as it was read: depth, name as typed, argument and offset."""

    depth: int
    name: str
    argument: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Node:
    """Node of a program: a module.

    Attributes:
        index: Index into the program's nodes, in pre-order.
        module: Name with hyphens.
        argument: Words or number in its brackets; None without one.
        children: Indices of the children.
        parent: Index of the parent; None for the root.
        depth: Number of modules above it.
        type: Type of its output.
        role: The task of a person at it.
    """

    index: int
    module: str
    argument: str | None
    children: tuple[int, ...]
    parent: int | None
    depth: int
    type: Type
    role: Role


def describe(node: Node) -> str:
    """Name a node as a person would: find “dogs”, in left image.

    Args:
        node: A node of a program.

    Returns:
        The name of the module, and its argument in quotation marks.
    """
    words = node.module.replace("-", " ")
    return f"{words} “{node.argument}”" if node.argument else words


@dataclass(frozen=True)
class Program:
    """Program: nodes in pre-order; the first is the root.

    Made by `parse`, `parse_lines` and `program_of`.

    Attributes:
        kind: "boxes" or "spans".
        nodes: In pre-order; the first is the root.
    """

    kind: Kind
    nodes: tuple[Node, ...]

    @property
    def root(self) -> Node:
        """The first node."""
        return self.nodes[0]

    @property
    def type(self) -> Type:
        """Type of the whole program's result."""
        return self.nodes[0].type

    @property
    def depth(self) -> int:
        """The number of modules on the longest way from the root down."""
        return 1 + max(node.depth for node in self.nodes)

    @cached_property
    def representative(self) -> tuple[int, ...]:
        """For each node the index of the first equal subtree, perhaps itself.

        Equal subtrees have equal outputs, so they are annotated once, at their
        representative.
        """
        first: dict[tuple[str, str | None, tuple[int, ...]], int] = {}
        names: dict[int, int] = {}  # node to a number that equal subtrees share
        for node in reversed(self.nodes):
            key = (node.module, node.argument, tuple(names[child] for child in node.children))
            names[node.index] = first.setdefault(key, len(first))
        earliest: dict[int, int] = {}
        for index in range(len(self.nodes)):
            earliest.setdefault(names[index], index)
        return tuple(earliest[names[index]] for index in range(len(self.nodes)))

    @cached_property
    def walk(self) -> tuple[int, ...]:
        """Representatives bottom-up: children before parents, left before right."""
        order: dict[int, None] = {}
        for index in self._bottom_up(0):
            order[self.representative[index]] = None
        return tuple(order)

    def _bottom_up(self, index: int) -> Iterator[int]:
        for child in self.nodes[index].children:
            yield from self._bottom_up(child)
        yield index

    def module(self, index: int) -> Module:
        """Return the table's row for a node.

        Args:
            index: Index of the node.

        Returns:
            The row, with inputs, output and meaning of the module.
        """
        return MODULES[self.kind][self.nodes[index].module]

    def end(self, index: int) -> int:
        """Return the index after the last node of a subtree.

        Its nodes are `index` to `end`, exclusive.

        Args:
            index: Index of the node at the top of the subtree.

        Returns:
            An index from 1 to the number of nodes.
        """
        depth = self.nodes[index].depth
        after = range(index + 1, len(self.nodes))
        return next((later for later in after if self.nodes[later].depth <= depth), len(self.nodes))

    def height(self, index: int) -> int:
        """Count the modules on the longest way down to a leaf (a leaf: 1).

        Args:
            index: Index of the node at the top of the subtree.

        Returns:
            A number of at least 1.
        """
        below = self.nodes[index : self.end(index)]
        return 1 + max(node.depth for node in below) - self.nodes[index].depth

    def subtree(self, index: int) -> "Program":
        """Return the program rooted at a node; its nodes count from 0 again.

        Args:
            index: Index of the node at the top of the subtree.

        Returns:
            A program of its own.
        """
        depth = self.nodes[index].depth
        below = self.nodes[index : self.end(index)]
        moved = (
            replace(
                node,
                index=node.index - index,
                children=tuple(child - index for child in node.children),
                parent=None if node.index == index or node.parent is None else node.parent - index,
                depth=node.depth - depth,
            )
            for node in below
        )
        return Program(self.kind, tuple(moved))

    def text(self, index: int = 0) -> str:
        """Print a subtree on one line; `parse` reads it back.

        Args:
            index: Index of the node at the top of the subtree.

        Returns:
            Nested text such as `equal(count(find[dogs]), 2)`.
        """
        written: list[str] = []
        top = before = self.nodes[index].depth
        for node in self.nodes[index : self.end(index)]:
            if written:
                written.append("(" if node.depth > before else ")" * (before - node.depth) + ", ")
            written.append(format_module(node.module, node.argument))
            before = node.depth
        return "".join(written) + ")" * (before - top)

    def __str__(self) -> str:
        return self.text()


def build(kind: Kind, parts: Iterable[Part], text: str, *, root: Type | None = None) -> Program:
    """Check that parts in pre-order make a program, and make it.

    root: the type that the whole must give; None for any. `text` is where the parts were read.
    Raises ProgramError at the first node that is unknown, at the wrong depth, or does not fit, and ValueError
    for an unknown kind or root.
    """
    if kind not in MODULES:
        raise ValueError(f"kind must be one of {', '.join(map(repr, MODULES))}, not {kind!r}")
    if root is not None and root not in _NOUNS:
        raise ValueError(f"root must be None or one of {', '.join(map(repr, _NOUNS))}, not {root!r}")
    read = list(parts)
    modules = [_resolve_module(kind, part, text) for part in read]
    parents, children = _build_tree(read, text)
    types: list[Type] = ["truth"] * len(read)
    for index in reversed(range(len(read))):  # children first: their types decide
        types[index] = _infer_type(read, modules, children, types, index, text)
    if root is not None and types[0] != root:
        message = f"“{modules[0].name}” gives {_NOUNS[types[0]]}, but the program must give {_NOUNS[root]}"
        raise ProgramError.from_offset(message, text, read[0].offset)
    return Program(
        kind,
        tuple(
            Node(i, m.name, part.argument, tuple(children[i]), parents[i], part.depth, types[i], m.role)
            for i, (part, m) in enumerate(zip(read, modules, strict=True))
        ),
    )


_NOUNS: dict[Type, str] = {
    "boxes": "boxes",
    "spans": "spans",
    "numbers": "numbers in the text",
    "dates": "dates in the text",
    "number": "a number",
    "truth": "a truth value",
}


def _resolve_module(kind: Kind, part: Part, text: str) -> Module:
    table = MODULES[kind]
    module = table.get(part.name)
    if module is None:
        name = "-".join(part.name.lower().replace("_", " ").replace("-", " ").split())
        module = table.get(ALIASES[kind].get(name, name))
        if module is None:
            raise ProgramError.from_offset(_describe_unknown_module(kind, part.name, name), text, part.offset)
    if part.argument is None:
        if module.argument == "required":
            message = f"“{module.name}” needs an argument, {_join_alternatives(module.choices)}"
            raise ProgramError.from_offset(message, text, part.offset)
    elif module.argument == "none":
        raise ProgramError.from_offset(f"“{module.name}” takes no argument in [ ]", text, part.offset)
    elif module.choices and part.argument not in module.choices:
        choices = _join_alternatives(module.choices)
        message = f"the argument of “{module.name}” must be {choices}, not “{part.argument}”"
        raise ProgramError.from_offset(message, text, part.offset)
    return module


def _describe_unknown_module(kind: Kind, typed: str, name: str) -> str:
    if not name:
        return "a module’s name is missing"
    if name.isdecimal():
        return f"the number {typed.strip()} is out of range: programs know the numbers 0 to 9"
    near = get_close_matches(name, MODULES[kind], n=1)
    hint = f"; did you mean “{near[0]}”?" if near else ""
    return f"no module of programs over {kind} is called “{typed.strip()}”{hint}"


def _build_tree(read: list[Part], text: str) -> tuple[list[int | None], list[list[int]]]:
    """Derive parents and children from the depths."""
    parents: list[int | None] = []
    children: list[list[int]] = [[] for _ in read]
    above: list[int] = []  # the way from the root to the node before
    for index, part in enumerate(read):
        if index and part.depth == 0:
            raise ProgramError.from_offset("a program has one root; this is a second one", text, part.offset)
        if part.depth > len(above):
            message = f"this stands {part.depth} deep, but the line before allows {len(above)} at most"
            raise ProgramError.from_offset(message, text, part.offset)
        if part.depth >= MOST_DEEP:
            raise ProgramError.from_offset(f"a program has {MOST_DEEP} levels at most", text, part.offset)
        del above[part.depth :]
        parents.append(above[-1] if above else None)
        if above:
            children[above[-1]].append(index)
        above.append(index)
    return parents, children


def _infer_type(
    read: list[Part],
    modules: list[Module],
    children: list[list[int]],
    types: list[Type],
    index: int,
    text: str,
) -> Type:
    """Check a node against its children, and say what it gives."""
    module, below = modules[index], children[index]
    if not module.least <= len(below) <= len(module.inputs):
        message = f"“{module.name}” takes {_describe_inputs(module)}, but has {len(below)}"
        raise ProgramError.from_offset(message, text, read[index].offset)
    for child, allowed in zip(below, module.inputs, strict=False):
        if types[child] not in allowed:
            wanted = _join_alternatives(tuple(_NOUNS[type_] for type_ in allowed))
            message = (
                f"“{modules[child].name}” gives {_NOUNS[types[child]]}, but “{module.name}” needs {wanted}"
            )
            raise ProgramError.from_offset(message, text, read[child].offset)
    if len(below) < len(module.inputs) and types[below[0]] not in OBJECTS:
        message = (
            f"“{module.name}” of one input needs numbers or dates in the text, not {_NOUNS[types[below[0]]]}"
        )
        raise ProgramError.from_offset(message, text, read[below[0]].offset)
    if module.alike and len({types[child] == "dates" for child in below}) > 1:
        message = f"“{module.name}” needs two dates or two numbers, not one of each"
        raise ProgramError.from_offset(message, text, read[index].offset)
    return module.output or types[below[0]]


def _describe_inputs(module: Module) -> str:
    most = len(module.inputs)
    number = str(most) if module.least == most else f"{module.least} to {most}"
    return "nothing in ( )" if not most else f"{number} input" + ("s" if most > 1 else "")


def _join_alternatives(words: tuple[str, ...]) -> str:
    return " or ".join(words)

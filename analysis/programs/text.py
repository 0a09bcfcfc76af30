"""Programs as nested text: `equal(count(find[dogs]), 2)`.

A name may be typed with spaces, underscores or hyphens and in any case; it prints with hyphens.
`analysis.programs.notation` says how an argument is written.
"""

import re
from collections.abc import Iterator

from .errors import ProgramError
from .modules import Kind, Type
from .notation import format_module, read_argument
from .program import Part, Program, build

WIDTH = 80
_NAME = re.compile(r"\s*([^\s\[\](),\\](?:[^\[\](),\\]*[^\s\[\](),\\])?)\s*")
_SPACE = re.compile(r"\s*")


def parse(text: str, *, kind: Kind, root: Type | None = None) -> Program:
    """Read a program from nested text.

    Args:
        text: Such as `equal(count(find[dogs]), 2)`.
        kind: "boxes" or "spans", which decides on the modules.
        root: Type that the whole program must give, such as "truth" for a statement; None for any.

    Returns:
        The checked program.

    Raises:
        ProgramError: The text is no program; names the column and says what was expected.
        ValueError: `kind` or `root` is unknown.
    """
    return build(kind, _parse_parts(text), text, root=root)


def format_indented(program: Program, width: int = WIDTH) -> str:
    """Print a program over several lines.

    An input that does not fit into the width is indented below its parent.

    Args:
        program: Program to print.
        width: Most characters of a line, unless a single module needs more.

    Returns:
        Text that `parse` reads back.
    """
    return "\n".join(_lay_out(program, 0, "", "", width))


def _parse_parts(text: str) -> Iterator[Part]:
    """Yield the nodes in pre-order.

    A loop instead of recursion, so that depth is not a limit.
    """
    opened: list[int] = []  # where each open bracket stands
    offset = 0
    while True:
        name = _NAME.match(text, offset)
        if name is None:
            expected = "a module’s name" if not opened else "an input of the module before"
            raise _make_unexpected_error(text, offset, expected)
        argument, offset = read_argument(text, name.end())
        offset = _skip_space(text, offset)
        yield Part(len(opened), name[1], argument, name.start(1))
        if text[offset : offset + 1] == "(":
            inside = _skip_space(text, offset + 1)
            if text[inside : inside + 1] != ")":
                opened.append(offset)
                offset += 1
                continue
            offset = _skip_space(text, inside + 1)
        offset = _close(text, offset, opened)
        if not opened:
            return
        offset += 1  # the comma


def _close(text: str, offset: int, opened: list[int]) -> int:
    """Pass closing brackets, up to the next input's comma or the end."""
    while opened:
        letter = text[offset : offset + 1]
        if letter == ",":
            return offset
        if letter != ")":
            if not letter:
                raise ProgramError.from_offset(
                    "the bracket that opens here is never closed", text, opened[-1]
                )
            raise _make_unexpected_error(text, offset, "“,” or “)”")
        opened.pop()
        offset = _skip_space(text, offset + 1)
    if offset < len(text):
        raise _make_unexpected_error(text, offset, "the end")
    return offset


def _make_unexpected_error(text: str, offset: int, expected: str) -> ProgramError:
    offset = _skip_space(text, offset)
    actual = f"“{text[offset]}”" if offset < len(text) else "the end"
    return ProgramError.from_offset(f"expected {expected}, found {actual}", text, offset)


def _skip_space(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _lay_out(program: Program, index: int, indent: str, after: str, width: int) -> Iterator[str]:
    node = program.nodes[index]
    flat = indent + program.text(index) + after
    if len(flat) <= width or not node.children:
        yield flat
        return
    yield f"{indent}{format_module(node.module, node.argument)}("
    for child in node.children:
        comma = "," if child != node.children[-1] else ""
        yield from _lay_out(program, child, indent + "  ", comma, width)
    yield f"{indent}){after}"

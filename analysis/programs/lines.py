"""Programs as lines: the cells of the faithful-nmn table.

Each line is one module, its depth shown by leading dots:

    equal
    .count
    ..find[1]
    .2[0]

There an argument lists positions of the sentence's tokens. Given the tokens,
these become words, joined by spaces; without them the positions stay, as text.
In lines that Touchstone writes any argument can stand, escaped as in nested
text, so that reading gives the program back.
"""

import re
from collections.abc import Iterator, Sequence

from .errors import ProgramError
from .modules import Kind, Type
from .notation import format_module, read_argument
from .program import Part, Program, build

_LINE = re.compile(r"(\.*)([^\[\]\n]*)")
_POSITIONS = re.compile(r"\s*\d+\s*(,\s*\d+\s*)*")


def parse_lines(
    text: str, *, kind: Kind, tokens: Sequence[str] | None = None, root: Type | None = None
) -> Program:
    """Read a program from lines.

    Args:
        text: A module a line, with a dot for each level.
        kind: "boxes" or "spans", which decides on the modules.
        tokens: Tokens of the sentence; arguments are then positions in them (from 0) and become words.
        root: Type that the whole program must give, such as "truth" for a statement; None for any.

    Returns:
        The checked program.

    Raises:
        ProgramError: The text is no program; names line and column.
        ValueError: `kind` or `root` is unknown.
    """
    return build(kind, _parse_parts(text, tokens), text, root=root)


def print_lines(program: Program) -> str:
    """Print a program as lines, names with underscores.

    `parse_lines` without tokens reads it back.

    Args:
        program: Program to print.

    Returns:
        A line per module, with a dot for each level.

    Examples:
        >>> from analysis.programs import parse
        >>> print(print_lines(parse("equal(count(find[dogs]), 2)", kind="boxes")))
        equal
        .count
        ..find[dogs]
        .2
    """
    named = ((node, node.module.replace("-", "_")) for node in program.nodes)
    return "\n".join("." * node.depth + format_module(name, node.argument) for node, name in named)


def _parse_parts(text: str, tokens: Sequence[str] | None) -> Iterator[Part]:
    start = 0
    while True:
        line = _LINE.match(text, start)
        assert line is not None  # it also matches nothing
        argument, end = read_argument(text, line.end())
        end = _end_of_line(text, end)
        if argument is not None and tokens is not None:
            argument = _join_argument_tokens(argument, tokens, text, line.end())
        yield Part(len(line[1]), line[2].strip(), argument, line.start(2))
        if end == len(text):
            return
        start = end + 1


def _end_of_line(text: str, start: int) -> int:
    stop = text.find("\n", start)
    stop = len(text) if stop < 0 else stop
    rest = text[start:stop]
    if rest.strip():
        offset = start + len(rest) - len(rest.lstrip())
        raise ProgramError.from_offset(f"expected the end of the line, found “{text[offset]}”", text, offset)
    return stop


def _join_argument_tokens(argument: str, tokens: Sequence[str], text: str, offset: int) -> str:
    """Return the tokens that an argument names."""
    if not _POSITIONS.fullmatch(argument):
        raise ProgramError.from_offset("expected positions of tokens, such as [1] or [3,4]", text, offset)
    positions = [int(position) for position in argument.split(",")]
    beyond = [position for position in positions if position >= len(tokens)]
    if beyond:
        message = f"there is no token {beyond[0]}: the sentence has {len(tokens)}, counted from 0"
        raise ProgramError.from_offset(message, text, offset)
    return " ".join(tokens[position] for position in positions)

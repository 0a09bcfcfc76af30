"""Programs over boxes and spans: read, check, print, share, execute.

program = parse("equal(count(find[dogs]), 2)", kind="boxes")
program.nodes      in pre-order; each with module, argument, children, depth, type and role
program.walk       the order of work: distinct subtrees, children before parents
str(program)       the text again
"""

from .drop import lists_of, program_of
from .errors import ProgramError
from .execution import Execution, FoundBox, FoundSpan, Value
from .lines import parse_lines, print_lines
from .modules import MODULES, OBJECTS, Kind, Module, Role, Type
from .program import Node, Program, describe
from .running import execute, is_answer_consistent, run
from .text import format_indented, parse
from .values import date_of, number_of

__all__ = [
    "MODULES",
    "OBJECTS",
    "Execution",
    "FoundBox",
    "FoundSpan",
    "Kind",
    "Module",
    "Node",
    "Program",
    "ProgramError",
    "Role",
    "Type",
    "Value",
    "date_of",
    "describe",
    "execute",
    "format_indented",
    "is_answer_consistent",
    "lists_of",
    "number_of",
    "parse",
    "parse_lines",
    "print_lines",
    "program_of",
    "run",
]

"""The language of programs over boxes and spans: read, check, print, share, execute.

program = parse("equal(count(find[dogs]), 2)", kind="boxes")
program.nodes      in pre-order; each with module, argument, children, depth, type and role
program.walk       the order of work: distinct subtrees, children before parents
str(program)       the text again
"""

from analysis.programs.errors import ProgramError
from analysis.programs.lines import parse_lines, print_lines
from analysis.programs.modules import MODULES, OBJECTS, Kind, Module, Role, Type
from analysis.programs.program import Node, Program
from analysis.programs.text import parse, pretty

__all__ = [
    "MODULES",
    "OBJECTS",
    "Kind",
    "Module",
    "Node",
    "Program",
    "ProgramError",
    "Role",
    "Type",
    "parse",
    "parse_lines",
    "pretty",
    "print_lines",
]

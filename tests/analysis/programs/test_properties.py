"""Printing and reading are inverse for every program and argument.

Malformed text raises only the project's own error.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.programs import MODULES, Program, ProgramError, format_indented, parse, parse_lines, print_lines
from analysis.programs.program import Part, build

ARGUMENTS = st.text() | st.text(alphabet="[](),.\\ \n\r\tn\u2028\u00a0\x1c😀e\u0301ש", max_size=12)
KINDS = st.sampled_from(["boxes", "spans"])


@st.composite
def programs(draw) -> Program:
    """Draw a program of any type, from the root down.

    Each child gives a type that its parent takes.
    """
    kind = draw(KINDS)
    parts: list[Part] = []

    def grow(types, depth):
        fitting = [m for m in MODULES[kind].values() if fits(m, types, depth)]
        module = draw(st.sampled_from(fitting))
        argument = draw(st.sampled_from(module.choices)) if module.choices else None
        if module.argument == "optional":
            argument = draw(st.none() | ARGUMENTS)
        parts.append(Part(depth, module.name, argument, 0))
        for number in range(draw(st.integers(module.least, len(module.inputs)))):
            below = module.inputs[number]
            if module.output is None and number == 0:
                below = tuple(t for t in below if t in types)
            if module.alike:
                below = ("dates",)
            grow(below, depth + 1)

    def fits(module, types, depth):
        if depth > 6 and module.inputs and module.name not in ("find-num", "find-date", "count", "exist"):
            return False
        given_types = (module.output,) if module.output else module.inputs[0]
        return any(t in types for t in given_types)

    grow(("boxes", "spans", "numbers", "dates", "number", "truth"), 0)
    return build(kind, parts, "")


@settings(max_examples=150, deadline=None)
@given(programs())
def test_nested_text(program):
    assert parse(str(program), kind=program.kind) == program


@settings(max_examples=100, deadline=None)
@given(programs())
def test_lines(program):
    printed = print_lines(program)
    assert len(printed.split("\n")) == len(program.nodes)
    assert parse_lines(printed, kind=program.kind) == program


@settings(max_examples=75, deadline=None)
@given(programs(), st.integers(0, 120))
def test_laid_out_text(program, width):
    assert parse(format_indented(program, width), kind=program.kind) == program


@settings(max_examples=100, deadline=None)
@given(programs())
def test_shared_subtrees_are_equal_and_the_walk_is_bottom_up(program):
    for index, first in enumerate(program.representative):
        assert program.subtree(index) == program.subtree(first)
        assert first <= index
    distinct = {str(program.subtree(index)) for index in range(len(program.nodes))}
    assert len(program.walk) == len(set(program.walk)) == len(distinct)
    done: set[int] = set()
    for index in program.walk:
        assert {program.representative[child] for child in program.nodes[index].children} <= done
        done.add(index)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="find count[]()\\,.1\n_-") | st.text(), KINDS)
def test_any_text_is_a_program_or_our_error(text, kind):
    for read in (parse, parse_lines):
        program, error = attempt(read, text, kind)
        if program is not None:
            assert read(str(program) if read is parse else print_lines(program), kind=kind) == program
        else:
            line = text.split("\n")[error.line - 1]
            assert 1 <= error.column <= len(line) + 1
            assert line in str(error)


def attempt(read, text, kind):
    try:
        return read(text, kind=kind), None
    except ProgramError as error:
        return None, error

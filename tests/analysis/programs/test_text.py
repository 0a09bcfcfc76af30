"""Nested text: reading, printing, and errors at their place."""

import pytest

from analysis.programs import ProgramError, format_indented, parse


def test_it_works():
    program = parse("equal(count(find[dogs]), count(filter[black](find[dogs])))", kind="boxes")
    assert [node.module for node in program.nodes] == ["equal", "count", "find", "count", "filter", "find"]
    assert [node.depth for node in program.nodes] == [0, 1, 2, 1, 2, 3]
    assert [node.parent for node in program.nodes] == [None, 0, 1, 0, 3, 4]
    assert [node.type for node in program.nodes] == ["truth", "number", "boxes", "number", "boxes", "boxes"]
    assert program.representative == (0, 1, 2, 3, 4, 2)
    assert program.walk == (2, 1, 4, 3, 0)
    assert str(program) == "equal(count(find[dogs]), count(filter[black](find[dogs])))"


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("Equal( Count (find [ dogs ] ) , 2 )", "equal(count(find[dogs]), 2)"),
        (
            "in left image(with_relation[on](find[a],find[b]))",
            "in-left-image(with-relation[on](find[a], find[b]))",
        ),
        ("find[a](\n)", "find[a]"),
        ("exist(relocate[tail](find))", "exist(project[tail](find))"),
        (r"find[a \[b\], c\\d]", r"find[a \[b\], c\\d]"),
        ("find[]", "find[]"),
        ("1[one]", "1[one]"),
    ],
)
def test_what_a_person_types_is_read(typed, printed):
    assert str(parse(typed, kind="boxes")) == printed


@pytest.mark.parametrize(
    ("typed", "column", "message"),
    [
        ("", 1, "expected a module’s name, found the end"),
        ("cuont(find)", 1, "did you mean “count”"),
        ("count(find[a)", 11, "no “]”"),
        ("count(find[a[b])", 13, r"\["),
        ("count(find[a]", 6, "never closed"),
        ("count(find))", 12, "expected the end, found “)”"),
        ("count(find find[a])", 7, "called “find find”"),
        ("count(find[a] find[b])", 15, "expected “,” or “)”"),
        ("equal(count(find), 12)", 20, "0 to 9"),
        ("equal(count(find))", 1, "takes 2 inputs, but has 1"),
        ("count(count(find))", 7, "“count” gives a number, but “count” needs boxes"),
        ("count[a](find)", 1, "takes no argument"),
    ],
)
def test_an_error_names_its_column(typed, column, message):
    with pytest.raises(ProgramError) as caught:
        parse(typed, kind="boxes")
    assert caught.value.column == column
    assert message in caught.value.message
    assert str(caught.value).endswith("\n" + " " * (column - 1) + "^")


def test_a_long_program_is_laid_out():
    program = parse("equal(count(find[dogs]), count(filter[black](find[dogs])))", kind="boxes")
    assert format_indented(program, 40).splitlines() == [
        "equal(",
        "  count(find[dogs]),",
        "  count(filter[black](find[dogs]))",
        ")",
    ]
    assert parse(format_indented(program, 10), kind="boxes") == program

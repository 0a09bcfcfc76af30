"""Lines with leading dots: the form of the released table."""

import pytest

from analysis.programs import ProgramError, parse, parse_lines, print_lines

LINES = "equal\n.count\n..with_relation[3,4]\n...find[1]\n...find[5]\n.1[0]"
TOKENS = ["one", "dog", "is", "on", "a", "sofa", "."]


def test_it_works():
    program = parse_lines(LINES, kind="boxes")
    assert str(program) == "equal(count(with-relation[3,4](find[1], find[5])), 1[0])"
    assert print_lines(program) == LINES


def test_positions_become_words():
    program = parse_lines(LINES, kind="boxes", tokens=TOKENS)
    assert str(program) == "equal(count(with-relation[on a](find[dog], find[sofa])), 1[one])"


def test_the_same_program_from_both_forms():
    assert parse_lines(".count\n..find".replace(".", "", 1).replace("\n.", "\n"), kind="boxes") == parse(
        "count(find)", kind="boxes"
    )


@pytest.mark.parametrize(
    ("lines", "line", "column", "message"),
    [
        ("count\n..find", 2, 3, "2 deep"),
        ("find\nfind", 2, 1, "one root"),
        (".find", 1, 2, "1 deep"),
        ("count\n\n.find", 2, 1, "name is missing"),
        ("count\n.find[1] x", 2, 10, "end of the line"),
        ("count\n.find[1", 2, 6, "no “]”"),
        ("count\n.cuont", 2, 2, "did you mean “count”"),
        ("exist\n.equal\n..1\n..1", 2, 2, "gives a truth value, but “exist” needs boxes"),
        ("equal\n.1\n.10", 3, 2, "0 to 9"),
    ],
)
def test_an_error_names_line_and_column(lines, line, column, message):
    with pytest.raises(ProgramError) as caught:
        parse_lines(lines, kind="boxes")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message
    printed = str(caught.value).splitlines()
    assert printed[-2:] == [lines.split("\n")[line - 1], " " * (column - 1) + "^"]


@pytest.mark.parametrize(
    ("argument", "message"), [("7", "there is no token 7"), ("dog", "positions of tokens")]
)
def test_positions_must_be_in_the_sentence(argument, message):
    with pytest.raises(ProgramError, match=message):
        parse_lines(f"find[{argument}]", kind="boxes", tokens=TOKENS)


def test_a_root_of_another_type_is_refused():
    with pytest.raises(ProgramError, match="gives a number, but the program must give a truth value"):
        parse_lines("count\n.find", kind="boxes", root="truth")


def test_files_with_carriage_returns_are_read():
    assert parse_lines(LINES.replace("\n", "\r\n"), kind="boxes") == parse_lines(LINES, kind="boxes")

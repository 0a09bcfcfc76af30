"""The shape of a program: sharing, the order of work, parts of it."""

import pytest

from analysis.programs import MODULES, ProgramError, describe, parse

TEXT = "and(exist(filter[big](find[dog])), equal(count(filter[big](find[dog])), count(find[cat])))"


def test_equal_subtrees_are_annotated_once():
    program = parse(TEXT, kind="boxes")
    assert program.representative == (0, 1, 2, 3, 4, 5, 2, 3, 8, 9)
    assert program.walk == (3, 2, 1, 5, 9, 8, 4, 0)


def test_equal_words_in_other_modules_are_not_shared():
    program = parse("with-relation(find[a], filter[a](find[b]))", kind="boxes")
    assert program.representative == (0, 1, 2, 3)


def test_a_missing_and_an_empty_argument_differ():
    assert parse("with-relation(find, find[])", kind="boxes").representative == (0, 1, 2)


def test_parts_of_a_program():
    program = parse(TEXT, kind="boxes")
    assert str(program.subtree(4)) == "equal(count(filter[big](find[dog])), count(find[cat]))"
    assert program.subtree(4) == parse(str(program.subtree(4)), kind="boxes")
    assert (program.depth, program.height(2), program.height(3), program.end(1)) == (5, 2, 1, 4)
    assert (program.type, program.root.module, program.module(2).meaning) == (
        "truth", "and", "those that the words hold for",
    )  # fmt: skip


def test_roles_say_what_a_person_does():
    program = parse("count(in-left-image(project[tail](filter[big](find[dog]))))", kind="boxes")
    assert [node.role for node in program.nodes] == ["compute", "compute", "link", "choose", "draw"]


def test_a_node_as_a_person_would_name_it():
    program = parse("count(in-left-image(find[dogs]))", kind="boxes")
    assert [describe(node) for node in program.nodes] == ["count", "in left image", "find “dogs”"]


@pytest.mark.parametrize("text", ["filter[big]", "filter[big](find, find)", "find(find)"])
def test_the_number_of_inputs_is_checked(text):
    with pytest.raises(ProgramError, match=r"takes .*, but has"):
        parse(text, kind="boxes")


def test_chosen_objects_keep_the_type_of_those_they_are_chosen_from():
    assert parse("find-max-num(find-num(find))", kind="spans").type == "numbers"
    assert parse("find-max-num(find)", kind="spans").type == "spans"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num-compare(find, find)", "needs an argument, greater or less"),
        ("num-compare[big](find, find)", "must be greater or less, not “big”"),
        ("subtraction(find-num(find), find-date(find))", "two dates or two numbers"),
        ("subtraction(count(find))", "of one input needs numbers or dates in the text, not a number"),
        ("find-max-num(count(find))", "“count” gives a number"),
        ("exist(find)", "programs over spans"),
    ],
)
def test_programs_over_spans_are_typed_too(text, message):
    with pytest.raises(ProgramError, match=message):
        parse(text, kind="spans")


def test_a_program_too_deep_to_work_with_is_refused():
    text = "filter(" * 200 + "find" + ")" * 200
    with pytest.raises(ProgramError, match="100 levels at most"):
        parse(text, kind="boxes")


@pytest.mark.parametrize("kind", ["boxes", "spans"])
def test_the_table_is_sound(kind):
    for name, module in MODULES[kind].items():
        assert module.name == name
        assert module.output is not None or module.inputs, name  # else nothing says what it gives
        assert module.least <= len(module.inputs), name
        assert module.role != "choose" or module.output is None, name
        assert bool(module.choices) == (module.argument == "required"), name

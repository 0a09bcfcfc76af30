"""Execution of programs over boxes: every module of N20's Table 3.

Boxes are present or absent.
"""

import pytest

from analysis.programs import execute, is_answer_consistent, parse, run

LEFT_DOG = (0, (0.0, 0.0, 0.4, 0.4))
LEFT_CAT = (0, (0.5, 0.5, 0.9, 0.9))
RIGHT_DOG = (1, (0.1, 0.1, 0.5, 0.5))
RIGHT_CAT = (1, (0.6, 0.1, 0.9, 0.5))
NEARLY_LEFT_DOG = (0, (0.0, 0.0, 0.4, 0.41))


def value(text, outputs, **options):
    return run(parse(text, kind="boxes"), outputs, **options).value


def test_it_works():
    program = parse("equal(count(find[dogs]), count(filter[black](find[dogs])))", kind="boxes")
    outputs = {2: [LEFT_DOG, RIGHT_DOG], 4: [RIGHT_DOG]}
    assert execute(program, outputs) == (False, 2, 2, 1, 1, 2)
    assert execute(program, {**outputs, 4: outputs[2]})[0] is True


def test_what_nobody_looked_at_is_unknown_and_so_is_all_above():
    program = parse("equal(count(find[dogs]), count(filter[black](find[dogs])))", kind="boxes")
    assert execute(program, {2: [LEFT_DOG]}) == (None, 1, 1, None, None, 1)
    assert execute(program, {}) == (None,) * 6


def test_nothing_there_is_not_unknown():
    assert execute(parse("exist(find[dogs])", kind="boxes"), {1: []}) == (False, 0)


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("equal", (False, True, False)),
        ("less", (True, False, False)),
        ("less-equal", (True, True, False)),
        ("greater", (False, False, True)),
        ("greater-equal", (False, True, True)),
    ],
)
def test_comparisons(module, expected):
    outputs = {2: [LEFT_DOG, RIGHT_DOG]}
    assert tuple(value(f"{module}(count(find), {n})", outputs) for n in (3, 2, 1)) == expected


def test_arithmetic():
    outputs = {2: [LEFT_DOG, RIGHT_DOG], 4: [LEFT_CAT]}
    values = [
        value(f"{name}(count(find[a]), count(find[b]))", outputs)
        for name in ("sum", "difference", "division")
    ]
    assert values == [3, 1, 2.0]
    assert value("division(count(find[a]), count(find[b]))", {2: [LEFT_DOG], 4: []}) is None


def test_and_or():
    text = "{}(exist(find[a]), exist(find[b]))"
    assert value(text.format("and"), {2: [LEFT_DOG], 4: []}) is False
    assert value(text.format("or"), {2: [LEFT_DOG], 4: []}) is True


def test_left_and_right_image():
    outputs = {2: [LEFT_DOG, LEFT_CAT, RIGHT_DOG]}
    assert value("count(in-left-image(find))", outputs) == 2
    assert value("count(in-right-image(find))", outputs) == 1


def test_a_box_in_an_image_kept_out_below_does_not_count():
    """Boxes in an image that was left out below do not count.

    `filter` multiplies by its child's probabilities, 0 there; `project` looks at that image.
    """
    for module in ("filter", "project"):
        text = f"count({module}[a](in-left-image(find)))"
        assert value(text, {1: [LEFT_DOG, RIGHT_DOG], 3: [LEFT_DOG]}) == 1
        assert value(text, {1: [LEFT_DOG, RIGHT_DOG], 3: [LEFT_DOG]}, as_drawn=True) == 2


def test_intersect_and_discard_follow_from_their_children_unless_somebody_chose():
    outputs = {2: [LEFT_DOG, LEFT_CAT], 3: [NEARLY_LEFT_DOG, RIGHT_CAT]}
    assert value("count(intersect(find[a], find[b]))", outputs) == 1
    assert value("count(discard(find[a], find[b]))", outputs) == 1
    assert run(parse("discard(find[a], find[b])", kind="boxes"), {1: outputs[2], 2: outputs[3]}).objects[
        0
    ] == (LEFT_CAT,)
    assert value("count(intersect(find[a], find[b]))", {**outputs, 1: []}) == 0


def test_each_image_alone():
    text = "{}(equal(count(find), 1))"
    one_each, two_left = {3: [LEFT_DOG, RIGHT_DOG]}, {3: [LEFT_DOG, LEFT_CAT]}
    assert value(text.format("in-each-image"), one_each) is True
    assert value(text.format("in-each-image"), two_left) is False
    assert value(text.format("in-at-least-one-image"), one_each) is True
    assert value(text.format("in-at-least-one-image"), two_left) is False


def test_below_such_a_module_a_node_runs_once_for_each_image():
    execution = run(parse("in-at-least-one-image(equal(count(find), 1))", kind="boxes"), {3: [LEFT_DOG]})
    assert execution.runs == ((True,), (True, False), (1, 0), (1, 0), (1, 1))
    assert execution.values == (True, None, None, 1, 1)
    assert execution.objects[3] == (LEFT_DOG,)


def test_the_one_and_the_other_image_are_tried_both_ways():
    text = "in-one-other-image(and(exist(in-one-image(find[dog])), exist(in-other-image(find[cat]))))"
    assert value(text, {4: [LEFT_DOG], 7: [RIGHT_CAT]}) is True
    assert value(text, {4: [RIGHT_DOG], 7: [LEFT_CAT]}) is True
    assert value(text, {4: [LEFT_DOG], 7: [LEFT_CAT]}) is False
    assert value("exist(in-one-image(find))", {2: [RIGHT_DOG]}) is True


def test_a_value_that_somebody_gave_stands_in_for_objects_that_nobody_drew():
    program = parse("equal(count(find[dogs]), 2)", kind="boxes")
    assert execute(program, {}, {1: 2})[:2] == (True, 2)
    assert execute(program, {2: [LEFT_DOG]}, {1: 2})[:2] == (False, 1)
    alone = parse("in-each-image(equal(count(find), 1))", kind="boxes")
    assert execute(alone, {}, {2: 1})[0] is None


def test_an_output_at_a_copy_is_refused():
    program = parse("equal(count(find[dogs]), count(find[dogs]))", kind="boxes")
    with pytest.raises(ValueError, match="node 4"):
        execute(program, {4: []})


def test_many_nested_images_cost_no_more_than_their_number():
    program = parse("in-each-image(" * 60 + "exist(find)" + ")" * 60, kind="boxes")
    assert (
        run(program, {61: [LEFT_DOG, RIGHT_DOG]}).value is False
    )  # each image, of an image alone: never both


def test_agreement_with_the_label():
    program = parse("exist(find)", kind="boxes")
    there, unknown = run(program, {1: [LEFT_DOG]}), run(program, {})
    answers = (True, "True", False, "false", None)
    consistent = [is_answer_consistent(program, there, answer) for answer in answers]
    assert consistent == [True, True, False, False, None]
    assert is_answer_consistent(program, unknown, True) is None
    assert is_answer_consistent(program, there, "perhaps") is None


def test_a_label_cannot_be_compared_with_a_number():
    program = parse("count(find)", kind="boxes")
    execution = run(program, {1: [LEFT_DOG]})
    assert is_answer_consistent(program, execution, True) is None
    assert is_answer_consistent(program, execution, "one") is True

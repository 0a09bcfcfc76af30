"""Tests of the steps that participants see: box numbers and values.

There are values for each image.
"""

from predictions.explanations.program_steps import ItemImage, Step
from studyapp.web.html.program import describe_steps

IMAGE = ItemImage(path=f"ab/{'ab' * 32}.png", width=400, height=300)
A, B, C = (0, 0.1, 0.1, 0.3, 0.3), (0, 0.6, 0.2, 0.8, 0.4), (1, 0.1, 0.1, 0.3, 0.3)


def shown(*steps: Step):
    return describe_steps(steps, [IMAGE, IMAGE], ["/left", "/right"])


def test_a_box_keeps_its_number_in_all_steps():
    first, filtered, last = shown(
        Step(module="find", boxes=[(*A, 0.9), (*B, 0.8), (*C, 0.7)]),
        Step(module="filter", inputs=[1], boxes=[(*C, 0.95), (*B, 0.6)]),
        Step(module="find", boxes=[(*A, None), (1, 0.5, 0.5, 0.9, 0.9, None)]),
    )
    assert [[box.number for box in picture.boxes] for picture in first.pictures] == [[1, 2], [3]]
    assert [[box.number for box in picture.boxes] for picture in filtered.pictures] == [[2], [3]]
    assert filtered.sure == "2: 60%; 3: 95%"
    assert [[box.number for box in picture.boxes] for picture in last.pictures] == [[1], [4]]
    assert last.size == 2


def test_numbers_of_equal_boxes_do_not_collide():
    near = (0, 0.101, 0.1, 0.3, 0.3)
    (step,) = shown(Step(module="find", boxes=[(*A, None), (*near, None)]))
    first, second = step.pictures[0].boxes
    assert (first.at, first.base) != (second.at, second.base)


def test_a_step_for_each_image_has_two_values():
    steps = shown(
        Step(module="find", boxes=[]),
        Step(module="count", inputs=[1], values=[2.0, 1.25]),
        Step(module="in-each-image", inputs=[2], value=True),
    )
    assert steps[1].values == [("for the left image:", 2), ("for the right image:", 1.2)]
    assert (steps[1].value, steps[2].values) == (None, [])


def test_below_one_and_the_other_image_each_is_tried_as_the_one():
    steps = shown(
        Step(module="exist", values=[True, False]),
        Step(module="and", inputs=[1], values=[True, False]),
        Step(module="in-one-other-image", inputs=[2], value=True),
        Step(module="exist", values=[True, False, True]),
    )
    for step in steps[:2]:
        assert [label for label, _ in step.values] == [
            "with the left image as the one:",
            "with the right image as the one:",
        ]
    assert steps[3].values == [("", True), ("", False), ("", True)]


def test_steps_without_values_have_the_json_of_before():
    assert "values" not in Step(module="count", value=2).model_dump()
    assert Step(module="count", values=[1, True]).model_dump()["values"] == [1, True]

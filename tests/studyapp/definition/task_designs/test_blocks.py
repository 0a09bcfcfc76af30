"""Tests of the blocks of a simulation: their places, unfit definitions."""

import pytest
from pydantic import ValidationError

from studyapp.definition.schema import StudyDefinition
from studyapp.definition.task_designs.blocks import list_blocks_by_position
from studyapp.definition.tasks import Blocks

SIZES = {"before": 2, "learning": 2, "after": 2}
STUDY = {
    "study": "s",
    "title": "A study",
    "dataset": "world",
    "conditions": [{"system": "a", "explanation": "none"}, {"system": "a"}],
    "consent": "Yes.",
    "task": {"kind": "simulation", "blocks": SIZES},
}
CONTRADICTION = {
    "id": "c", "kind": "contradiction", "position": 1, "item": "q", "answer": "x",
    "expected": {"certainty": 1},
}  # fmt: skip


def definition(**changes: object) -> StudyDefinition:
    return StudyDefinition.model_validate({**STUDY, **changes})


def test_it_works():
    written = definition()
    assert (written.items.count, written.items.seed) == (6, 1)
    assert [question.key for question in written.questionnaire.item] == ["certainty", "helpfulness"]
    assert definition(task="simulation").items.count == Blocks().total
    assert definition(task={"kind": "simulation", "blocks": {"after": 4}}).items.count == 20
    assert definition(items={"seed": 5}).items.seed == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": {"kind": "simulation", "blocks": {**SIZES, "after": 3}}}, "even number of items, not 3"),
        ({"task": {"kind": "simulation", "blocks": {**SIZES, "before": 0}}}, "greater than or equal to 2"),
        ({"task": {"kind": "simulation", "blocks": {**SIZES, "later": 2}}}, "extra"),
        ({"task": {"kind": "simulation", "blocks": {**SIZES, "after": "many"}}}, "valid integer"),
        ({"items": {"count": 8}}, "the blocks of the task need 6 items, not 8"),
        ({"items": {"ids": ["a", "b"]}}, "the blocks of the task need 6 items, not 2"),
        ({"items": {"count": 6, "stratify": {"system": "a", "correct": 0.5}}}, "leave out stratify"),
        ({"design": "within"}, "needs design: between"),
        ({"conditions": [{"system": "a"}, {"ground_truth": True}]}, "the ground truth is always right"),
        ({"attention": [CONTRADICTION]}, "would teach a wrong answer"),
        (
            {
                "questionnaire": {
                    "item": [{"key": "block", "text": "Why?", "scale": "yes_no"}],
                    "post_survey": [],
                }
            },
            "another column",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        definition(**changes)


def test_attention_items_belong_to_the_block_of_the_next_item():
    blocks = Blocks(**SIZES)
    plain = ["before"] * 2 + ["learning"] * 2 + ["after"] * 2
    assert list_blocks_by_position(blocks, 0, []) == plain
    assert list_blocks_by_position(blocks, 2, [1]) == ["", "", "before", *plain]
    assert list_blocks_by_position(blocks, 0, [8, 3]) == [*plain[:2], "learning", *plain[2:], "after"]

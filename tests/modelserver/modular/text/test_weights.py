"""The shipped weights of `text-nmn` are small and usable.

The tests also check what their card says of them.
"""

import re

import pytest

from modelserver.modular.text.scoring import run, score
from modelserver.registry import WEIGHTS, load_modular_system
from tests.modelserver.modular.text.networks import games

FOLDER = WEIGHTS / "text-nmn"


@pytest.fixture(scope="module")
def shipped():
    return load_modular_system("text-nmn")


def test_the_card_states_these_weights(shipped):
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"`{shipped.revision}`" in card
    parameters = sum(parameter.numel() for parameter in shipped.network.parameters())
    assert f"{parameters:,} parameters" in card
    assert re.search(r"EM (\d\d\.\d), F1 (\d\d\.\d)", card)


def test_they_answer_questions_about_games_that_they_never_saw(shipped):
    scores = score(shipped, games(40, "test", 1))
    assert scores.em > 0.4
    assert (scores.parsed or 0) > 0.9
    assert scores.faithfulness.table()["overall"].loss < 9


def test_a_program_that_was_written_runs_again(shipped):
    items = [example.item for example in games(6, "test", 2)]
    first = run(shipped, items)
    pairs = zip(items, first, strict=True)
    again = run(
        shipped, [item.model_copy(update={"program": execution.program}) for item, execution in pairs]
    )
    assert [execution.program for execution in again] == [execution.program for execution in first]

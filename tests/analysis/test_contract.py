"""Names that scripts of other people import stay where they are."""

import inspect
from importlib import import_module

import pytest

NAMES = {
    "analysis.scores.hotpotqa": ["score", "score_each", "malformed_facts"],
    "analysis.scores.farm_loca": ["reduce_context", "farm", "loca"],
    "analysis.visual_bias": ["analyse"],
    "analysis.counterfactuals.alignment": ["Record", "alignments"],
    "analysis.__main__": ["main"],
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in NAMES.items() for name in names]
)
def test_the_name_can_be_imported(module: str, name: str):
    assert callable(getattr(import_module(module), name))


def test_signatures_are_those_of_the_contract():
    farm_loca = import_module("analysis.scores.farm_loca")
    assert list(inspect.signature(farm_loca.reduce_context).parameters) == ["context", "facts", "k"]
    assert list(inspect.signature(farm_loca.farm).parameters) == [
        "answers",
        "without_relevant",
        "without_irrelevant",
    ]
    score = import_module("analysis.scores.hotpotqa").score
    assert list(inspect.signature(score).parameters) == ["gold", "predictions"]

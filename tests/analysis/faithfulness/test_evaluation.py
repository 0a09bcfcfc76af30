"""All scores from plain data: by hand, with gaps, and of two systems."""

from dataclasses import replace

import pytest

from analysis.faithfulness.evaluation import ItemOutputs, UnknownModuleError, compare_systems, evaluate
from analysis.faithfulness.examples import MatchError

DOG, ELSEWHERE = (0.1, 0.1, 0.3, 0.5), (0.6, 0.6, 0.9, 0.9)
BOXES = ItemOutputs(
    "a",
    gold={2: ("filter", [[DOG], []]), 3: ("find", [[DOG], [DOG]])},
    outputs={2: ("filter", [0.0, 0.9, 0.0]), 3: ("find", [0.9, 0.9, 0.2])},
    proposals=[[DOG, ELSEWHERE], [DOG]],
)
SPANS = ItemOutputs(
    "q",
    gold={1: ("filter", [(0, 1)]), 2: ("find", [(0, 2)])},
    outputs={1: ("filter", [0.5, 0.5]), 2: ("find", [1, 0])},
)


def test_boxes():
    evaluation = evaluate("boxes", [BOXES])
    find = evaluation.figures["cumulative"]["find"]
    assert (find.precision, find.recall, find.n, find.interval) == (1 / 2, 1 / 2, 1, None)
    assert set(evaluation.figures) == {"per_example", "cumulative", "per_occurrence", "negative_iou"}
    assert evaluation.upper["per_example"]["overall"].f1 == 1
    assert (evaluation.worst[0].id, evaluation.worst[0].node, evaluation.worst[0].module_score) == ("a", 2, 0)


def test_spans():
    evaluation = evaluate("spans", [SPANS], most=1)
    assert evaluation.figures["mean"]["filter"].loss == pytest.approx(0.6931471806)
    assert evaluation.figures["mean"]["find"].loss == 0
    assert evaluation.upper == {}
    assert (evaluation.worst[0].node, evaluation.worst[0].module) == (1, "filter")


def test_intervals_come_from_items():
    items = [
        replace(BOXES, id="a"),
        replace(BOXES, id="b", outputs={**BOXES.outputs, 2: ("filter", [1, 0, 0])}),
    ]
    figure = evaluate("boxes", items, resamples=200, seed=1).figures["per_example"]["filter"]
    assert figure.interval is not None
    assert figure.f1 is not None
    assert figure.interval[0] <= figure.f1 <= figure.interval[1]


@pytest.mark.parametrize(("kind", "item"), [("boxes", BOXES), ("spans", SPANS)])
def test_a_missing_output_is_an_error(kind, item):
    with pytest.raises(MatchError, match="no output for this"):
        evaluate(kind, [replace(item, outputs={2: item.outputs[2]}), replace(item, id="b", outputs={})])


def test_two_systems():
    better = replace(BOXES, outputs={2: ("filter", [1, 0, 0]), 3: ("find", [1, 0, 1])})
    first, second = ([replace(item, id=str(n)) for n in range(6)] for item in (better, BOXES))
    comparison = compare_systems("boxes", first, second, averaging="cumulative", module="find", trials=500)
    assert (comparison.first, comparison.second, comparison.n) == (1, 0.5, 6)
    assert comparison.p < 0.1
    with pytest.raises(UnknownModuleError, match="there is overall, filter, find"):
        compare_systems("boxes", first, second, module="project")

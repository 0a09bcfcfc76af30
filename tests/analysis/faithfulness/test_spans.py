"""Losses of attentions against gold spans.

The tests cover cases by hand, the groups of Table 2 and the released data.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.faithfulness.examples import MatchError
from analysis.faithfulness.files import read_span_gold
from analysis.faithfulness.spans import GoldSpans, SpanOutput, score_spans
from tests.analysis.data import real_data

HALF = np.log(2)


def gold(name, *modules):
    return GoldSpans(name, tuple((module, np.array(spans).reshape(-1, 2)) for module, spans in modules))


def output(name, *modules):
    return SpanOutput(name, tuple((module, np.atleast_2d(np.array(p, dtype=float))) for module, p in modules))


def table(golds, outputs, **options):
    scores = score_spans(golds, {prediction.id: prediction for prediction in outputs}, **options)
    return {name: score.loss for name, score in scores.table().items()}


def test_it_works():
    losses = table(
        [gold("q", ("find", [[0, 2], [3, 4]]), ("filter", [[3, 4]]))],
        [output("q", ("find", [0.25, 0.25, 0, 0.5]), ("filter", [0, 0, 0, 1]))],
    )
    # Two spans of one half each, added and not divided by two.
    assert losses["find"] == pytest.approx(2 * HALF)
    assert losses["filter"] == 0
    assert losses["overall"] == pytest.approx(2 * HALF)
    assert losses["micro"] == pytest.approx(HALF)


def test_ends_are_exclusive_and_no_attention_costs_a_bounded_loss():
    losses = table([gold("q", ("find", [[1, 2]]))], [output("q", ("find", [0.5, 0, 0.5]))])
    assert losses["find"] == pytest.approx(-np.log(1e-20))
    tiny = table([gold("q", ("find", [[1, 2]]))], [output("q", ("find", [1 - 1e-18, 1e-18, 0]))])
    assert tiny["find"] == pytest.approx(-np.log(1e-18))  # not lost between larger neighbours


def test_two_outputs_of_one_list_are_merged_by_their_maximum():
    golds = [gold("q", ("find-two-events", [[0, 1], [1, 2]]), ("ground-two-dates", [[2, 3]]))]
    finds, dates = ([0.5, 0, 0.5], [0.25, 0.25, 0.5]), ([0, 0, 0.5], [0, 0, 0.25])
    apart = output("q", *(("find", p) for p in finds), *((f"find-date{i}", p) for i, p in enumerate(dates)))
    rows = output("q", ("find", finds), ("find-date", dates))
    done = output("q", ("find", np.maximum(*finds)), ("find-date", np.maximum(*dates)))
    expected = {"find": HALF + 2 * HALF, "find-date": HALF, "find-arg": HALF, "overall": 4 * HALF}
    for outputs in (apart, rows, done):
        losses = table(golds, [outputs])
        assert {name: losses[name] for name in expected} == pytest.approx(expected)


def test_averages_and_groups():
    half, quarter, sixteenth = [0.5, 0.5], [0.25, 0.75], [1 / 16, 15 / 16]
    first = [[0, 1]]
    golds = [
        gold("a", ("find", first), ("find-num", first), ("find-max-num", first)),
        gold("b", ("find", first), ("find-date", first)),
    ]
    outputs = [
        output("a", ("find", half), ("find-num", quarter), ("find-max-num", sixteenth)),
        output("b", ("find", quarter), ("find-date", half)),
    ]
    losses = {name: loss / HALF for name, loss in table(golds, outputs).items()}
    assert losses == pytest.approx(
        {
            "overall": (1 + 2 + 4 + 2 + 1) / 2,
            "micro": 10 / 5,
            "micro_reference": (10 + 2 + 1) / (5 + 2),  # find-num and find-date once more, as find-arg
            "find": 1.5,
            "find-num": 2,
            "find-date": 1,
            "find-max-num": 4,
            "min-max": 4,
            "find-arg": 1.5,
        }
    )


def test_the_published_overall_figures_are_those_of_the_reference_average():
    """Only the reference average gives the overall column of Table 2.

    The test takes the module columns of the table and the counts of the released gold.
    """
    facts = json.loads(real_data("paper_tables/nmn_table2.json").read_text("utf-8"))
    golds = read_span_gold(real_data("faithful_nmn/drop_module_output_annotations.json"))
    modules = ("find", "filter", "relocate", "min-max", "find-arg")
    for name, row in facts["rows"].items():
        losses = {module: row[module] for module in modules}
        scores = planted(golds, losses)
        published = row["overall_cross_entropy"]
        recomputed = facts["overall_recomputed_from_module_columns"][name]
        assert scores["micro"] == pytest.approx(recomputed["micro_average_each_module_once"], abs=0.006)
        expected = recomputed["micro_average_with_find_arg_counted_twice_as_in_the_code"]
        assert scores["micro_reference"] == pytest.approx(expected, abs=0.006)
        assert scores["micro_reference"] == pytest.approx(published, abs=0.2)
        assert {module: scores[module] for module in modules} == pytest.approx(losses)


def planted(golds, losses):
    """Score a system whose loss is the same at every instance of a module."""
    group = {
        "find-min-num": "min-max",
        "find-max-num": "min-max",
        "find-num": "find-arg",
        "find-date": "find-arg",
    }
    from_name = {"find-events": "find", "find-one-event": "find", "find-two-events": "find"}
    from_name |= {"after-filter-events": "filter", "after-max-event": "find-max-num", "relocate": "relocate"}
    from_name |= {"after-min-event": "find-min-num", "find-nums": "find-num", "ground-two-nums": "find-num"}
    from_name |= {"ground-two-dates": "find-date"}
    outputs = []
    simple = []
    for question in golds:
        modules = [from_name[name] for name, _ in question.modules]
        simple.append(gold(question.id, *((module, [[0, 1]]) for module in modules)))
        probabilities = [float(np.exp(-losses[group.get(module, module)])) for module in modules]
        outputs.append(
            output(question.id, *((m, [p, 0]) for m, p in zip(modules, probabilities, strict=True)))
        )
    return table(simple, outputs)


def test_the_released_gold_is_read_whole():
    golds = read_span_gold(real_data("faithful_nmn/drop_module_output_annotations.json"))
    assert len(golds) == 215
    assert sum(len(question.modules) for question in golds) == 591
    assert sum(len(spans) for question in golds for _, spans in question.modules) == 1321
    flat = [
        output(question.id, *((name, np.full(3000, 1 / 3000)) for name, _ in question.modules))
        for question in golds
    ]
    scores = score_spans(golds, {prediction.id: prediction for prediction in flat}).table()
    counts = {"find": 215, "filter": 41, "relocate": 48, "min-max": 105, "find-arg": 182, "overall": 215}
    assert {name: scores[name].n for name in counts} == counts
    assert (scores["micro"].n, scores["micro_reference"].n) == (591, 591 + 182)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_agrees_with_a_plain_loop(seed):
    rng = np.random.default_rng(seed)
    golds, outputs, expected = [], [], []
    for number in range(4):
        tokens = int(rng.integers(1, 9))
        lists, parts, total = [], [], 0.0
        for module in rng.choice(["find", "filter", "relocate"], rng.integers(0, 4)):
            p = rng.random(tokens) * (rng.random(tokens) < 0.6)
            starts = rng.integers(0, tokens, rng.integers(0, 3))
            spans = [(s, int(rng.integers(s + 1, tokens + 1))) for s in starts]
            total += sum(-np.log(max(sum(p[s:e]), 1e-20)) for s, e in spans)
            lists.append((module, spans))
            parts.append((module, p))
        golds.append(gold(f"q{number}", *lists))
        outputs.append(output(f"q{number}", *parts))
        expected.append(total)
    scores = score_spans(golds, {prediction.id: prediction for prediction in outputs})
    assert scores.tallies["overall"].sums[:, 0] == pytest.approx(expected)
    assert scores.table()["overall"].loss == pytest.approx(np.mean(expected))


def test_the_worst_questions_come_first_with_their_worst_node():
    golds = [gold(name, ("find", [[0, 1]]), ("filter", [[1, 2]])) for name in "ab"] + [gold("c")]
    outputs = [
        output("a", ("find", [0.5, 0.5]), ("filter", [0.5, 0.5])),
        output("b", ("find", [0.5, 0.5]), ("filter", [0.75, 0.25])),
        output("c"),
    ]
    scores = score_spans(golds, {prediction.id: prediction for prediction in outputs})
    first, second, last = scores.list_worst()
    assert (first.id, first.place, first.module) == ("b", 1, "filter")
    assert first.module_loss == pytest.approx(2 * HALF)
    assert (second.id, second.module) == ("a", "find")
    assert (last.id, last.loss, last.module) == ("c", 0, None)
    overall = scores.intervals(rng=np.random.default_rng(1), resamples=200)["overall"]
    low, high = overall.interval.bounds
    assert low <= overall.value <= high  # type: ignore[operator]


def test_what_does_not_fit_is_named():
    golds = [gold("q", ("find-two-events", [[0, 3]]), ("find-nums", [[0, 1]]))]

    def failure(*modules):
        with pytest.raises(MatchError) as caught:
            table(golds, [output("q", *modules)])
        return str(caught.value)

    p, pair = [0.5, 0.5], [("find", [1, 0])] * 2
    assert failure(("find", p)).endswith("modules: there are 1 modules, gold has 2 (or 3, unmerged)")
    assert "module 1: the output is of 'filter', gold of 'find-nums'" in failure(("find", p), ("filter", p))
    assert "the span [0, 3] does not lie within 2 tokens" in failure(("find", p), ("find-num", p))
    assert "over the same tokens" in failure(pair[0], ("find", [1, 0, 0]), ("find-num", p))
    with pytest.raises(MatchError, match="'q': there is no output"):
        table(golds, [])
    assert table(golds, [], partial=True) == {}

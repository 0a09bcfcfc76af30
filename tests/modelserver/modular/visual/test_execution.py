"""Programs executed on toy boxes.

Outputs are computed by hand, or by the executor of annotation programs.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.programs import MODULES, parse
from analysis.programs import run as execute_runs
from analysis.programs.execution import FoundBox
from modelserver.modular.visual.counting import Counter
from modelserver.modular.visual.execution import Executor, Scene, Scores
from modelserver.modular.visual.numbers import K
from modelserver.modular.visual.plans import RELATED, SCORED, plan_program

M = 3  # boxes of an image, apart from each other
BOXES = torch.tensor([[[0.3 * i, 0.0, 0.3 * i + 0.2, 0.2] for i in range(M)]] * 2)


@dataclass
class Table:
    """Scores of all pairs."""

    scores: torch.Tensor

    def score_all(self, rows):
        return self.scores[rows]

    def score_chosen(self, rows, other):
        return self.scores[rows].gather(-1, other[..., None]).squeeze(-1)


def run(programs, scores, pairs=None, *, kind="exact", partner="any", present=None):
    """Execute programs on the toy boxes.

    ``scores`` are {(example, node): [2][M]}, ``pairs`` {(example, node): [2][M][M]}.
    """
    pairs = pairs or {}
    plans = [plan_program(text) for text in programs]
    empty = torch.zeros(0, 2, M)
    node_scores = Scores(
        score=torch.stack([torch.tensor(weights, dtype=torch.float) for weights in scores.values()])
        if scores
        else empty,
        score_row={key: row for row, key in enumerate(scores)},
        pair=Table(
            torch.stack([torch.tensor(weights, dtype=torch.float) for weights in pairs.values()])
            if pairs
            else torch.zeros(0, 2, M, M)
        ),
        pair_row={key: row for row, key in enumerate(pairs)},
    )
    present = torch.ones(len(plans), 2, M) if present is None else present
    scene = Scene(present, BOXES.expand(len(plans), 2, M, 4), torch.zeros(len(plans), 2, M, 1))
    return plans, Executor(plans, node_scores, scene, Counter(kind, 1), partner).run()


def truth(program, scores, pairs=None, **options):
    plans, outputs = run(
        [program], {(0, node): node_scores for node, node_scores in scores.items()}, pairs, **options
    )
    return outputs.truth[outputs.row[0, len(plans[0].jobs) - 1]].item()


def boxes(program, scores, pairs=None, **options):
    pairs = {(0, node): node_pairs for node, node_pairs in (pairs or {}).items()}
    plans, outputs = run(
        [program], {(0, node): node_scores for node, node_scores in scores.items()}, pairs, **options
    )
    return outputs.boxes[outputs.row[0, len(plans[0].jobs) - 1]].tolist()


DOG = [[0.9, 0.1, 0.0], [0.5, 0.0, 1.0]]
BLACK = [[0.5, 1.0, 1.0], [0.2, 0.3, 0.4]]


def close(actual, expected):
    assert np.array(actual) == pytest.approx(np.array(expected), abs=1e-6)


def test_modules_that_give_boxes_by_hand():
    close(boxes("find[dog]", {0: DOG}), DOG)
    filtered = [[0.45, 0.1, 0], [0.1, 0, 0.4]]
    close(boxes("filter[black](find[dog])", {0: BLACK, 1: DOG}), filtered)
    close(boxes("intersect(find[dog], find[black])", {1: DOG, 2: BLACK}), filtered)
    close(boxes("discard(find[dog], find[black])", {1: DOG, 2: BLACK}), [[0.4, 0, 0], [0.3, 0, 0.6]])
    close(boxes("in-left-image(find[dog])", {1: DOG}), [DOG[0], [0, 0, 0]])
    close(boxes("in-right-image(find[dog])", {1: DOG}), [[0, 0, 0], DOG[1]])


def test_with_relation_by_hand():
    pair = np.zeros((2, M, M))
    pair[0, 0] = [1, 0.6, 0.5]  # the first box of the left image to the three there; to itself never counts
    program, scores = "with-relation[on](find[dog], find[black])", {1: DOG, 2: BLACK}
    # any: the best of .6 · 1 and .5 · 1; best: the first of the most probable others.
    close(boxes(program, scores, {0: pair}), [[0.9 * 0.6, 0, 0], [0, 0, 0]])
    black = [[0.5, 0.7, 1.0], BLACK[1]]
    close(boxes(program, {1: DOG, 2: black}, {0: pair}), [[0.9 * 0.5, 0, 0], [0, 0, 0]])
    close(boxes(program, {1: DOG, 2: black}, {0: pair}, partner="best"), [[0.9 * 0.5, 0, 0], [0, 0, 0]])
    black = [[0.5, 1.0, 0.9], BLACK[1]]
    pair[0, 0] = [1, 0.1, 0.5]
    close(boxes(program, {1: DOG, 2: black}, {0: pair}), [[0.9 * 0.45, 0, 0], [0, 0, 0]])
    close(boxes(program, {1: DOG, 2: black}, {0: pair}, partner="best"), [[0.9 * 0.1, 0, 0], [0, 0, 0]])


def test_project_by_hand():
    pair = np.full((2, M, M), 0.5)
    tail = [[0.2, 1.0, 0.4], [1.0, 1.0, 1.0]]
    projected = boxes("project[tail](find[dog])", {0: tail, 1: DOG}, {0: pair})
    # find[tail] · the best other dog of that image · ½
    close(projected, [[0.2 * 0.1 / 2, 1.0 * 0.9 / 2, 0.4 * 0.9 / 2], [0.5, 0.5, 0.25]])


def test_numbers_and_truths_by_hand():
    sure = [[1, 1, 0], [1, 0, 0]]
    for program, expected in (
        ("equal(count(find[dog]), 3)", 1), ("equal(count(find[dog]), 2)", 0), ("exist(find[dog])", 1),
        ("less(count(find[dog]), 4)", 1), ("greater(count(find[dog]), 3)", 0),
        ("greater-equal(count(find[dog]), 3)", 1), ("less-equal(count(find[dog]), 2)", 0),
        ("equal(sum(count(find[dog]), 2), 5)", 1), ("equal(difference(count(find[dog]), 2), 1)", 1),
        ("equal(division(count(find[dog]), 1), 3)", 1),
        ("and(exist(find[dog]), equal(count(find[dog]), 2))", 0),
        ("or(exist(find[dog]), equal(count(find[dog]), 2))", 1),
        ("in-each-image(equal(count(find[dog]), 2))", 0), ("in-each-image(exist(find[dog]))", 1),
        ("in-at-least-one-image(equal(count(find[dog]), 2))", 1),
        ("in-at-least-one-image(equal(count(find[dog]), 3))", 0),
    ):  # fmt: skip
        nodes = dict.fromkeys(plan_program(program).nodes(SCORED), sure)
        assert truth(program, nodes) == pytest.approx(expected, abs=1e-3), program


def test_uncertain_truths_by_hand():
    left, right = [[0.5, 0, 0], [0, 0, 0]], [[0, 0, 0], [0.2, 0, 0]]
    assert truth("exist(find[dog])", {1: left}) == pytest.approx(0.5)
    assert truth("and(exist(find[a]), exist(find[b]))", {2: left, 4: right}) == pytest.approx(0.1)
    assert truth("or(exist(find[a]), exist(find[b]))", {2: left, 4: right}) == pytest.approx(0.6)
    either = [[0.5, 0, 0], [0.2, 0, 0]]
    assert truth("in-each-image(exist(find[a]))", {2: either}) == pytest.approx(0.1)
    assert truth("in-at-least-one-image(exist(find[a]))", {2: either}) == pytest.approx(0.6)


def test_one_image_and_the_other():
    program = "in-one-other-image(and(exist(in-one-image(find[a])), exist(in-other-image(find[b]))))"
    a, b = plan_program(program).nodes(frozenset({"find"}))
    left, right = [[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 0]]
    assert truth(program, {a: left, b: right}) == 1
    assert truth(program, {a: right, b: left}) == 1
    assert truth(program, {a: left, b: left}) == 0


def test_what_is_not_there_is_never_put_out():
    present = torch.ones(1, 2, M)
    present[0, 0, 1:] = 0
    ones = [[1, 1, 1]] * 2
    assert boxes("find[a]", {0: ones}, present=present) == [[1, 0, 0], [1, 1, 1]]


@st.composite
def programs(draw):
    """A program over boxes that gives a truth value, as nested text."""

    def grow(type_, depth):
        fitting = [m for m in MODULES["boxes"].values() if (m.output or "boxes") == type_]
        if depth > 4:
            fitting = [m for m in fitting if not m.inputs or m.name in ("count", "exist")]
        module = draw(st.sampled_from(fitting))
        argument = f"[{draw(st.sampled_from('abc'))}]" if module.name in SCORED | RELATED else ""
        children = [grow(types[0], depth + 1) for types in module.inputs]
        return module.name + argument + (f"({', '.join(children)})" if children else "")

    return grow("truth", 0)


def hard_outputs(program, scores, pairs):
    """Return the objects that a person would mark at each node.

    They are worked out with sets, apart from the network.
    """
    nodes, first = program.nodes, program.representative
    marked: dict = {}
    for index in program.walk:
        node = nodes[index]
        below = [marked[first[child]] for child in node.children if first[child] in marked]
        score, pair = scores.get((0, index)), pairs.get((0, index))
        every = {(i, b) for i in range(2) for b in range(M)}
        match node.module:
            case "find":
                marked[index] = {at for at in every if score[at]}
            case "filter":
                marked[index] = {at for at in below[0] if score[at]}
            case "with-relation":
                marked[index] = {at for at in below[0] if stands(pair, at, below[1])}
            case "project":
                marked[index] = {at for at in every if score[at] and stands(pair, at, below[0])}
            case "intersect":
                marked[index] = below[0] & below[1]
            case "discard":
                marked[index] = below[0] - below[1]
            case "in-left-image" | "in-right-image":
                marked[index] = {at for at in below[0] if at[0] == (node.module == "in-right-image")}
            case "in-one-image" | "in-other-image":
                marked[index] = below[0]
    drawn = {"find", "filter", "with-relation", "project"}
    return {
        index: [FoundBox(i, tuple(BOXES[i, b].tolist())) for i, b in sorted(places)]
        for index, places in marked.items()
        if nodes[index].module in drawn
    }


def stands(pair, at, objects):
    image, box = at
    return any(i == image and other != box and pair[i, box, other] for i, other in objects)


def within_the_table(value):
    """Return True for a truth value or a number of the network's table.

    The table has the whole numbers from 0 to K, and no others.
    """
    return value is not None and (isinstance(value, bool) or (float(value).is_integer() and 0 <= value <= K))


@settings(max_examples=120, deadline=None)
@given(programs(), st.integers(0, 2**32))
def test_sure_scores_give_what_annotation_programs_give(text, seed):
    program = parse(text, kind="boxes")
    rng, laid_out = np.random.default_rng(seed), plan_program(text)
    scores = {(0, n): rng.integers(0, 2, (2, M)) for n in laid_out.nodes(SCORED)}
    pairs = {(0, n): rng.integers(0, 2, (2, M, M)) for n in laid_out.nodes(RELATED)}
    expected = execute_runs(program, hard_outputs(program, scores, pairs)).runs
    assume(all(within_the_table(value) for node in computed(program) for value in expected[node.index]))
    _, outputs = run([text], scores, pairs)
    for node in computed(program):
        rows = [outputs.row[0, job] for job in laid_out.runs[node.index]]
        actual = outputs.truth[rows] if node.type == "truth" else outputs.number.mean[rows]
        # Equal subtrees run once here for all of them, so that every value counts, not how often it is there.
        alike = [i for i, first in enumerate(program.representative) if first == node.index]
        assert {round(number, 2) for number in actual.tolist()} == {
            float(v) for i in alike for v in expected[i]
        }, node


def computed(program):
    """Return the nodes of a number or a truth, of equal ones the first."""
    first = program.representative
    return [node for node in program.nodes if node.type != "boxes" and first[node.index] == node.index]


@settings(max_examples=25, deadline=None)
@given(st.lists(programs(), min_size=2, max_size=6), st.integers(0, 2**32))
def test_a_batch_gives_what_its_programs_give_alone_in_any_order(texts, seed):
    rng = np.random.default_rng(seed)
    alone = []
    scores: dict = {}
    pairs: dict = {}
    for example, text in enumerate(texts):
        program_scores = {n: rng.random((2, M)) for n in plan_program(text).nodes(SCORED)}
        program_pairs = {n: rng.random((2, M, M)) for n in plan_program(text).nodes(RELATED)}
        alone.append(
            truth(
                text,
                program_scores,
                {(0, n): node_pairs for n, node_pairs in program_pairs.items()},
                kind="graph",
            )
        )
        scores |= {(example, n): node_scores for n, node_scores in program_scores.items()}
        pairs |= {(example, n): node_pairs for n, node_pairs in program_pairs.items()}
    plans, outputs = run(texts, scores, pairs, kind="graph")
    together = [outputs.truth[outputs.row[e, len(p.jobs) - 1]].item() for e, p in enumerate(plans)]
    assert together == pytest.approx(alone, abs=1e-5)
    assert all(-1e-6 <= probability <= 1 + 1e-6 for probability in together)

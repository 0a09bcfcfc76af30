"""Uncertain numbers against values by hand, brute force and simulation."""

import itertools
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from modelserver.modular.visual import numbers
from modelserver.modular.visual.counting import Counter, CountKind, Graph, Monotone, Sum, compute_overlaps
from modelserver.modular.visual.numbers import K, Number, categorical, poisson_binomial

means = st.floats(-20, 100, allow_nan=False)
variances = st.floats(0.0, 50, allow_nan=False)


def number(mean: float, variance: float = 0.0) -> Number:
    return Number(torch.tensor([mean]), torch.tensor([variance]))


def test_a_normal_becomes_categorical_with_continuity_correction():
    probabilities = categorical(
        torch.tensor([2.3], dtype=torch.float64), torch.tensor([0.49], dtype=torch.float64)
    )
    normal = stats.norm(2.3, 0.7)
    assert probabilities.shape == (1, K + 1)
    assert probabilities[0, 0].item() == pytest.approx(normal.cdf(0.5))
    assert probabilities[0, 3].item() == pytest.approx(normal.cdf(3.5) - normal.cdf(2.5))
    high = categorical(torch.tensor([K + 0.2], dtype=torch.float64), torch.tensor([1.0], dtype=torch.float64))
    assert high[0, K].item() == pytest.approx(1 - stats.norm(K + 0.2, 1).cdf(K - 0.5))


@given(means, variances, means, variances)
def test_probabilities_sum_to_one_after_every_operator(a, v, b, w):
    first, second = number(a, v), number(b, w)
    uncertain_numbers = [first, second, numbers.add(first, second), numbers.subtract(first, second)]
    if b >= 1:  # what is divided by less than one thing may be any number
        uncertain_numbers.append(numbers.divide(first, second))
    for uncertain_number in uncertain_numbers:
        probabilities = uncertain_number.probabilities
        assert probabilities.min() >= 0
        assert probabilities.sum().item() == pytest.approx(1, abs=1e-5)
    parts = [compare(first, second).item() for compare in (numbers.less, numbers.equal, numbers.greater)]
    assert sum(parts) == pytest.approx(1, abs=1e-4)
    assert numbers.less_equal(first, second).item() == pytest.approx(parts[0] + parts[1], abs=1e-4)
    assert numbers.greater_equal(first, second).item() == pytest.approx(parts[2] + parts[1], abs=1e-4)


def test_comparisons_by_hand():
    two, three = number(2, 0.25**2), number(3, 0.25**2)
    inside, out = stats.norm.cdf(2) - stats.norm.cdf(-2), stats.norm.cdf(-2)  # half a unit is 2 deviations
    assert numbers.equal(two, two).item() == pytest.approx(inside**2 + 2 * out**2, abs=1e-5)
    assert numbers.equal(two, three).item() == pytest.approx(2 * inside * out, abs=1e-5)
    for compare, expected in (
        (numbers.less, (1, 0, 0)), (numbers.equal, (0, 1, 0)), (numbers.greater, (0, 0, 1)),
        (numbers.less_equal, (1, 1, 0)), (numbers.greater_equal, (0, 1, 1)),
    ):  # fmt: skip
        probabilities = [compare(number(a), number(3)).item() for a in (2, 3, 4)]
        assert probabilities == pytest.approx(expected, abs=1e-6)


def test_sums_and_ratios_have_the_moments_of_the_table():
    a, b = number(6, 0.5), number(3, 0.2)
    assert (numbers.add(a, b).mean.item(), numbers.add(a, b).variance.item()) == pytest.approx((9, 0.7))
    assert (numbers.subtract(a, b).mean.item(), numbers.subtract(a, b).variance.item()) == pytest.approx(
        (3, 0.7)
    )
    ratio = numbers.divide(a, b)
    assert ratio.mean.item() == pytest.approx(6 / 3 + 0.2 * 6 / 27)
    assert ratio.variance.item() == pytest.approx(36 / 9 * (0.5 / 36 + 0.2 / 9))
    nothing = numbers.divide(number(0, 0.5), b)
    assert nothing.mean.item() == 0
    assert nothing.variance.item() == pytest.approx(0.5 / 9)


def test_the_ratio_is_near_that_of_a_simulation():
    rng = np.random.default_rng(1)
    a, b = rng.normal(20, 0.5, 200_000), rng.normal(8, 0.4, 200_000)
    ratio = numbers.divide(number(20, 0.25), number(8, 0.16))
    assert ratio.mean.item() == pytest.approx((a / b).mean(), rel=0.002)
    assert ratio.variance.item() == pytest.approx((a / b).var(), rel=0.03)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_count_of_independent_boxes_is_that_of_brute_force(p):
    expected = np.zeros(K + 1)
    for there in itertools.product((0, 1), repeat=len(p)):
        expected[sum(there)] += np.prod(
            [chance if here else 1 - chance for chance, here in zip(p, there, strict=True)]
        )
    probabilities = poisson_binomial(torch.tensor(p, dtype=torch.float64)).numpy()
    assert probabilities == pytest.approx(expected, abs=1e-12)


def test_a_count_of_72_boxes_sums_to_one():
    probabilities = poisson_binomial(
        torch.rand(3, K, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    )
    assert probabilities.sum(-1).numpy() == pytest.approx(1)
    assert poisson_binomial(torch.ones(K + 3))[K] == 1  # more than K count as K


BOXES = torch.tensor([[0, 0, 0.2, 0.2], [0.3, 0, 0.5, 0.2], [0, 0.5, 0.2, 0.7], [0.6, 0.6, 0.9, 0.9]])


def counted(kind, p, boxes=BOXES, **options):
    counter = Counter(kind, hidden=4, **options)
    p = torch.tensor(p).expand(1, 2, -1)
    return counter(p, torch.rand(*p.shape, 4), boxes.expand(1, 2, -1, -1))


@pytest.mark.parametrize("kind", ["sum", "graph", "exact"])
@pytest.mark.parametrize("p", list(itertools.product((0.0, 1.0), repeat=4)))
def test_sure_boxes_apart_are_counted_exactly(kind, p):
    assert counted(kind, list(p)).mean.item() == pytest.approx(2 * sum(p), abs=1e-4)


def test_graph_count_counts_objects_and_not_boxes():
    twice = torch.cat([BOXES, BOXES[:2]])
    assert counted("sum", [1.0] * 6, twice).mean.item() == pytest.approx(12)
    assert counted("graph", [1.0] * 6, twice).mean.item() == pytest.approx(8, abs=1e-4)


def test_graph_count_of_one_uncertain_box_by_hand():
    # One edge to itself and no other: √(f1(p²)) with f1 still the identity.
    assert counted("graph", [0.5, 0, 0, 0]).mean.item() == pytest.approx(2 * 0.5, abs=1e-6)


def test_impossible_boxes_are_copies_of_each_other_where_the_released_code_is_followed():
    # The first box is like itself by 1 and like three others by 1 - 0.5, so its loop is 0.25 / 2.5.
    by_hand = pytest.approx(2 * 0.1**0.5, abs=1e-6)
    assert counted("graph", [0.5, 0, 0, 0], impossible="alike").mean.item() == by_hand
    padded = torch.cat([torch.zeros(2, 4), BOXES])
    for most in (4, 6, None):
        options = {"impossible": "alike", "most": most}
        assert counted("graph", [0, 0, 0.5, 0, 0, 0], padded, **options).mean.item() == by_hand


def test_graph_count_reads_all_boxes_where_it_has_no_limit():
    boxes = torch.cat([BOXES + 0.01 * n for n in range(10)]) * torch.linspace(0.1, 1, 40)[:, None]
    assert (
        counted("graph", [0.8] * 40, boxes, most=None).mean
        == counted("graph", [0.8] * 40, boxes, most=40).mean
    )
    assert (
        counted("graph", [0.8] * 40, boxes, most=None).mean
        != counted("graph", [0.8] * 40, boxes, most=16).mean
    )


def test_graph_count_has_less_than_300_parameters_and_gives_all_boxes_gradients():
    graph = Graph(36)
    assert sum(parameter.numel() for parameter in graph.parameters()) < 300
    p = torch.tensor([[[0.9, 0.3, 0.6, 0.2]]], requires_grad=True)
    graph(p, p, BOXES[None, None]).sum().backward()
    assert (p.grad.abs() > 0).all()
    assert all(parameter.grad.abs().sum() > 0 for parameter in graph.parameters())


@pytest.mark.parametrize("kind", get_args(CountKind))
def test_padding_and_the_order_of_boxes_change_no_count(kind):
    torch.manual_seed(1)
    counter = Counter(kind, hidden=3)
    p, regions = torch.rand(1, 2, 4), torch.rand(1, 2, 4, 3)
    boxes = BOXES.expand(1, 2, 4, 4) * 0.9
    plain = counter(p, regions, boxes)
    padded = counter(
        *(torch.cat([tensor, torch.zeros_like(tensor)], dim=2) for tensor in (p, regions, boxes))
    )
    turned = counter(p[:, :, [2, 0, 3, 1]], regions[:, :, [2, 0, 3, 1]], boxes[:, :, [2, 0, 3, 1]])
    for other in (padded, turned):
        assert other.mean.item() == pytest.approx(plain.mean.item(), abs=1e-5)
        assert other.probabilities.detach().numpy() == pytest.approx(
            plain.probabilities.detach().numpy(), abs=1e-5
        )


def test_layer_count_sees_regions_and_gives_no_negative_count():
    torch.manual_seed(1)
    counter = Counter("layer", hidden=3)
    p, boxes = torch.full((1, 2, 4), 0.5), BOXES.expand(1, 2, 4, 4)
    counts = {counter(p, torch.randn(1, 2, 4, 3) * 3, boxes).mean.item() for _ in range(5)}
    assert len(counts) == 5
    assert min(counts) >= 0
    assert not list(Sum().parameters())


def test_a_monotone_function_keeps_its_ends_and_its_direction():
    function = Monotone()
    torch.nn.init.uniform_(function.steps, -1, 1)
    x = torch.linspace(0, 1, 101)
    y = function(x)
    assert y[0].item() == pytest.approx(0, abs=1e-6)
    assert y[-1].item() == pytest.approx(1, abs=1e-6)
    assert (y.diff() >= -1e-6).all()
    assert Monotone()(x).detach().numpy() == pytest.approx(x.numpy(), abs=1e-6)  # untrained: the identity


def test_overlaps_by_hand():
    a = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    b = torch.tensor([[1.0, 1.0, 3.0, 3.0], [0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 6.0, 6.0], [0.0, 0.0, 0.0, 0.0]])
    assert compute_overlaps(a, b)[0].tolist() == pytest.approx([1 / 7, 1, 0, 0])

"""The coupling regulariser.

The tests check hand-computed values, its four corners, its gradients, and yes/no questions.
"""

import math

import pytest
import torch

from modelserver.inputs.features import Vocabulary, featurise
from modelserver.inputs.hotpot import parse_gold
from modelserver.systems.batches import collate
from modelserver.systems.recurrent import Config, build
from modelserver.training.coupling_loss import (
    Coupling,
    compute_answer_probability,
    compute_coupling_cost,
    compute_explanation_probability,
)
from modelserver.training.recurrent_loss import compute_loss, label
from modelserver.world import generate

COSTS = Coupling(c1=2.0, c2=3.0, c3=5.0, form="product")


def _logits(*probabilities):
    return torch.tensor(probabilities, dtype=torch.float64).log()


def _facts(*relevant):
    return torch.stack([_logits(*(1 - p for p in relevant)), _logits(*relevant)], -1)


@pytest.mark.parametrize(
    "answer, explanation, cost",
    [
        (1.0, 1.0, 0.0),
        (1.0, 0.0, 2.0),
        (0.0, 1.0, 3.0),
        (0.0, 0.0, 5.0),
        # .8 * (.5 * 2) + .2 * (.5 * 3 + .5 * 5)
        (0.8, 0.5, 1.6),
        # a sum above 1: .5 * (-.5 * 2) + .5 * (1.5 * 3 - .5 * 5)
        (0.5, 1.5, 0.5),
    ],
)
def test_cost_of_a_question(answer, explanation, cost):
    assert compute_coupling_cost(
        torch.tensor([answer]), torch.tensor([explanation]), COSTS
    ).item() == pytest.approx(cost)


def test_the_docstring_s_expansion_is_the_formula():
    answer, explanation = torch.rand(2, 50, generator=torch.Generator().manual_seed(1)).double()
    c1, c2, c3 = COSTS.c1, COSTS.c2, COSTS.c3
    expanded = c3 - (c3 - c1) * answer - (c3 - c2) * explanation - (c1 + c2 - c3) * answer * explanation
    torch.testing.assert_close(compute_coupling_cost(answer, explanation, COSTS), expanded)


@pytest.mark.parametrize("form, expected", [("sum", [0.9 + 0.5, 0.2]), ("product", [0.9 * 0.5, 0.2])])
def test_both_forms_of_the_explanation_s_probability(form, expected):
    facts = _facts(0.9, 0.7, 0.5, 0.2, 0.6)
    gold = torch.tensor([True, False, True, True, False])
    example = torch.tensor([0, 0, 0, 1, 1])
    probabilities = compute_explanation_probability(facts, gold, example, 2, form)
    assert probabilities.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("form, expected", [("sum", 0.0), ("product", 1.0)])
def test_a_question_without_gold_facts(form, expected):
    nothing = torch.tensor([False, False])
    probabilities = compute_explanation_probability(_facts(0.9, 0.7), nothing, torch.tensor([0, 0]), 1, form)
    assert probabilities.tolist() == [expected]


def test_probability_of_a_span_and_of_a_type():
    start = _logits([0.1, 0.6, 0.3], [0.2, 0.2, 0.6])
    end = _logits([0.2, 0.3, 0.5], [0.2, 0.2, 0.6])
    kind = _logits([0.5, 0.3, 0.2], [0.1, 0.2, 0.7])
    probabilities = compute_answer_probability(
        start,
        end,
        kind,
        first=torch.tensor([1, -100]),
        last=torch.tensor([2, -100]),
        types=torch.tensor([0, 2]),
    )
    assert probabilities.tolist() == pytest.approx([0.6 * 0.5, 0.7])  # the type of a span is no part of it


def test_a_span_that_was_not_seen_has_probability_zero_and_no_gradient():
    start = torch.tensor([[0.0, -1e30, 0.0]], requires_grad=True)
    probability = compute_answer_probability(
        start,
        torch.zeros(1, 3),
        torch.zeros(1, 3),
        first=torch.tensor([1]),
        last=torch.tensor([1]),
        types=torch.tensor([0]),
    )
    probability.sum().backward()
    assert probability.item() == 0.0
    assert start.grad.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("form", ["sum", "product"])
def test_gradients_of_the_whole_term(form):
    torch.manual_seed(3)
    first, last = torch.tensor([1, -100, 3]), torch.tensor([2, -100, 3])
    types, gold = torch.tensor([0, 1, 0]), torch.tensor([True, False, True, True, False, True, True])
    example = torch.tensor([0, 0, 0, 1, 1, 2, 2])

    def term(start, end, kind, facts):
        answer = compute_answer_probability(start, end, kind, first=first, last=last, types=types)
        explanation = compute_explanation_probability(facts, gold, example, 3, form)
        return compute_coupling_cost(answer, explanation, Coupling(1.5, 0.5, 2.5, form)).mean()

    logits = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in ((3, 4), (3, 4), (3, 3))]
    facts = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(term, (*logits, facts))


def test_the_default_costs_draw_gold_facts_up():
    facts = _facts(0.3, 0.3).requires_grad_()
    gold, example = torch.tensor([True, False]), torch.tensor([0, 0])
    explanation = compute_explanation_probability(facts, gold, example, 1, Coupling().form)
    compute_coupling_cost(torch.tensor([0.7]), explanation, Coupling()).mean().backward()
    assert facts.grad[0, 1] < 0  # a step down the gradient makes the gold fact more relevant
    assert facts.grad[1].tolist() == [0.0, 0.0]  # and says nothing of the others


@pytest.mark.parametrize("system", ["qi2019-reg", "select-and-forget-reg"])
@pytest.mark.parametrize("form", ["sum", "product"])
def test_the_loss_is_that_of_the_structure_plus_the_mean_cost(system, form):
    torch.manual_seed(1)
    world = parse_gold(generate("train", 6, 2), "world")
    vocabulary = Vocabulary(())
    examples = [label(gold, featurise(gold.item, vocabulary)) for gold in world]
    batch = collate([e.features for e in examples], torch.device("cpu"))
    outputs = build(Config(system, hidden=6), 2).eval()(batch)
    coupling = Coupling(2.0, 3.0, 5.0, form)
    added = compute_loss(outputs, examples, batch, 1.0, coupling) - compute_loss(
        outputs, examples, batch, 1.0
    )
    assert added.item() == pytest.approx(_mean_cost(outputs, examples, coupling), rel=1e-4, abs=1e-5)


def _mean_cost(outputs, examples, coupling):
    """The same in plain Python, one question after the other."""
    token = fact = 0
    costs = []
    for number, example in enumerate(examples):
        tokens = slice(token, token := token + len(example.features.word))
        facts = slice(fact, fact := fact + len(example.features.facts))
        relevance = outputs.facts[facts].softmax(-1)[:, 1].tolist()
        gold = [p for p, is_gold in zip(relevance, example.facts, strict=True) if is_gold]
        explanation = sum(gold) if coupling.form == "sum" else math.prod(gold)
        answer = outputs.type[number].softmax(-1)[example.type].item()
        if example.start >= 0:
            answer = outputs.start[tokens].softmax(-1)[example.start].item()
            answer *= outputs.end[tokens].softmax(-1)[example.end].item()
        wrong = explanation * coupling.c2 + (1 - explanation) * coupling.c3
        costs.append(answer * (1 - explanation) * coupling.c1 + (1 - answer) * wrong)
    return sum(costs) / len(costs)

"""Execute a program with a network's modules; answers and likelihoods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from analysis.programs import Node, Program
from modelserver.inputs.decoding import compute_span_scores, find_top_span, require_finite_logits
from modelserver.modular.text.modules import Modules, Text, combine, compute_distance
from modelserver.modular.text.states import EPSILON, Amount, Attention, Mentions, State, to_amount
from modelserver.wire.errors import PredictionFailed
from modelserver.wire.schema import ModuleValue

LONGEST = 30  # an answer ends at most this many words after its first


@dataclass(frozen=True)
class Answer:
    """A right answer as a number, a date and words of the passage."""

    number: float | None = None
    date: str | None = None
    spans: tuple[tuple[int, int], ...] = ()


def execute(
    modules: Modules,
    text: Text,
    program: Program,
    asked: Sequence[Tensor | None],
    given: Mapping[int, State] | None = None,
) -> list[State]:
    """Return the state of every node.

    asked: of each node its attention over the question's words, None for one without words. given: states
    that hold in the place of what a node would give.
    """
    states: dict[int, State] = dict(given or {})
    for node in reversed(program.nodes):  # children first
        if node.index not in states:
            words = asked[node.index]
            below = [states[child] for child in node.children]
            states[node.index] = _apply(modules, text, node, text.nowhere if words is None else words, below)
    return [states[index] for index in range(len(program.nodes))]


def _apply(modules: Modules, text: Text, node: Node, asked: Tensor, below: Sequence[State]) -> State:
    match node.module, below:
        case "find", ():
            return modules.find(text, asked)
        case "extract-answer", ():
            return modules.extract_answer(text)
        case "filter", (Attention() as state,):
            return modules.filter(text, asked, state)
        case "relocate", (Attention() | Mentions() as state,):
            return modules.relocate(text, asked, state)
        case "find-num" | "find-date", (Attention() as state,):
            return modules.find_mentions(text, state, "numbers" if node.module == "find-num" else "dates")
        case "find-max-num" | "find-min-num", (Attention() | Mentions() as state,):
            return modules.find_extreme(text, state, largest=node.module == "find-max-num")
        case "num-compare" | "date-compare", (first, second):
            return modules.compare(text, first, second, node.argument or "")
        case "count", (Attention() | Mentions() as state,):
            return modules.count(state)
        case "subtraction", (Mentions() as state,):
            return compute_distance(state)
        case "addition" | "subtraction", (first, second):
            return combine(first, second, minus=node.module == "subtraction")
    raise AssertionError(f"{node.module} over {[type(state).__name__ for state in below]}: no program has it")


def log_likelihood(modules: Modules, text: Text, root: State, answer: Answer) -> Tensor | None:
    """Return the log probability of a right answer, or None.

    None: the program cannot give such an answer.
    """
    if isinstance(root, Attention):
        if not answer.spans:
            return None
        first, last = torch.log_softmax(modules.compute_end_logits(text, root), 1)
        begins = torch.tensor([begin for begin, _ in answer.spans], device=first.device)
        ends = torch.tensor([beyond - 1 for _, beyond in answer.spans], device=first.device)
        return torch.logsumexp(first[begins] + last[ends], 0)
    right = _find_right_values(root, answer)
    if right is None or not right.any():
        return None
    right = right.to(root.probabilities.device)
    if isinstance(root, Amount) and root.logs is not None:
        return torch.logsumexp(root.logs[right], 0)
    return torch.log(root.probabilities[right].sum() + EPSILON)


def _find_right_values(root: Mentions | Amount, answer: Answer) -> Tensor | None:
    """Return which of the values are right."""
    if isinstance(root, Amount):
        return _find_equal_values(root.values, answer.number)
    values = [quantity.value for quantity in root.quantities.items]
    if any(isinstance(value, str) for value in values):
        year = None if answer.number is None else f"{int(answer.number):04}"
        wanted = {answer.date, year} - {None}
        return torch.tensor([value in wanted for value in values])
    return _find_equal_values(torch.tensor(values, dtype=torch.float64), answer.number)


def _find_equal_values(values: Tensor, number: float | None) -> Tensor | None:
    if number is None:
        return None
    return torch.isclose(values, values.new_tensor(number), rtol=1e-9, atol=1e-9)


def choose_answer(modules: Modules, text: Text, root: State) -> ModuleValue:
    """Return the most probable answer: words, a number, or a date as written.

    Raises PredictionFailed for logits of words that are not finite, and as `compute_value` does.
    """
    if isinstance(root, Attention):
        ends = torch.log_softmax(modules.compute_end_logits(text, root), 1)
        first, last = ends.detach().double().cpu().numpy()
        require_finite_logits(first, last)
        begin, end = find_top_span(compute_span_scores(first, last, LONGEST))
        return text.reading.quote(begin, end + 1)
    if isinstance(root, Mentions):
        best = int(root.probabilities.argmax())
        if isinstance(root.quantities.items[best].value, str):
            return text.reading.quote(*root.quantities.words[best])
    value = choose_value(root)
    assert value is not None, "only attention has no value"
    return value


def choose_value(state: State) -> ModuleValue | None:
    """Return the most probable number or date (ISO 8601), None for words.

    Raises PredictionFailed if numbers of the passage exceed a float.
    """
    if isinstance(state, Attention):
        return None
    if isinstance(state, Mentions):
        dated = state.quantities.items[int(state.probabilities.argmax())].value
        if isinstance(dated, str):
            return dated
    values = to_amount(state)
    value = float(values.values[int(values.probabilities.argmax())])
    if not math.isfinite(value):
        raise PredictionFailed(f"the program comes to {value}, which is not a number")
    return int(value) if value.is_integer() else value

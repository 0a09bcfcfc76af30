"""Programs over the spans of a passage, with exact numbers and dates.

Their modules follow Gupta et al. 2020 and N20 §2.2, but those give
distributions; here a span is output or it is not, a number or a date is the
one that its span states, and a comparison is decided or, if a number is
missing or the two are equal, unknown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .execution import Execution, FoundSpan, Value, compute_value, read_stated_value, read_values
from .program import Node, Program
from .values import compare_dates, count_years_between

Spans = tuple[FoundSpan, ...]


def run_spans(
    program: Program, outputs: Mapping[int, Sequence[Any]], values: Mapping[int, Value]
) -> Execution:
    """Execute a program over spans; `analysis.programs.run` has the arguments."""
    drawn = {index: tuple(FoundSpan(*span) for span in spans) for index, spans in outputs.items()}
    objects: dict[int, Spans | None] = {}
    results: dict[int, Value | None] = {}
    for node in reversed(program.nodes):  # children first
        representative = program.representative[node.index]
        if node.type == "number":
            objects[node.index] = None
            computed = _compute_number(program, node, objects, results)
            results[node.index] = values.get(representative) if computed is None else computed
        else:
            spans = drawn.get(representative)
            objects[node.index] = _compute_spans(program, node, objects) if spans is None else spans
            results[node.index] = compute_value(objects[node.index], node.type)
    in_order = range(len(program.nodes))
    in_program = tuple(results[index] for index in in_order)
    return Execution(
        in_program, tuple((value,) for value in in_program), tuple(objects[index] for index in in_order)
    )


def _compute_spans(program: Program, node: Node, objects: Mapping[int, Spans | None]) -> Spans | None:
    """Compute the spans of a node without annotation from its children's.

    None if they do not follow.
    """
    below = [objects[child] for child in node.children]
    types = [program.nodes[child].type for child in node.children]
    if node.module in ("find-max-num", "find-min-num"):
        return _select_extreme_spans(below[0], max if node.module == "find-max-num" else min)
    if node.module in ("num-compare", "date-compare"):
        first, second = (
            None
            if spans is None
            else read_stated_value(spans, "dates" if node.module == "date-compare" else type_)
            for spans, type_ in zip(below, types, strict=True)
        )
        winner = _find_winner(node.argument or "", first, second)
        return None if winner is None else _find_events(program, node.children[winner], objects)
    return None


def _select_extreme_spans(spans: Spans | None, best: Any) -> Spans | None:
    """Return the spans with the largest (or smallest) number, with ties."""
    if spans is None:
        return None
    numbers = read_values(spans, "numbers")
    stated_numbers = [number for number in numbers if isinstance(number, int | float)]
    if len(stated_numbers) < len(numbers):
        return None
    return tuple(span for span, number in zip(spans, numbers, strict=True) if number == best(stated_numbers))


def _find_winner(wanted: str, first: Value | None, second: Value | None) -> int | None:
    """Return which of two numbers or dates wins, 0 or 1; None if unknown."""
    if first is None or second is None:
        return None
    if isinstance(first, str) and isinstance(second, str):
        sign = compare_dates(first, second)
    elif isinstance(first, str) or isinstance(second, str):
        return None
    else:
        sign = (first > second) - (first < second)
    if not sign:
        return None
    return int(sign > 0) if wanted in ("less", "earlier") else int(sign < 0)


def _find_events(program: Program, index: int, objects: Mapping[int, Spans | None]) -> Spans | None:
    """Return the events of a node's numbers or dates.

    These are the linked ones, or all that were searched.
    """
    node = program.nodes[index]
    linked = {source for span in objects[index] or () for source in span.sources}
    while node.type in ("numbers", "dates"):
        node = program.nodes[node.children[0]]
    events = objects[node.index]
    if events is None or node.index == index:
        return events
    return tuple(event for event in events if (event.start, event.end) in linked) or events


def _compute_number(
    program: Program, node: Node, objects: Mapping[int, Spans | None], results: Mapping[int, Value | None]
) -> Value | None:
    child = node.children[0]
    spans = objects[child]
    if node.module == "count":
        return None if spans is None else len(spans)
    if len(node.children) == 1:  # subtraction within one node
        pair = [] if spans is None else list(dict.fromkeys(read_values(spans, program.nodes[child].type)))
    else:
        pair = [results[operand] for operand in node.children]
    if len(pair) != 2:
        return None
    first, second = pair
    if isinstance(first, str) and isinstance(second, str):
        return count_years_between(first, second)
    if isinstance(first, int | float) and isinstance(second, int | float):
        if node.module == "addition":
            return first + second
        return first - second if len(node.children) == 2 else abs(first - second)
    return None

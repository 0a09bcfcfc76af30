"""Execute programs over the objects at their nodes; compare with answers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..scores.hotpotqa import normalise_answer
from .execution import Execution, FoundSpan, Value, check_representatives
from .on_boxes import run_boxes
from .on_spans import run_spans
from .program import Program
from .values import date_of, number_of

_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def run(
    program: Program,
    outputs: Mapping[int, Sequence[Any]],
    values: Mapping[int, Value] | None = None,
    *,
    as_drawn: bool = False,
) -> Execution:
    """Execute a program; see `Execution` for what comes out.

    At a node that can be computed (`in-left-image`, `intersect`, `discard`, `find-max-num`, `num-compare`, …)
    objects that are given hold; else it is computed. `find` and the others without objects are unknown.

    Args:
        program: Program to execute.
        outputs: Representative node to the objects at it, `FoundBox` or `FoundSpan` or plain tuples that
            begin like them; an empty sequence says that there is nothing, a missing node that nobody has
            looked.
        values: Representative node to a value that somebody gave, used if the objects do not give one.
        as_drawn: Count boxes that lie in an image which a module below (such as `in-left-image`) kept out.

    Returns:
        Values, runs and objects of every node.

    Raises:
        ValueError: A node is no representative.
    """
    given = values or {}
    check_representatives(program, outputs, "outputs")
    check_representatives(program, given, "values")
    if program.kind == "spans":
        return run_spans(program, outputs, given)
    return run_boxes(program, outputs, given, as_drawn)


def execute(
    program: Program, outputs: Mapping[int, Sequence[Any]], values: Mapping[int, Value] | None = None
) -> tuple[Value | None, ...]:
    """Return the value of every node; see `run`.

    Args:
        program: Program to execute.
        outputs: Representative node to the objects at it, `FoundBox` or `FoundSpan` or plain tuples that
            begin like them; an empty sequence says that there is nothing, a missing node that nobody has
            looked.
        values: Representative node to a value that somebody gave, used if the objects do not give one.

    Returns:
        One value per node in pre-order, None if unknown.

    Raises:
        ValueError: A node is no representative.
    """
    return run(program, outputs, values).values


def is_answer_consistent(program: Program, execution: Execution, answer: Value | None) -> bool | None:
    """Test whether a program's result is the answer.

    A truth value is compared with a bool or the words true, false, yes and no; numbers by value, read from
    words or digits if the answer is a text; dates as dates; spans by their quotes, normalised as for
    HotpotQA. One of them, or all in order, must be the answer, or one must hold all words of the other in a
    row (“Brady”, “Tom Brady”): this is to find contradictions, not where a name was cut.

    Args:
        program: Program that was executed.
        execution: Its results, from `run`.
        answer: The answer to compare with; None if unknown.

    Returns:
        None if either is unknown or they cannot be compared.
    """
    if answer is None:
        return None
    if program.type == "spans":
        spans = execution.objects[0]
        return None if spans is None else _is_quoted(spans, str(answer))
    value = execution.value
    if value is None:
        return None
    if isinstance(value, bool):
        truth = _TRUTH.get(str(answer).strip().lower())
        return None if truth is None else truth == value
    if isinstance(answer, bool):
        return None  # a label cannot be compared with a number or a date
    if isinstance(value, str):
        return date_of(str(answer)) == value
    number = answer if isinstance(answer, int | float) else number_of(answer)
    try:
        return number is not None and math.isclose(number, value, rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:  # a label of hundreds of digits
        return number == value


def _is_quoted(spans: Sequence[Any], answer: str) -> bool:
    """Test whether a quote, or all in order, is the answer.

    A longer or shorter form of the name also counts.
    """
    quotes = [span.quote for span in sorted(spans) if isinstance(span, FoundSpan)]
    wanted = normalise_answer(answer)
    return any(_is_same_name(normalise_answer(quote), wanted) for quote in [*quotes, " ".join(quotes)])


def _is_same_name(quote: str, answer: str) -> bool:
    if not quote or not answer:
        return quote == answer
    squeezed = quote.replace(" ", "") == answer.replace(" ", "")  # tokens of a passage stand apart
    return squeezed or f" {quote} " in f" {answer} " or f" {answer} " in f" {quote} "

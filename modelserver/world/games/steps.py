"""Programs over reports, built step by step with their gold spans.

A span may come from one of the child's: chosen from among them (`filter`, `find-max-num`,
`find-min-num`) or linked to it (`find-num`, `find-date`, `relocate`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from modelserver.world.calls import Call, call, number_subtrees
from modelserver.world.games.prose import Place, Span

CHOOSE = frozenset({"filter", "find-max-num", "find-min-num"})
DRAWN = frozenset({"find", "extract-answer", "relocate", "find-num", "find-date"}) | CHOOSE


@dataclass(frozen=True, eq=False)
class Mention:
    """A span, what it is about, and the span of the step below it comes from."""

    about: Any
    span: Span
    source: Mention | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """A node of a program with what it gives: mentions, if it gives spans."""

    program: Call
    mentions: tuple[Mention, ...] = ()
    below: tuple[Step, ...] = ()

    def nodes(self) -> Iterator[Step]:
        """Yield this step and all below it, parents first."""
        yield self
        for step in self.below:
            yield from step.nodes()


def find(words: str, about: Iterable[Any], span: Callable[[Any], Span]) -> Step:
    """Return a `find` step whose spans are about the given things."""
    return Step(call("find", argument=words), tuple(Mention(subject, span(subject)) for subject in about))


def make_answer_step(words: str, span: Span) -> Step:
    """Return an `extract-answer` step with one span."""
    return Step(call("extract-answer", argument=words), (Mention(None, span),))


def keep(words: str, step: Step, test: Callable[[Any], bool]) -> Step:
    """Return the filter: those of a step that the words hold for."""
    return _select_mentions("filter", words, step, [m for m in step.mentions if test(m.about)])


def select_extreme(module: str, step: Step, number: Callable[[Any], int]) -> Step:
    """Return the step to the mention with the extreme number.

    These are `find-max-num` and `find-min-num`.
    """
    best = max if module == "find-max-num" else min
    return _select_mentions(module, None, step, [best(step.mentions, key=lambda m: number(m.about))])


def link_spans(module: str, words: str | None, step: Step, span: Callable[[Any], Span]) -> Step:
    """Return new spans of a step (`find-num`, `find-date`, `relocate`)."""
    mentions = tuple(Mention(m.about, span(m.about), m) for m in step.mentions)
    return Step(call(module, step.program, argument=words), mentions, (step,))


def make_computed_step(module: str, *steps: Step, argument: str | None = None) -> Step:
    """Return a step without spans, such as `count`."""
    return Step(call(module, *(step.program for step in steps), argument=argument), (), steps)


def _select_mentions(module: str, words: str | None, step: Step, mentions: Sequence[Mention]) -> Step:
    kept = tuple(Mention(m.about, m.span, m) for m in mentions)
    return Step(call(module, step.program, argument=words), kept, (step,))


def build_gold(root: Step, tokens: Sequence[Place]) -> dict[str, Any]:
    """Return a gold document with a layer for each distinct subtree.

    Only subtrees that a person would mark spans for have one.
    """
    numbers = number_subtrees(root.program)
    layers: dict[str, Any] = {}
    for step in root.nodes():
        name = str(numbers[step.program])
        if step.program.module in DRAWN and name not in layers:
            layers[name] = _build_layer(step, numbers, tokens)
    return {"layers": layers, "problem": None}


def _build_layer(step: Step, numbers: dict[Call, int], tokens: Sequence[Place]) -> dict[str, Any]:
    objects = []
    for mention in step.mentions:
        source = [_make_id(step.below[0], mention.source, numbers)] if mention.source else []
        own: dict[str, Any] = {"id": _make_id(step, mention, numbers)}
        if step.program.module in CHOOSE:
            objects.append({**own, "ref": source[0]})
        else:
            objects.append({**own, **describe_span(mention.span, tokens), "links": source, "reason": ""})
    return {"state": "done" if objects else "nothing", "objects": objects, "value": None, "note": ""}


def _make_id(step: Step, mention: Mention, numbers: dict[Call, int]) -> str:
    return f"n{numbers[step.program]}.{mention.span.place[0]}"


def describe_span(span: Span, tokens: Sequence[Place]) -> dict[str, Any]:
    """Return a span as code points, tokens and quote; ends exclusive."""
    start, end = span.place
    first = bisect_right(tokens, start, key=lambda token: token[1])
    beyond = bisect_left(tokens, end, key=lambda token: token[0])
    return {"span": [start, end], "tokens": [first, beyond], "quote": span.quote}

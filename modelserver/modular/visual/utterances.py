"""Gold utterance attention: the words that each module of a program reads."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from modelserver.modular.visual.plans import WORDED, Plan

Span = tuple[int, int]


@dataclass(frozen=True)
class Utterance:
    """A text and the span of every node that reads words.

    Spans are in code points, ends exclusive.
    """

    text: str
    spans: dict[int, Span]


def attend(plan: Plan, sentence: str) -> Utterance:
    """Find the arguments of a program in its sentence, whatever their case.

    The nth distinct node with the same words has their nth occurrence, or the last. Words that are not there
    (programs may say ``object`` of what a sentence does not name) are put after the sentence. A node without
    an argument reads all of it.
    """
    spans: dict[int, Span] = {}
    used: dict[str, int] = defaultdict(int)
    text = sentence
    for index in plan.nodes(WORDED):
        argument = (plan.program.nodes[index].argument or "").strip()
        if not argument:
            spans[index] = (0, len(sentence))
            continue
        spans_of_words = _find_occurrences(argument, text)
        if not spans_of_words:
            spans_of_words = [(len(text) + 1, len(text) + 1 + len(argument))]
            text = f"{text} {argument}"
        spans[index] = spans_of_words[min(used[argument.lower()], len(spans_of_words) - 1)]
        used[argument.lower()] += 1
    return Utterance(text, spans)


def _find_occurrences(argument: str, text: str) -> list[Span]:
    words = r"\s+".join(re.escape(word) for word in argument.split())
    return [match.span() for match in re.finditer(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE)]

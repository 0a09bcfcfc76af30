"""Choose questions by their reasoning, and shorten their contexts.

Ray Choudhury et al. 2022 (section 3.1) train on the supporting facts alone,
and for comparison on the questions with comparing words alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from analysis.counterfactuals.comparison import find_comparing_words
from analysis.counterfactuals.contexts import reduce_question
from modelserver.inputs.hotpot import GoldExample
from modelserver.wire.errors import UnreadableData

Context = Literal["whole", "facts", "paragraphs"]
Reasoning = Literal["comparison"]


@dataclass(frozen=True)
class Selection:
    """Selection of questions, and of parts of their contexts.

    Attributes:
        context: All of it, the supporting facts, or their paragraphs.
        reasoning: "comparison" takes the questions with comparing words whose
            type, if they have one, is a comparison; None takes all.
    """

    context: Context = "whole"
    reasoning: Reasoning | None = None

    def __bool__(self) -> bool:
        return self != Selection()

    def of(self, gold: Iterable[GoldExample], source: object) -> list[GoldExample]:
        """Return the chosen questions; print the number of the others.

        Args:
            gold: Questions with their gold facts.
            source: Names them in messages.

        Raises:
            UnreadableData: None is left.
        """
        given = list(gold)
        if not self:
            return given
        asked = [example for example in given if self.reasoning is None or is_comparison(example)]
        chosen = [short for example in asked if (short := self._shorten(example)) is not None]
        notes = (
            (len(given) - len(asked), "that do not compare by a listed word"),
            (len(asked) - len(chosen), "without a fact"),
        )
        for number, kind in notes:
            if number:
                sys.stderr.write(f"{source}: {number} questions {kind} left out\n")
        if not chosen:
            raise UnreadableData(f"{source}: no question is left for the chosen context and reasoning")
        return chosen

    def _shorten(self, gold: GoldExample) -> GoldExample | None:
        """Return a question with its part of the context; None without facts."""
        if self.context == "whole":
            return gold
        try:
            short = reduce_question(gold.model_dump(by_alias=True), self.context)
        except ValueError:
            return None
        return GoldExample.model_validate(short)


def is_comparison(gold: GoldExample) -> bool:
    """Return whether a question compares by one of the listed words.

    Examples:
        >>> gold = {"_id": "1", "answer": "A", "supporting_facts": [], "context": []}
        >>> is_comparison(GoldExample(**gold, question="Who was born earlier, A or B?"))
        True
    """
    titles = [title for title, _ in gold.supporting_facts]
    compares = (gold.type or "comparison").endswith("comparison")  # 2WikiMultiHopQA: bridge_comparison, too
    return compares and bool(find_comparing_words(gold.question, titles))

"""Score `text-nmn`: answers by its own programs, modules by gold programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.faithfulness.spans import GoldSpans, SpanOutput, SpanScores, score_spans
from analysis.scores.hotpotqa import answer_f1, exact_match
from modelserver.modular.text.examples import Example
from modelserver.modular.text.system import TextSystem
from modelserver.wire.schema import Execution, ModuleItem

BATCH = 16  # items that run together


@dataclass(frozen=True)
class Scores:
    """Means over all questions, in [0, 1], and the modules' faithfulness.

    Attributes:
        em: Exact match of the answers by the system's own programs.
        f1: F1 of the same answers.
        parsed: Share of the questions with a gold program whose modules the system writes
            as people do, None if there are none.
    """

    em: float
    f1: float
    parsed: float | None
    faithfulness: SpanScores | None


def score(system: TextSystem, examples: Sequence[Example], *, given: bool = False) -> Scores:
    """Score a system on at least one example.

    With ``given``, gold programs replace the system's own.
    """
    executions = run(system, [_add_program(example) if given else example.item for example in examples])
    answered = [
        score_answer(example, execution.answer)
        for example, execution in zip(examples, executions, strict=True)
    ]
    em, f1 = np.mean(answered, axis=0)
    parsed = [
        _drop_words(str(example.program)) == _drop_words(execution.program)
        for example, execution in zip(examples, executions, strict=True)
        if example.program is not None
    ]
    share = float(np.mean(parsed)) if parsed else None
    return Scores(float(em), float(f1), share, score_faithfulness(system, examples))


def _add_program(example: Example) -> ModuleItem:
    return example.item.model_copy(update={"program": example.program and str(example.program)})


def run(system: TextSystem, items: Sequence[ModuleItem]) -> list[Execution]:
    """Execute items in batches, in their order."""
    starts = [*range(0, len(items), BATCH), len(items)]
    return [execution for start, end in pairwise(starts) for execution in system.execute(items[start:end])]


def score_answer(example: Example, answer: object) -> tuple[float, float]:
    """Return EM and F1 of an answer, the best of the right answers.

    Of an answer that several texts make up together one text is 1/n of its F1 and no exact match.
    """
    predicted = str(answer)
    scores = []
    for right in (example.answer_texts, *example.also):
        alone = len(right) == 1
        em = float(alone and exact_match(right[0], predicted))
        scores.append((em, max(answer_f1(text, predicted).f1 for text in right) / len(right)))
    return max(scores, key=lambda pair: pair[1])


def _drop_words(program: str) -> str:
    """Return a program without the words of its modules."""
    kept, depth = [], 0
    for sign in program:
        depth += (sign == "[") - (sign == "]")
        if not depth and sign != "]":
            kept.append(sign)
    return "".join(kept)


def score_faithfulness(system: TextSystem, examples: Sequence[Example]) -> SpanScores | None:
    """Score the modules of gold programs against gold spans, None without any.

    Programs with extract-answer are left out, because not every system has that module.
    """
    chosen = [
        example
        for example in examples
        if example.program is not None
        and example.gold
        and all(node.module != "extract-answer" for node in example.program.nodes)
    ]
    if not chosen:
        return None
    gold, outputs = [], {}
    for example, execution in zip(chosen, run(system, list(map(_add_program, chosen))), strict=True):
        lists = tuple(
            (gold_list.module, np.array(gold_list.spans, dtype=np.int64)) for gold_list in example.gold
        )
        gold.append(GoldSpans(example.item.id, lists))
        rows = [
            (gold_list.module, np.stack([execution.modules[node].attention for node in gold_list.nodes]))
            for gold_list in example.gold
        ]
        outputs[example.item.id] = SpanOutput(example.item.id, tuple(rows))
    return score_spans(gold, outputs)

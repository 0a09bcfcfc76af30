"""Compare FaRM(1..4) with nine full prediction passes.

Run ``python -m benchmarks.models.farm``, on generated questions or with ``--data`` on a file in HotpotQA's
form.

The nine passes are what the released code of Schuff et al. 2020 amounts to: all questions on their full
contexts, and for each k = 1..4 all of them again without the relevant and without the irrelevant facts, in
the order of the data, 64 questions a batch (the default of the reader that it builds on, Qi et al. 2019).
Beside them runs ``modelserver.evaluation.scores.compute_farm_scores`` on the predictions that the full pass
gave.
Both may use all cores, and of the nine passes on one thread and on all of torch's threads the quicker counts:
on a busy machine threads that wait for each other can take ten times as long. The ways take turns, and the
figure is the median of the ratios. The processor time beside it says how much of that is less work.

Last it says what the reduced contexts of a question could at most share with its full one if the answers
are to stay the same: the numbers and vectors of words, and the first encoding of an article that lost no
fact and whose words are marked as before. Every later step depends on every word of a context. Of a reader
that answers from its selected facts alone it says how often another context of the question had the same,
and what share of a pass the second read is.

Bars: at least 0.9 of what it saves to predict each distinct context once, and the very same scores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from analysis.scores.farm_loca import REMOVALS, farm, reduce_context, removal_order
from modelserver.evaluation.scores import Scores, compute_farm_scores
from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import load_system
from modelserver.systems.batches import collate
from modelserver.systems.reader import RecurrentSystem
from modelserver.systems.recurrent import Qi2019, SelectAndForget
from modelserver.wire.schema import QAItem, QAPrediction
from modelserver.wire.system_protocol import Predictor
from modelserver.world import generate

T = TypeVar("T")

SHARE = 0.9  # of what the number of distinct contexts allows
BATCH = 64
SHARE_TURNS = 5


def load_questions(data: Path | None, most: int) -> tuple[list[QAItem], str]:
    """Return questions of a file, or generated ones, and their source."""
    if data is None:
        records, source = list(generate("test", most, 1)), "generated"
    else:
        records, source = json.loads(data.read_text(encoding="utf-8")), data.name
    return [example.item for example in parse_gold(records[:most], source)], source


def run_single_pass(system: Predictor, items: Sequence[QAItem]) -> list[QAPrediction]:
    """Answer all items in their order."""
    batches = (items[start : start + BATCH] for start in range(0, len(items), BATCH))
    return [
        prediction
        for batch in batches
        for prediction in system.predict(batch)
        if isinstance(prediction, QAPrediction)
    ]


def nine_passes(system: Predictor, items: Sequence[QAItem]) -> tuple[Scores, list[QAPrediction]]:
    """Return FaRM(k), c_rel(k), c_irr(k) and the full predictions."""
    full = run_single_pass(system, items)
    sides: dict[str, dict[int, dict[str, str]]] = {"relevant": {}, "irrelevant": {}}
    for side, answers in sides.items():
        for k in REMOVALS:
            reduced = [_reduce_item(item, pair, side, k) for item, pair in zip(items, full, strict=True)]
            answers[k] = {pair.id: pair.answer for pair in run_single_pass(system, reduced)}
    result = farm({pair.id: pair.answer for pair in full}, sides["relevant"], sides["irrelevant"])
    named = (("farm", result.farm), ("c_rel", result.c_rel), ("c_irr", result.c_irr))
    return {f"{name}_{k}": values[k] for k in REMOVALS for name, values in named}, full


def _reduce_item(item: QAItem, prediction: QAPrediction, side: str, k: int) -> QAItem:
    listed = [(pair.title, pair.index, pair.probability) for pair in prediction.fact_probabilities or ()]
    order = removal_order(listed, prediction.facts)
    context = reduce_context(item.context, order.relevant if side == "relevant" else order.irrelevant, k)
    return QAItem(id=item.id, question=item.question, context=[(title, rest) for title, rest in context])


def measure_time(work: Callable[[], T]) -> tuple[float, float, T]:
    """Return the seconds and processor seconds of work, and its result."""
    started, used = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - started, time.process_time() - used, result


def _run_with_threads(number: int, work: Callable[[], T]) -> T:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        return work()
    finally:
        torch.set_num_threads(before)


def compare(system: Predictor, items: Sequence[QAItem], turns: int) -> tuple[list[tuple[float, ...]], bool]:
    """Return figures of each turn, and whether the scores agree.

    They are seconds and processor seconds of both ways, and the contexts that FaRM predicted.
    """
    compute_farm_scores(system, items[:16], run_single_pass(system, items[:16]))  # to warm up
    times: list[tuple[float, ...]] = []
    same, threads = True, torch.get_num_threads()
    for _ in range(turns):
        slow, slow_used, (expected, full) = min(
            (
                _run_with_threads(number, lambda: measure_time(lambda: nine_passes(system, items)))
                for number in (1, threads)
            ),
            key=lambda pair: pair[0],
        )
        sizes: list[int] = []
        count = sizes.append
        fast, fast_used, scores = measure_time(
            lambda full=full, count=count: compute_farm_scores(system, items, full, advance=count)  # type: ignore[misc]
        )
        times.append((slow, fast, slow_used, fast_used, sum(sizes)))
        same = same and scores == expected
    return times, same


def measure_shares(system: RecurrentSystem, items: Sequence[QAItem]) -> tuple[float, float]:
    """Return the shares of words and first encoding in a pass's time.

    The least times of some turns, on one thread and ``BATCH`` questions at most.
    """
    chosen = items[:BATCH]
    features = [system.features(item) for item in chosen]
    batch = collate(features, system.device)
    model = system.model
    reading = model.read if isinstance(model, Qi2019) else model.read_for_facts
    with torch.inference_mode():
        _, rows = model.embed(batch)
        rows = torch.cat([rows, batch.context.shared[:, None].float()], -1)
        calls: list[Callable[[], object]] = [
            lambda: system.predict(chosen),
            lambda: [system.features(item) for item in chosen],
            lambda: model.embed(batch),
            lambda: reading.encode(rows, batch.context.by_article),
        ]
        whole, numbers, vectors, encoded = _run_with_threads(
            1, lambda: [min(measure_time(call)[1] for _ in range(SHARE_TURNS)) for call in calls]
        )
    return (numbers + vectors) / whole, encoded / whole


def compute_unchanged_share(system: RecurrentSystem, items: Sequence[QAItem]) -> float:
    """Return the share of words whose first encoding stays the same."""
    same = words = 0
    for item, prediction in zip(items, run_single_pass(system, items), strict=True):
        before = _mark_shared_words(system, item)
        reduced = {
            reduced_item.model_dump_json(): reduced_item
            for reduced_item in _list_reduced_items(item, prediction)
        }
        for pair in reduced.values():
            for article, marks in _mark_shared_words(system, pair).items():
                words += len(marks)
                same += len(marks) * (before.get(article) == marks)
    return same / max(1, words)


def measure_second_reads(system: RecurrentSystem, items: Sequence[QAItem]) -> tuple[float, float]:
    """Return the shares of second reads in a pass and of repeated ones.

    A second read is repeated if another context of the question, the full one included, has the same selected
    facts. Times are as in `shares`.
    """
    model, chosen = system.model, items[:BATCH]
    assert isinstance(model, SelectAndForget)
    reads: list[float] = []
    spent = 0.0

    def watch_forward(forward: Callable[..., T]) -> Callable[..., T]:
        def run(*values: object) -> T:
            nonlocal spent
            _, used, result = measure_time(lambda: forward(*values))
            spent += used
            return result

        return run

    parts: tuple[Any, ...] = (model.read_for_answer, model.answer)
    for part in parts:
        part.forward = watch_forward(part.forward)
    for _ in range(SHARE_TURNS):
        spent = 0.0
        _, whole, _ = _run_with_threads(1, lambda: measure_time(lambda: system.predict(chosen)))
        reads.append(spent / whole)
    again = total = 0
    for item, prediction in zip(items, run_single_pass(system, items), strict=True):
        contexts = {
            reduced_item.model_dump_json(): reduced_item
            for reduced_item in _list_reduced_items(item, prediction)
        }
        selected = [_list_selected_sentences(asked, answered) for asked, answered in zip(
            [item, *contexts.values()],
            [prediction, *run_single_pass(system, list(contexts.values()))],
            strict=True,
        )]  # fmt: skip
        total += len(selected)
        again += len(selected) - len(set(selected))
    return statistics.median(reads), again / total


def _list_reduced_items(item: QAItem, prediction: QAPrediction) -> list[QAItem]:
    """Return the contexts of FaRM that are left with an article."""
    reduced = [
        _reduce_item(item, prediction, side, k) for side in ("relevant", "irrelevant") for k in REMOVALS
    ]
    return [reduced_item for reduced_item in reduced if reduced_item.context]


def _list_selected_sentences(item: QAItem, prediction: QAPrediction) -> tuple[str, ...]:
    """Return the selected sentences in the order of the context."""
    chosen = set(prediction.facts)
    return tuple(
        sentence
        for title, sentences in item.context
        for number, sentence in enumerate(sentences)
        if (title, number) in chosen
    )


def _mark_shared_words(system: RecurrentSystem, item: QAItem) -> dict[tuple[str, ...], list[bool]]:
    """Return the words of each article that another article has too."""
    features = system.features(item)
    shared = collate([features], system.device).context.shared.numpy()
    return {
        (title, *sentences): shared[features.article == number].tolist()
        for number, (title, sentences) in enumerate(item.context)
    }


def main() -> int:
    """Print the comparison by system; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.farm", description=main.__doc__)
    parser.add_argument("--systems", nargs="+", default=["qi2019", "select-and-forget"], metavar="NAME")
    parser.add_argument("--questions", type=int, default=256, help="(default: %(default)s)")
    parser.add_argument("--data", type=Path, help="questions in HotpotQA's form (default: generated ones)")
    parser.add_argument("--turns", type=int, default=3, help="of each way (default: %(default)s)")
    options = parser.parse_args()
    items, source = load_questions(options.data, options.questions)
    print(f"{len(items)} {source} questions, median of {options.turns}")
    missed = False
    for name in options.systems:
        system = load_system(name)
        times, same = compare(system, items, options.turns)
        slow, fast, _, _, distinct = (statistics.median(column) for column in zip(*times, strict=True))
        faster = statistics.median(turn[0] / turn[1] for turn in times)
        less = statistics.median(turn[2] / turn[3] for turn in times)
        contexts = (1 + 2 * len(REMOVALS)) * len(items)
        bar = SHARE * contexts / distinct
        missed = missed or faster < bar or not same
        reached = "met" if faster >= bar else "missed"
        print(
            f"{name}: nine passes {slow:.1f} s, farm_scores {fast:.1f} s, {faster:.2f} times as fast, "
            f"bar {bar:.2f} ({distinct:g} contexts for {contexts}): {reached}; "
            f"processor time {less:.2f} times; "
            f"scores {'equal' if same else 'DIFFER'}",
            flush=True,
        )
        if isinstance(system, RecurrentSystem):
            words, first = measure_shares(system, items)
            unchanged = compute_unchanged_share(system, items)
            print(
                f"  of a pass, {words:.0%} is for the numbers and vectors of words and {first:.0%} for the "
                f"first encoding of articles, the same for {unchanged:.0%} of the words"
            )
            if isinstance(system.model, SelectAndForget):
                share, again = measure_second_reads(system, items)
                print(f"  the second read is {share:.0%} of a pass, and {again:.0%} of them repeat one")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

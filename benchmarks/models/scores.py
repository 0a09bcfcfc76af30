"""Measure the standard scores of 7,405 generated predictions.

Run ``python -m benchmarks.models.scores``.

Beside them runs an evaluation written plainly, in the steps of HotpotQA's official script:
every normalisation where it is needed, fact by fact, one running sum a score. Both get the same objects in
memory; reading files is not measured. The two take turns, and the figure is the median of the ratios.

Bars: at least twice as fast, and equal to 1e-12.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import string
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.scores import hotpotqa
from modelserver.world import generate
from predictions.scores.scoring import Scored, Standard

QUESTIONS = 7_405  # the development set of HotpotQA
FASTER = 2.0
EQUAL = 1e-12

Gold = Sequence[Mapping[str, Any]]
Predictions = Mapping[str, Mapping[str, Any]]


def generate_questions(count: int, seed: int = 1) -> tuple[Gold, Predictions]:
    """Return questions with gold, and predictions half of which are right.

    The others have other words around the answer, another question's answer, or none; facts too few, too
    many, or none.
    """
    rng = random.Random(seed)
    gold = list(generate("test", count, seed))
    answers = [question["answer"] for question in gold]
    predicted: dict[str, dict[str, Any]] = {"answer": {}, "sp": {}}
    for question in gold:
        name, answer = question["_id"], question["answer"]
        facts = [[title, n] for title, sentences in question["context"] for n in range(len(sentences))]
        right = question["supporting_facts"]
        listed = [
            answer,
            answer,
            answer,
            f"The {answer}, of course",
            answer.split()[0],
            rng.choice(answers),
            None,
        ]
        shown = [right, right, right[:1], [*right, rng.choice(facts)], rng.sample(facts, 3), [], None]
        for key, value in (("answer", rng.choice(listed)), ("sp", rng.choice(shown))):
            if value is not None:
                predicted[key][name] = value
    return gold, predicted


def score_plainly(gold: Gold, predictions: Predictions) -> dict[str, float]:
    """Return the scores as a loop over the questions finds them, step by step."""
    sums = dict.fromkeys(hotpotqa.KEYS, 0.0)
    for question in gold:
        name = question["_id"]
        of_answer = of_facts = None
        if name in predictions["answer"]:
            of_answer = _score_answer(predictions["answer"][name], question["answer"])
            _add_scores(sums, "", of_answer)
        if name in predictions["sp"]:
            of_facts = _score_facts(predictions["sp"][name], question["supporting_facts"])
            _add_scores(sums, "sp_", of_facts)
        if of_answer and of_facts:
            precision, recall = of_answer["prec"] * of_facts["prec"], of_answer["recall"] * of_facts["recall"]
            joint = {"em": of_answer["em"] * of_facts["em"], "f1": _compute_f1(precision, recall)}
            _add_scores(sums, "joint_", joint | {"prec": precision, "recall": recall})
    return {key: value / len(gold) for key, value in sums.items()}


def _add_scores(sums: dict[str, float], prefix: str, scores: Mapping[str, float]) -> None:
    for key, value in scores.items():
        sums[prefix + key] += value


def _normalise_plainly(text: str) -> str:
    signs = set(string.punctuation)
    kept = "".join(sign for sign in text.lower() if sign not in signs)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def _compute_f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _score_answer(predicted: str, gold: str) -> dict[str, float]:
    em = float(_normalise_plainly(predicted) == _normalise_plainly(gold))
    return {"em": em, **_score_overlap(predicted, gold)}


def _score_overlap(predicted: str, gold: str) -> dict[str, float]:
    nothing = {"f1": 0.0, "prec": 0.0, "recall": 0.0}
    ours, theirs = _normalise_plainly(predicted), _normalise_plainly(gold)
    for left, other in ((ours, theirs), (theirs, ours)):
        if left in ["yes", "no", "noanswer"] and left != other:
            return nothing
    words, wanted = ours.split(), theirs.split()
    shared = sum((Counter(words) & Counter(wanted)).values())
    if shared == 0:
        return nothing
    precision, recall = shared / len(words), shared / len(wanted)
    return {"f1": _compute_f1(precision, recall), "prec": precision, "recall": recall}


def _score_facts(predicted: Sequence[Any], gold: Sequence[Any]) -> dict[str, float]:
    chosen, wanted = {tuple(fact) for fact in predicted}, {tuple(fact) for fact in gold}
    right = wrong = missed = 0
    for fact in chosen:
        if fact in wanted:
            right += 1
        else:
            wrong += 1
    for fact in wanted:
        missed += fact not in chosen
    precision = right / (right + wrong) if right + wrong else 0.0
    recall = right / (right + missed) if right + missed else 0.0
    em = float(wrong + missed == 0)
    return {"em": em, "f1": _compute_f1(precision, recall), "prec": precision, "recall": recall}


def score_by_site(gold: Gold, predictions: Predictions) -> Standard:
    """Return the scores and counts that the site's `score` computes."""
    standard = Standard()
    answers, facts = predictions["answer"], predictions["sp"]
    for question in gold:
        name = question["_id"]
        answer, chosen = answers.get(name), facts.get(name)
        standard.add(Scored(question["answer"], question["supporting_facts"], answer, chosen))
    return standard


def measure_seconds(
    function: Callable[[Gold, Predictions], object], gold: Gold, predictions: Predictions
) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    function(gold, predictions)
    return time.perf_counter() - started


def main() -> int:
    """Print how the ways compare and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.scores", description=main.__doc__)
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="(default: %(default)s)")
    parser.add_argument("--turns", type=int, default=9, help="of each way (default: %(default)s)")
    options = parser.parse_args()
    gold, predictions = generate_questions(options.questions)
    scorers = (score_plainly, hotpotqa.score, score_by_site)
    turns = [[measure_seconds(scorer, gold, predictions) for scorer in scorers] for _ in range(options.turns)]
    plain, ours, site = (statistics.median(column) for column in zip(*turns, strict=True))
    faster = statistics.median(turn[0] / turn[1] for turn in turns)
    on_site = statistics.median(turn[0] / turn[2] for turn in turns)
    there, here = score_plainly(gold, predictions), hotpotqa.score(gold, predictions)
    apart = max(abs(there[key] - here[key]) for key in hotpotqa.KEYS)
    print(f"{options.questions} questions, median of {options.turns}")
    print(
        f"plain loop {1000 * plain:.0f} ms, analysis.scores.hotpotqa {1000 * ours:.0f} ms, "
        f"site {1000 * site:.0f} ms"
    )
    met = {
        f"analysis.scores.hotpotqa {faster:.2f} times as fast, bar {FASTER:g}": faster >= FASTER,
        f"largest difference {apart:.1e}, bar {EQUAL:g}": apart <= EQUAL,
    }
    for sentence, reached in met.items():
        print(f"{sentence}: {'met' if reached else 'missed'}")
    print(f"the site's counts, which hold three scores more: {on_site:.2f} times as fast, no bar")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Print FaRM beside comprehensiveness and sufficiency of systems.

Run ``python -m benchmarks.models.erasure [FORMAT:FILE ...]`` with FORMAT hotpotqa, quoref or squad; ``world``
stands for questions of the generated world, ``claims`` for claims about it, which are its questions for yes
or no as statements. Each distinct reduced context is predicted once, and gives both the answer that FaRM
compares and the probability of the first answer. Questions that a system cannot read are left out for it, and
counted. Below each table stand the rank correlations of the scores over systems.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from analysis.scores.erasure import DIFFERENCES, Probabilities, erasure
from analysis.scores.farm_loca import REMOVALS, farm
from analysis.scores.hotpotqa import answer_f1
from analysis.stats.correlations import kendall, spearman
from modelserver.inputs.hotpot import parse_gold
from modelserver.inputs.span_qa import FORMATS
from modelserver.registry import load_system
from modelserver.systems.predict_each import predict_each
from modelserver.wire.errors import InvalidRequest
from modelserver.wire.schema import QAItem, QAPrediction
from modelserver.wire.system_protocol import Predictor
from modelserver.world import generate
from predictions.scores.farm_contexts import Reductions, build_reductions

SYSTEMS = ("qi2019", "select-and-forget", "qi2019-reg", "select-and-forget-reg", "encoder-small", "heuristic")
LANGUAGE = ("world-lm", "world-lm-answer-first")
TOGETHER = 8
WORLD_SEED = 31
QUESTIONS_PER_CLAIM = 12  # generated for one that is for yes or no; about one in six is
SCORES = ("answer_f1", "farm_4", *DIFFERENCES)


@dataclass(frozen=True)
class Asked:
    """A question and its right answers."""

    item: QAItem
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """The scores of a system; None for those that need probabilities.

    ``left_out`` counts the questions that it cannot read.
    """

    data: str
    system: str
    questions: int
    left_out: int
    scores: dict[str, float | None]


def draw_questions(source: str, count: int) -> list[Asked]:
    """Return ``count`` questions of a source, drawn by a fixed seed."""
    if source == "world":
        gold = parse_gold(generate("test", count, WORLD_SEED), "world")
        return [Asked(example.item, (example.answer,)) for example in gold]
    if source == "claims":
        asked = [
            claim
            for row in generate("test", QUESTIONS_PER_CLAIM * count, WORLD_SEED)
            if (claim := _claim(row))
        ]
        gold = parse_gold(asked[:count], "claims")
        return [Asked(example.item, (example.answer,)) for example in gold]
    form, _, path = source.partition(":")
    examples = FORMATS[form](Path(path)).examples
    drawn = random.Random(1).sample(examples, min(count, len(examples)))
    return [Asked(example.item, example.answers) for example in drawn]


def _claim(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a question for yes or no as a statement, else None.

    "Were A and B formed in one town?" becomes "A and B were formed in one town."
    """
    verb, _, rest = row["question"].removesuffix("?").partition(" ")
    titles = sorted({title for title, _ in row["supporting_facts"]}, key=rest.find)
    subject = " and ".join(titles)
    if row["answer"] not in ("yes", "no") or not rest.startswith(f"{subject} "):
        return None
    predicate = rest.removeprefix(f"{subject} ")
    words = [subject, *([] if verb == "Do" else [verb.lower()]), predicate]
    return {**row, "question": f"{' '.join(words)}."}


def predict_by_id(system: Predictor, items: Sequence[QAItem]) -> dict[str, QAPrediction]:
    """Return the predictions by id; an item that fails has none."""
    readable = []
    for item in items:
        try:
            system.check(item)
        except InvalidRequest:
            continue
        readable.append(item)
    readable.sort(key=system.cost)
    outcomes = [
        outcome
        for at in range(0, len(readable), TOGETHER)
        for outcome in predict_each(system, readable[at : at + TOGETHER])
    ]
    return {outcome.id: outcome for outcome in outcomes if isinstance(outcome, QAPrediction)}


def score_row(data: str, system: Predictor, asked: Sequence[Asked]) -> Row:
    """Score one system on one file."""
    first = predict_by_id(system, [question.item for question in asked])
    forms: dict[str, Reductions] = {}
    reduced: dict[str, QAItem] = {}
    for item in (question.item for question in asked if question.item.id in first):
        prediction = first[item.id]
        chances = [(fact.title, fact.index, fact.probability) for fact in prediction.fact_probabilities or ()]
        if not chances:
            continue  # nothing says which fact goes first
        form = forms[item.id] = build_reductions(item.context, prediction.facts, chances, with_erasure=True)
        for digest, context in form.contexts.items():
            name = f"{item.id}/{digest}"
            reduced[name] = QAItem(
                id=name, question=item.question, context=context, target=prediction.answer or None
            )
    again = predict_by_id(system, list(reduced.values()))
    whole = {name: form for name, form in forms.items() if all(f"{name}/{d}" in again for d in form.contexts)}
    answered = [question for question in asked if question.item.id in (whole or first)]
    scores: dict[str, float | None] = dict.fromkeys(SCORES)
    if answered:
        best = [max(answer_f1(first[e.item.id].answer, a)[0] for a in e.answers) for e in answered]
        scores["answer_f1"] = float(np.mean(best))
    if whole:
        scores["farm_4"] = _compute_farm(first, again, whole)
        probabilities = [
            _compute_probabilities(first[name], again, name, form) for name, form in whole.items()
        ]
        if all(probabilities):
            means = asdict(erasure(cast("list[Probabilities]", probabilities)))
            scores |= {key: means[key] for key in DIFFERENCES}
    return Row(data, system.name, len(answered), len(asked) - len(answered), scores)


def _compute_farm(
    first: dict[str, QAPrediction], again: dict[str, QAPrediction], forms: dict[str, Reductions]
) -> float | None:
    def answers(side: str, k: int) -> dict[str, str]:
        digests = {name: getattr(form, side)[k] for name, form in forms.items()}
        return {
            name: (first[name] if digest == forms[name].full else again[f"{name}/{digest}"]).answer
            for name, digest in digests.items()
        }

    without = ({k: answers(side, k) for k in REMOVALS} for side in ("relevant", "irrelevant"))
    return farm({name: first[name].answer for name in forms}, *without).farm[4]


def _compute_probabilities(
    prediction: QAPrediction, again: dict[str, QAPrediction], name: str, form: Reductions
) -> Probabilities | None:
    logs = {digest: again[f"{name}/{digest}"].target_logprob for digest in form.contexts}
    logs[form.full] = prediction.answer_logprob
    if any(log is None for log in logs.values()):
        return None
    p = {digest: min(1.0, math.exp(log)) for digest, log in logs.items() if log is not None}
    return Probabilities(
        p[form.full],
        without=p[form.without],
        only=p[form.only[0]],
        without_first={k: p[form.relevant[k]] for k in REMOVALS},
        only_first={k: p[form.only[k]] for k in REMOVALS},
    )


def correlate_scores(rows: Sequence[Row]) -> dict[str, tuple[float, float, int]]:
    """Return Spearman's rho, Kendall's tau and n of each pair of scores.

    They are over the systems that have both, from three on.
    """
    result = {}
    for number, first in enumerate(SCORES):
        for second in SCORES[number + 1 :]:
            pairs = [(row.scores[first], row.scores[second]) for row in rows]
            defined = [(a, b) for a, b in pairs if a is not None and b is not None]
            if len(defined) >= 3:
                x, y = np.array(defined, dtype=float).T[:, None]
                result[f"{first}, {second}"] = float(spearman(x, y)[0]), float(kendall(x, y)[0]), len(defined)
    return result


def main() -> int:
    """Print a table for each file and the correlations over systems."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.erasure", description=main.__doc__)
    parser.add_argument("data", nargs="*", default=["world"], metavar="FORMAT:FILE")
    parser.add_argument("--systems", nargs="+", default=[*SYSTEMS, *LANGUAGE])
    parser.add_argument("--questions", type=int, default=40, help="of each file (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="write all figures as JSON here")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Row] = []
    for source in options.data:
        asked = draw_questions(source, options.questions)
        name = source.partition(":")[0] + ("" if source in ("world", "claims") else f" {Path(source).stem}")
        print(
            f"\n{name}\n\n| system | n (left out) | {' | '.join(SCORES)} |\n|---|---:|{'---:|' * len(SCORES)}"
        )
        for system_name in options.systems:
            rows.append(score_row(name, load_system(system_name), asked))
            values = (rows[-1].scores[key] for key in SCORES)
            cells = " | ".join("–" if value is None else f"{value:.2f}" for value in values)
            count = f"{rows[-1].questions} ({rows[-1].left_out})"
            print(f"| `{system_name}` | {count} | {cells} |", flush=True)
        print()
        for pair, (rho, tau, n) in correlate_scores([row for row in rows if row.data == name]).items():
            print(f"{pair}: rho {rho:+.2f}, tau {tau:+.2f}, n = {n} systems")
    if options.out:
        options.out.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Predict questions in Parquet files with Ray Data, and score them.

``PYTHONPATH=. python deploy/ray/score_parquet.py SYSTEM QUESTIONS/ OUT/`` reads files with the columns id,
question, context, answer and supporting_facts, as the Hugging Face hub has them for HotpotQA. It writes the
columns of ``predict-parquet`` with the twelve standard scores of each question, and prints the means as JSON.
Without RAY_ADDRESS it runs on this machine. A cluster needs this checkout and its requirements on every node.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import ray
import ray.data

from analysis.scores.hotpotqa import KEYS, score_question
from modelserver.evaluation.predict_rows import SCHEMA, RowPredictor


class PredictAndScore:
    """Predicts batches of questions in one actor and scores each answer."""

    def __init__(self, system: str) -> None:
        self.predict = RowPredictor(system)

    def __call__(self, rows: Mapping[str, Sequence[Any]]) -> pa.Table:
        """Return the columns of `SCHEMA` and of `KEYS`."""
        table = pa.table(self.predict(rows), schema=SCHEMA)
        predicted = table.select(["answer", "facts"]).to_pylist()
        gold = zip(rows["answer"], map(_list_parquet_facts, rows["supporting_facts"]), strict=True)
        scores = [
            score_question(answer, facts, row["answer"], row["facts"] and _list_fact_pairs(row["facts"]))
            for (answer, facts), row in zip(gold, predicted, strict=True)
        ]
        for key in KEYS:
            table = table.append_column(key, pa.array([score[key] for score in scores], pa.float64()))
        return table


def _list_parquet_facts(facts: Mapping[str, Sequence[Any]]) -> list[tuple[str, int]]:
    return [(str(title), int(at)) for title, at in zip(facts["title"], facts["sent_id"], strict=True)]


def _list_fact_pairs(facts: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    return [(fact["title"], fact["index"]) for fact in facts]


def main() -> None:
    """Predict, score, write, and print the means."""
    parser = argparse.ArgumentParser(description="Predict and score Parquet files with Ray Data.")
    parser.add_argument("system", help="as `touchstone list` prints it")
    parser.add_argument("questions", help="folder or address of Parquet files")
    parser.add_argument("out", help="folder or address to write Parquet files into")
    parser.add_argument("--actors", type=int, default=1, help="that predict at the same time")
    parser.add_argument("--batch", type=int, default=256, help="questions in a batch")
    options = parser.parse_args()
    ray.init()
    ray.data.read_parquet(options.questions).map_batches(
        PredictAndScore, fn_constructor_args=(options.system,), batch_size=options.batch,
        compute=ray.data.ActorPoolStrategy(size=options.actors),
    ).write_parquet(options.out)  # fmt: skip
    means = ray.data.read_parquet(options.out).select_columns(list(KEYS)).mean(list(KEYS))
    print(json.dumps({key: means[f"mean({key})"] for key in KEYS}))


if __name__ == "__main__":
    main()

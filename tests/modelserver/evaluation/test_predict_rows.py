"""Predictions of Parquet files are those that a served system gives."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from modelserver.__main__ import main
from modelserver.evaluation.predict_rows import SCHEMA, RowPredictor
from modelserver.registry import load_system
from modelserver.serving.fake_server import FakeModelServer
from modelserver.wire.schema import PredictResponse, QAPrediction
from modelserver.world import generate

SYSTEM = "qi2019"


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    return list(generate("test", 12, 5))


def columns(questions: list[dict[str, Any]], form: str) -> dict[str, list[Any]]:
    """Return the questions as columns of a data set.

    They are pairs, or as the Hugging Face hub writes HotpotQA.
    """
    contexts: list[Any] = [question["context"] for question in questions]
    if form == "hub":
        contexts = [
            {
                "title": [title for title, _ in context],
                "sentences": [list(sentences) for _, sentences in context],
            }
            for context in contexts
        ]
    else:
        contexts = [
            [{"title": title, "sentences": list(sentences)} for title, sentences in context]
            for context in contexts
        ]
    name = "id" if form == "hub" else "_id"
    return {
        name: [question["_id"] for question in questions],
        "question": [question["question"] for question in questions],
        "context": contexts,
        "level": ["easy"] * len(questions),
    }


@pytest.mark.parametrize("form", ["hub", "rows"])
def test_files_are_predicted_as_by_the_server(
    questions: list[dict[str, Any]], form: str, tmp_path: Path
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for number in range(2):
        part = columns(questions[number * 6 : number * 6 + 6], form)
        pq.write_table(pa.table(part), folder / f"{number}.parquet")
    for share in ("1", "2"):
        assert (
            main(["predict-parquet", SYSTEM, str(folder), "--out", str(out), "--part", share, "--parts", "2"])
            == 0
        )
    assert sorted(path.name for path in out.iterdir()) == ["0.parquet", "1.parquet"]
    table = pq.read_table(out)
    assert table.schema.metadata[b"revision"] == load_system(SYSTEM).revision.encode()
    rows = {row["id"]: row for row in table.to_pylist()}

    items = [
        {"id": question["_id"], "question": question["question"], "context": question["context"]}
        for question in questions
    ]
    with FakeModelServer(load_system(SYSTEM)) as server:
        body = {"system": SYSTEM, "items": items}
        response = httpx.post(f"{server.url}/v1/predict", json=body, trust_env=False, timeout=60)
    served = PredictResponse.model_validate_json(response.content).predictions
    assert rows.keys() == {prediction.id for prediction in served}
    for prediction in served:
        assert isinstance(prediction, QAPrediction)
        row = rows[prediction.id]
        assert (row["answer"], row["type"], row["error"]) == (prediction.answer, prediction.type, None)
        assert [(fact["title"], fact["index"]) for fact in row["facts"]] == prediction.facts
        assert prediction.fact_probabilities
        assert [fact["probability"] for fact in row["fact_probabilities"]] == pytest.approx(
            [fact.probability for fact in prediction.fact_probabilities], abs=1e-5
        )


def test_a_finished_file_is_not_computed_again(
    questions: list[dict[str, Any]], tmp_path: Path, capsys: Any
) -> None:
    source = tmp_path / "test.parquet"
    pq.write_table(pa.table(columns(questions[:1], "hub")), source)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/test.parquet").write_bytes(b"finished")
    assert main(["predict-parquet", "heuristic", str(source), "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/test.parquet").read_bytes() == b"finished"
    assert "exists already" in capsys.readouterr().err


def test_a_bad_question_costs_no_other(questions: list[dict[str, Any]]) -> None:
    rows = columns(questions[:3], "hub")
    rows["question"][1] = ""
    rows["id"][2] = rows["id"][0]  # two of one name are two rows
    predictor = copy.deepcopy(RowPredictor("heuristic"))  # as it is sent to another process
    predictions = predictor(rows)
    assert list(predictions) == SCHEMA.names
    assert predictions["id"] == rows["id"]
    assert [error is None for error in predictions["error"]] == [True, False, True]
    assert "question" in predictions["error"][1]
    assert predictions["answer"][1] is None


@pytest.mark.parametrize(
    ("content", "words"), [(b"PAR1 broken", "broken.parquet"), (None, "no Parquet file is there")]
)
def test_broken_and_missing_files_are_named(
    content: bytes | None, words: str, tmp_path: Path, capsys: Any
) -> None:
    source = tmp_path / "broken.parquet"
    if content:
        source.write_bytes(content)
    assert main(["predict-parquet", "heuristic", str(source), "--out", str(tmp_path / "out")]) == 1
    assert words in capsys.readouterr().err
    assert list(tmp_path.glob("out/*")) == []


def test_a_missing_column_is_named(questions: list[dict[str, Any]], tmp_path: Path, capsys: Any) -> None:
    rows = columns(questions[:1], "hub")
    del rows["context"]
    pq.write_table(pa.table(rows), tmp_path / "x.parquet")
    assert (
        main(["predict-parquet", "heuristic", str(tmp_path / "x.parquet"), "--out", str(tmp_path / "o")]) == 1
    )
    assert "the column context is missing" in capsys.readouterr().err

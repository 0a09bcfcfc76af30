"""The command ``predict-parquet``: questions in Parquet files.

`RowPredictor` predicts columns of questions, as ``datasets.Dataset.map`` (``batched=True``) and
``ray.data.Dataset.map_batches`` hand them over. The command does the same file by file, without either.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from pydantic import ValidationError

from analysis.commands.options import Positive
from analysis.io.command_line import BadUsage
from analysis.io.whole_files import write_whole
from modelserver.evaluation.predict_file import predict_all
from modelserver.evaluation.progress import progress_bar
from modelserver.inputs.devices import Device
from modelserver.registry import load_system
from modelserver.wire.errors import InvalidRequest, UnreadableData
from modelserver.wire.schema import QAItem, QAPrediction, find_text_problem, format_first_problem
from modelserver.wire.system_protocol import Predictor

BATCH = 1024  # rows held at once
_FACT = [("title", pa.string()), ("index", pa.int64())]
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("answer", pa.string()),
        ("type", pa.string()),
        ("facts", pa.list_(pa.struct(_FACT))),
        ("fact_probabilities", pa.list_(pa.struct([*_FACT, ("probability", pa.float64())]))),
        ("rationale", pa.string()),
        ("answer_logprob", pa.float64()),
        ("error", pa.string()),
    ]
)


class RowPredictor:
    """Predicts columns of questions with a system of this process.

    Loads the system with the first rows, so that a copy sent to another process loads its own.
    """

    def __init__(self, system: str, *, weights: str | None = None, device: Device = "cpu") -> None:
        self.system, self.weights, self.device = system, weights, device
        self._loaded: Predictor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what identifies the predictor, without its weights."""
        return self.__dict__ | {"_loaded": None}

    @property
    def loaded(self) -> Predictor:
        """Return the system, loaded at the first use."""
        if self._loaded is None:
            folder = Path(self.weights) if self.weights else None
            self._loaded = load_system(self.system, weights=folder, device=self.device)
        return self._loaded

    def __call__(self, rows: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Predict some questions.

        Args:
            rows: Columns ``id`` (or ``_id``), ``question`` and ``context``: pairs of a title and its
                sentences, or Hugging Face's ``{"title": […], "sentences": [[…], …]}``. Others are ignored.

        Returns:
            The columns of `SCHEMA`, in the order of the rows. ``error`` says why a question has no answer.
        """
        names = "id" if "id" in rows else "_id"
        ids = [str(question_id) for question_id in rows[names]]
        errors: dict[int, str] = {}
        items: dict[int, QAItem] = {}
        for at, (question, context) in enumerate(zip(rows["question"], rows["context"], strict=True)):
            try:
                items[at] = _build_item(ids[at], question, context)
                self.loaded.check(items[at])
            except (InvalidRequest, UnreadableData) as error:
                items.pop(at, None)
                errors[at] = str(error)
        # By position, because one file may name two questions alike.
        unique = [item.model_copy(update={"id": str(at)}) for at, item in items.items()]
        predictions = predict_all(self.loaded, unique, device=self.device, keep_going=True)
        done = {int(prediction.id): prediction for prediction in predictions}
        outcomes = [
            _build_row(done[at])
            if at in done
            else {"error": errors.get(at, "the system failed on this question")}
            for at in range(len(ids))
        ]
        columns = {name: [outcome.get(name) for outcome in outcomes] for name in SCHEMA.names}
        return columns | {"id": ids}


def predict_parquet(
    system: str,
    data: Path,
    /,
    *,
    out: Path,
    weights: Path | None = None,
    device: Device = "cpu",
    threads: Positive | None = None,
    part: Positive = 1,
    parts: Positive = 1,
) -> None:
    """Predict Parquet files of questions, one output file for each.

    Memory does not grow with the files. A finished output file is not computed again, and an interrupted one
    is begun again. Several machines share a folder by ``parts``.

    Args:
        system: Name of a system, as `list` prints it.
        data: A Parquet file, or a folder of them, with the columns id (or
            _id), question and context.
        out: Folder to write into.
        weights: Folder of weights; the shipped ones by default.
        device: cpu, cuda, cuda:1 …
        threads: CPU threads; torch chooses by default.
        part: Number of the share of the files to predict, from 1.
        parts: Number of shares.
    """
    if part > parts:
        raise BadUsage(f"--part {part} does not exist: --parts is {parts}")
    if threads:
        torch.set_num_threads(threads)
    files = _list_files(data)[part - 1 :: parts]
    predictor = RowPredictor(system, weights=str(weights) if weights else None, device=device)
    out.mkdir(parents=True, exist_ok=True)
    for path in files:
        target = out / path.name
        if target.exists():
            sys.stderr.write(f"{target}: exists already\n")
            continue
        answered, failed = _predict_one(predictor, path, target)
        sys.stderr.write(f"{target}: {answered} predictions, {failed} errors\n")


def _list_files(data: Path) -> list[Path]:
    files = sorted(data.glob("*.parquet")) if data.is_dir() else [data]
    if not files or not all(path.is_file() for path in files):
        raise UnreadableData(f"{data}: no Parquet file is there")
    return files


def _predict_one(predictor: RowPredictor, path: Path, target: Path) -> tuple[int, int]:
    """Predict a file, whole or not at all; return answers and errors."""
    failed = total = 0
    about = {"system": predictor.loaded.name, "revision": predictor.loaded.revision}
    try:
        with (
            write_whole(target) as unfinished,
            pq.ParquetFile(path) as file,
            pq.ParquetWriter(unfinished, SCHEMA.with_metadata(about)) as writer,
            progress_bar(f"{path.name}: predicting", file.metadata.num_rows) as advance,
        ):
            for rows in _read_batches(path, file):
                columns = predictor(rows)
                writer.write_table(pa.table(columns, schema=writer.schema))
                failed += sum(error is not None for error in columns["error"])
                total += len(columns["id"])
                advance(len(columns["id"]))
    except (pa.ArrowException, OSError) as error:
        raise UnreadableData(f"{path}: {error}") from error
    return total - failed, failed


def _read_batches(path: Path, file: pq.ParquetFile) -> Iterator[dict[str, list[Any]]]:
    has = set(file.schema_arrow.names)
    name = next((name for name in ("id", "_id") if name in has), "id")
    if missing := {name, "question", "context"} - has:
        raise UnreadableData(f"{path}: the column {sorted(missing)[0]} is missing")
    for batch in file.iter_batches(batch_size=BATCH, columns=[name, "question", "context"]):
        yield batch.to_pydict()


def _build_item(name: str, question: Any, context: Any) -> QAItem:
    if isinstance(context, Mapping):
        context = list(zip(context["title"], context["sentences"], strict=True))
    elif len(context) and isinstance(context[0], Mapping):
        context = [(article["title"], article["sentences"]) for article in context]
    try:
        item = QAItem.model_validate(
            {"id": name, "question": question, "context": _convert_to_lists(context)}
        )
    except ValidationError as error:
        raise UnreadableData(format_first_problem(error)) from error
    if reason := find_text_problem(item):
        raise UnreadableData(reason)
    return item


def _convert_to_lists(value: Any) -> Any:
    """Return nested lists; Ray hands arrays of NumPy over."""
    if isinstance(value, str) or value is None:
        return value
    return [_convert_to_lists(element) for element in value]


def _build_row(prediction: QAPrediction) -> dict[str, Any]:
    probabilities = prediction.fact_probabilities
    return {
        "answer": prediction.answer,
        "type": prediction.type,
        "facts": [{"title": title, "index": index} for title, index in prediction.facts],
        "fact_probabilities": None
        if probabilities is None
        else [
            {"title": fact.title, "index": fact.index, "probability": fact.probability}
            for fact in probabilities
        ],
        "rationale": prediction.rationale,
        "answer_logprob": prediction.answer_logprob,
    }

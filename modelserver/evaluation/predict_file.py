"""The ``predict`` command: a file of questions in the HotpotQA form in, a predictions file out.

No server is involved. The output has the official ``answer`` and ``sp``, and beside them ``type``,
``fact_probability`` and ``answer_location`` for the questions where the system gives them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from rich.console import Console
from rich.progress import Progress

from modelserver.registry import load_system
from modelserver.serving.batching import (
    CPU_TOKENS,
    GPU_TOKENS,
    BatchLimits,
    batch_tokens,
    plan,
    predict_each,
)
from modelserver.wire.errors import InvalidRequest, PredictionFailed, UnreadableData
from modelserver.wire.schema import ItemError, QAItem, QAPrediction
from modelserver.wire.system_protocol import Predictor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("system", metavar="SYSTEM", help="name of a system, as `list` prints it")
    parser.add_argument("data", metavar="DATA.json", type=Path, help="questions in the HotpotQA form")
    parser.add_argument("--out", metavar="PRED.json", type=Path, required=True, help="file to write")
    parser.add_argument("--weights", type=Path, help="folder of weights (default: those shipped)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 … (default: %(default)s)")
    parser.add_argument(
        "--max-batch-tokens",
        type=int,
        help=f"tokens in a batch (default: {CPU_TOKENS} on a CPU, {GPU_TOKENS} on a GPU)",
    )
    parser.add_argument("--threads", type=int, help="CPU threads (default: what torch takes)")
    parser.add_argument(
        "--keep-going", action="store_true", help="leave out questions that fail instead of stopping at one"
    )


def run(options: argparse.Namespace) -> int:
    """Predict and write the file; the exit status is 0, and errors are raised."""
    _require_folder(options.out)
    if options.threads:
        torch.set_num_threads(options.threads)
    items = read_items(options.data)
    system = load_system(options.system, weights=options.weights, device=options.device)
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(f"{system.name}: predicting", total=len(items))
        predictions = predict_all(
            system,
            items,
            device=options.device,
            tokens=options.max_batch_tokens,
            keep_going=options.keep_going,
            advance=lambda count: progress.advance(task, count),
        )
    write_predictions(options.out, predictions)
    left_out = len(items) - len(predictions)
    missing = f"; {left_out} failed and are left out" if left_out else ""
    sys.stderr.write(f"{options.out}: {len(predictions)} predictions of {system.name}{missing}\n")
    return 0


def read_items(path: Path) -> list[QAItem]:
    """Return the questions of a file in the official HotpotQA form, a list of ``{_id, question, context}``.

    Other keys are ignored. Raises UnreadableData, which names the file, the entry and the field.
    """
    try:
        with path.open(encoding="utf-8") as file:
            entries = json.load(file)
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: not JSON in UTF-8: {error}") from error
    if not isinstance(entries, list):
        raise UnreadableData(f"{path}: expected a list of questions, found {type(entries).__name__}")
    items = [_item(path, number, entry) for number, entry in enumerate(entries, start=1)]
    seen: set[str] = set()
    for number, item in enumerate(items, start=1):
        if item.id in seen:
            raise UnreadableData(f"{path}: entry {number}: _id: {item.id!r} occurs a second time")
        seen.add(item.id)
    return items


def _item(path: Path, number: int, entry: object) -> QAItem:
    if not isinstance(entry, dict):
        raise UnreadableData(f"{path}: entry {number}: expected an object, found {type(entry).__name__}")
    fields = {"id": "_id", "question": "question", "context": "context"}
    try:
        return QAItem.model_validate(
            {ours: entry[theirs] for ours, theirs in fields.items() if theirs in entry}
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name, *rest = first["loc"]
        where = ".".join(map(str, (fields[str(name)], *rest)))
        raise UnreadableData(f"{path}: entry {number}: {where}: {first['msg']}") from error


def predict_all(
    system: Predictor,
    items: Sequence[QAItem],
    *,
    device: str = "cpu",
    tokens: int | None = None,
    keep_going: bool = False,
    advance: Callable[[int], None] = lambda count: None,
) -> list[QAPrediction]:
    """Return the predictions in the order of ``items``, computed in batches of like cost.

    On a CPU each of torch's threads takes batches of its own: small operations gain little from being cut
    up among threads, whole batches gain nearly all. ``tokens`` bounds a batch (default: by the device).
    ``advance`` is told the size of each finished batch. Every item is checked before any is predicted.
    Raises PredictionFailed naming the item at the first that cannot be predicted; with ``keep_going``
    such items are missing from the result.
    """
    usable = [item for item in items if _passes(system, item, keep_going)]
    batches = plan([system.cost(item) for item in usable], BatchLimits(tokens=tokens or batch_tokens(device)))
    done: dict[str, QAPrediction] = {}
    with _threads(device) as pool:
        chosen = [[usable[position] for position in positions] for positions in batches]
        for outcomes in pool.map(partial(predict_each, system), chosen):
            for outcome in outcomes:
                if isinstance(outcome, QAPrediction):
                    done[outcome.id] = outcome
                elif isinstance(outcome, ItemError) and not keep_going:
                    pool.shutdown(cancel_futures=True)
                    raise _failed(outcome)
            advance(len(outcomes))
    return [done[item.id] for item in usable if item.id in done]


@contextmanager
def _threads(device: str) -> Iterator[ThreadPoolExecutor]:
    """Threads to predict in: on a CPU as many as torch has, which meanwhile uses one in each."""
    count = torch.get_num_threads() if device.startswith("cpu") else 1
    before = torch.get_num_threads()
    torch.set_num_threads(1 if count > 1 else before)
    try:
        with ThreadPoolExecutor(count) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


def _passes(system: Predictor, item: QAItem, keep_going: bool) -> bool:
    try:
        system.check(item)
    except InvalidRequest as error:
        if not keep_going:
            raise PredictionFailed(f"{item.id}: {error.field or 'item'}: {error}") from error
        return False
    return True


def _failed(outcome: ItemError) -> PredictionFailed:
    return PredictionFailed(f"{outcome.id}: {outcome.message}; --keep-going leaves such questions out")


def predictions_file(predictions: Iterable[QAPrediction]) -> dict[str, dict[str, Any]]:
    """Return the content of a predictions file, without those of the optional keys that would be empty."""
    content: dict[str, dict[str, Any]] = {
        key: {} for key in ("answer", "sp", "type", "fact_probability", "answer_location")
    }
    for prediction in predictions:
        content["answer"][prediction.id] = prediction.answer
        content["sp"][prediction.id] = prediction.facts
        if prediction.type is not None:
            content["type"][prediction.id] = prediction.type
        if prediction.fact_probabilities is not None:
            content["fact_probability"][prediction.id] = [
                (one.title, one.index, one.probability) for one in prediction.fact_probabilities
            ]
        where = prediction.location
        if where is not None and where.first is not None and where.start is not None:
            content["answer_location"][prediction.id] = (*where.first, where.start, where.end)
    return {key: value for key, value in content.items() if value or key in {"answer", "sp"}}


def write_predictions(path: Path, predictions: Iterable[QAPrediction]) -> None:
    """Write a predictions file, whole or not at all. Raises UnreadableData when it cannot be written."""
    content = predictions_file(predictions)
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            try:
                json.dump(content, file, ensure_ascii=False)
                file.write("\n")
                file.close()
                os.chmod(file.name, 0o666 & ~_umask())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise UnreadableData(f"{path}: cannot be written: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _require_folder(path: Path) -> None:
    """Refuse an output that could not be written before an hour is spent on computing it."""
    if path.is_dir():
        raise UnreadableData(f"{path}: cannot be written: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise UnreadableData(f"{path}: cannot be written: no writable folder {path.parent}")

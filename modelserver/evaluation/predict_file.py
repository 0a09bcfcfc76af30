"""The command ``predict``: from a file of questions to a predictions file.

The output has the official ``answer`` and ``sp``, and ``type``,
``fact_probability``, ``answer_location``, ``rationale`` and ``answer_logprob`` if the system gives them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from analysis.commands.options import Positive
from analysis.io.whole_files import write_whole
from modelserver.evaluation.progress import progress_bar
from modelserver.inputs.data_files import read_json, require_unique_ids
from modelserver.inputs.devices import Device
from modelserver.inputs.packing import BatchLimits, choose_batch_tokens, plan_batches
from modelserver.registry import load_system
from modelserver.systems.predict_each import predict_each
from modelserver.wire.errors import InvalidRequest, PredictionFailed, UnreadableData
from modelserver.wire.schema import ItemError, QAItem, QAPrediction, find_text_problem, format_first_problem
from modelserver.wire.system_protocol import Predictor


def predict(
    system: str,
    data: Path,
    /,
    *,
    out: Path,
    weights: Path | None = None,
    device: Device = "cpu",
    max_batch_tokens: Positive | None = None,
    threads: Positive | None = None,
    keep_going: bool = False,
) -> None:
    """Predict a file of questions in the HotpotQA form, without a server.

    Args:
        system: Name of a system, as `list` prints it.
        data: Questions in the HotpotQA form.
        out: Predictions file to write.
        weights: Folder of weights; the shipped ones by default.
        device: cpu, cuda, cuda:1 …
        max_batch_tokens: Tokens in a batch; 5120 on a CPU and 16384 on a GPU
            by default.
        threads: CPU threads; torch chooses by default.
        keep_going: Leave out questions that fail instead of stopping.
    """
    _require_folder(out)
    if threads:
        torch.set_num_threads(threads)
    items = read_items(data)
    loaded = load_system(system, weights=weights, device=device)
    with progress_bar(f"{loaded.name}: predicting", len(items)) as advance:
        predictions = predict_all(
            loaded, items, device=device, tokens=max_batch_tokens, keep_going=keep_going, advance=advance
        )
    write_predictions(out, predictions)
    left_out = len(items) - len(predictions)
    missing = f"; {left_out} failed and are left out" if left_out else ""
    sys.stderr.write(f"{out}: {len(predictions)} predictions of {loaded.name}{missing}\n")


def read_items(path: Path) -> list[QAItem]:
    """Return the questions of a file in the official HotpotQA form.

    It is a list of ``{_id, question, context}``; other keys are ignored.

    Raises:
        UnreadableData: The file is malformed; names file, entry and field.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise UnreadableData(f"{path}: expected a list of questions, found {type(entries).__name__}")
    items = [_parse_item(path, number, entry) for number, entry in enumerate(entries, start=1)]
    require_unique_ids(path, (item.id for item in items))
    return items


def _parse_item(path: Path, number: int, entry: object) -> QAItem:
    if not isinstance(entry, dict):
        raise UnreadableData(f"{path}: entry {number}: expected an object, found {type(entry).__name__}")
    fields = {name.removeprefix("_"): entry[name] for name in ("_id", "question", "context") if name in entry}
    try:
        item = QAItem.model_validate(fields)
    except ValidationError as error:
        problem = format_first_problem(error)
        where = f"_{problem}" if problem.startswith("id") else problem
        raise UnreadableData(f"{path}: entry {number}: {where}") from error
    if reason := find_text_problem(item):
        raise UnreadableData(f"{path}: entry {number}: {reason}")
    return item


def predict_all(
    system: Predictor,
    items: Sequence[QAItem],
    *,
    device: str = "cpu",
    tokens: int | None = None,
    keep_going: bool = False,
    advance: Callable[[int], None] = lambda count: None,
) -> list[QAPrediction]:
    """Return predictions in the order of the items, batched by cost.

    On a CPU each of torch's threads takes batches of its own, because small
    operations gain little from being divided among threads.

    Args:
        system: Ready to predict.
        items: All are checked before any is predicted.
        device: Of the system.
        tokens: Bound of a batch; by the device if None.
        keep_going: Leave out items that fail instead of raising.
        advance: Called with the size of each finished batch.

    Raises:
        PredictionFailed: An item cannot be predicted; names it.
    """
    usable = [item for item in items if _is_valid_item(system, item, keep_going)]
    batches = plan_batches(
        [system.cost(item) for item in usable], BatchLimits(tokens=tokens or choose_batch_tokens(device))
    )
    done: dict[str, QAPrediction] = {}
    with _start_threads(device) as pool:
        chosen = [[usable[position] for position in positions] for positions in batches]
        for outcomes in pool.map(partial(predict_each, system), chosen):
            for outcome in outcomes:
                if isinstance(outcome, QAPrediction):
                    done[outcome.id] = outcome
                elif isinstance(outcome, ItemError) and not keep_going:
                    pool.shutdown(cancel_futures=True)
                    hint = "--keep-going leaves such questions out"
                    raise PredictionFailed(f"{outcome.id}: {outcome.message}; {hint}")
            advance(len(outcomes))
    return [done[item.id] for item in usable if item.id in done]


@contextmanager
def _start_threads(device: str) -> Iterator[ThreadPoolExecutor]:
    """Yield threads to predict in; each has one of torch's own."""
    count = torch.get_num_threads() if device.startswith("cpu") else 1
    before = torch.get_num_threads()
    torch.set_num_threads(1 if count > 1 else before)
    try:
        with ThreadPoolExecutor(count) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


def _is_valid_item(system: Predictor, item: QAItem, keep_going: bool) -> bool:
    try:
        system.check(item)
    except InvalidRequest as error:
        if not keep_going:
            raise PredictionFailed(f"{item.id}: {error.field or 'item'}: {error}") from error
        return False
    return True


_AS_THEY_ARE = ("rationale", "answer_logprob")  # keys of the file that are fields of a prediction


def build_predictions_file(predictions: Iterable[QAPrediction]) -> dict[str, dict[str, Any]]:
    """Return a predictions file's content without empty optional keys."""
    content: dict[str, dict[str, Any]] = {
        key: {} for key in ("answer", "sp", "type", "fact_probability", "answer_location", *_AS_THEY_ARE)
    }
    for prediction in predictions:
        content["answer"][prediction.id] = prediction.answer
        content["sp"][prediction.id] = prediction.facts
        if prediction.type is not None:
            content["type"][prediction.id] = prediction.type
        if prediction.fact_probabilities is not None:
            content["fact_probability"][prediction.id] = [
                (fact.title, fact.index, fact.probability) for fact in prediction.fact_probabilities
            ]
        for key in _AS_THEY_ARE:
            if (value := getattr(prediction, key)) is not None:
                content[key][prediction.id] = value
        where = prediction.location
        if where is not None and where.first is not None and where.start is not None:
            content["answer_location"][prediction.id] = (*where.first, where.start, where.end)
    return {key: value for key, value in content.items() if value or key in {"answer", "sp"}}


def write_predictions(path: Path, predictions: Iterable[QAPrediction]) -> None:
    """Write a predictions file, whole or not at all.

    Raises:
        UnreadableData: It cannot be written.
    """
    content = build_predictions_file(predictions)
    try:
        with write_whole(path) as part, part.open("w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=False)
            file.write("\n")
    except OSError as error:
        raise UnreadableData(f"{path}: cannot be written: {error.strerror}") from error


def _require_folder(path: Path) -> None:
    """Refuse an output path that cannot be written, before computing."""
    if path.is_dir():
        raise UnreadableData(f"{path}: cannot be written: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise UnreadableData(f"{path}: cannot be written: no writable folder {path.parent}")

"""Read Parquet and Arrow files in batches of rows, with names of classes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from foundation.errors import BadFile
from foundation.messages import extract_message, say

PARQUET, ARROW_FILE = b"PAR1", b"ARROW1"  # the first bytes
BATCH = 256  # rows held at once: one may have a hundred articles


def read_batches(path: Path) -> Iterator[tuple[float, list[dict[str, Any]]]]:
    """Yield rows, and the share of the file that was read with them.

    Raises:
        BadFile: The file is damaged.
    """
    with _convert_arrow_errors(path), path.open("rb") as file:
        is_parquet = file.read(4) == PARQUET
        yield from _read_parquet(path) if is_parquet else _read_arrow(path)


@contextmanager
def _convert_arrow_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = say("is a broken Parquet or Arrow file: %(problem)s", problem=extract_message(error))
        raise BadFile(path, reason) from error


def _read_parquet(path: Path) -> Iterator[tuple[float, list[dict[str, Any]]]]:
    with pq.ParquetFile(path) as file:
        total, number, names = file.metadata.num_rows, 0, _read_class_names(file.schema_arrow)
        for batch in file.iter_batches(batch_size=BATCH):
            number += batch.num_rows
            yield number / max(total, 1), _build_rows(batch, names)


def _read_arrow(path: Path) -> Iterator[tuple[float, list[dict[str, Any]]]]:
    size = path.stat().st_size
    with pa.OSFile(str(path)) as source:
        is_file = source.read(len(ARROW_FILE)) == ARROW_FILE
        source.seek(0)
        for batch in _read_arrow_batches(source, is_file=is_file):
            batch.validate(full=True)  # a file may name places outside of itself
            names = _read_class_names(batch.schema)
            for start in range(0, batch.num_rows, BATCH):
                yield min(source.tell() / max(size, 1), 1.0), _build_rows(batch.slice(start, BATCH), names)


def _read_arrow_batches(source: Any, *, is_file: bool) -> Iterator[pa.RecordBatch]:
    if not is_file:
        yield from pa.ipc.open_stream(source)
        return
    reader = pa.ipc.open_file(source)
    yield from (reader.get_batch(index) for index in range(reader.num_record_batches))


def _build_rows(batch: pa.RecordBatch, names: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [
        {key: _name_class(value, names.get(key)) for key, value in row.items()} for row in batch.to_pylist()
    ]


def _read_class_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Return the names of the classes of each column that has some."""
    try:
        written = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = written["info"]["features"]
        return {key: feature["names"] for key, feature in features.items() if feature.get("names")}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def _name_class(value: Any, names: list[str] | None) -> Any:
    """Return the name of a class; a number that has none, such as -1, stays."""
    if names is None or not isinstance(value, int) or not 0 <= value < len(names):
        return value
    return names[value]

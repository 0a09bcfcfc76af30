"""Read the rows of a Parquet file as if they were elements of JSON.

Datasets of the Hugging Face hub are Parquet files, which name the classes of a column of numbers.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from foundation.errors import BadFile
from foundation.json_elements import Element
from foundation.messages import message_of, say

MAGIC = b"PAR1"
BATCH = 256  # rows held at once: one may have a hundred articles


def is_parquet(path: Path) -> bool:
    """Return True if a file is Parquet by its content."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_rows(path: Path, *, on_progress: Callable[[int], None] | None = None) -> Iterator[Element]:
    """Yield each row; its line is its number, counted from 1.

    Args:
        path: The file.
        on_progress: Called after each batch with the share of the file's bytes.

    Raises:
        BadFile: The file is damaged.
    """
    try:
        with pq.ParquetFile(path) as file:
            size, total, number = path.stat().st_size, file.metadata.num_rows, 0
            names = _class_names(file.schema_arrow)
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    value = {key: _named(each, names.get(key)) for key, each in row.items()}
                    yield Element(number, value, json.dumps(value, default=str))
                if on_progress is not None:
                    on_progress(size * number // max(total, 1))
    except (pa.ArrowException, OSError) as error:
        reason = say("is a broken Parquet file: %(problem)s", problem=message_of(error))
        raise BadFile(path, reason) from error


def _class_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Return the names of the classes of each column that has some."""
    try:
        written = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = written["info"]["features"]
        return {key: feature["names"] for key, feature in features.items() if feature.get("names")}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def _named(value: Any, names: list[str] | None) -> Any:
    """Return the name of a class; a number that has none, such as -1, stays."""
    if names is None or not isinstance(value, int) or not 0 <= value < len(names):
        return value
    return names[value]

"""Read the rows of Parquet and Arrow files like elements of JSON.

Datasets of the Hugging Face hub are Parquet files, and its library saves them as a folder of Arrow files with
``state.json``. Both name the classes of a column of numbers.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from foundation.errors import BadFile
from foundation.imports.json_elements import Element
from foundation.messages import extract_message, say

PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"  # the first bytes
SUFFIXES = {".parquet", ".arrow"}
STATE, SPLITS = "state.json", "dataset_dict.json"  # of a saved dataset, and of a folder of several
BATCH = 256  # rows held at once: one may have a hundred articles

OnProgress = Callable[[int], None]


def has_rows(path: Path) -> bool:
    """Return True for Parquet or Arrow by content, or a folder of a dataset."""
    if path.is_dir():
        return bool(_list_row_files(path))
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(6).startswith((PARQUET, ARROW_FILE, ARROW_STREAM))


def find_dataset_folder(files: Sequence[Path]) -> Path | None:
    """Return the folder of the saved dataset among these files, if any.

    Raises:
        BadFile: It holds several splits.
    """
    for file in files:
        if file.name == SPLITS:
            names = ", ".join(sorted(each.parent.name for each in files if each.name == STATE))
            raise BadFile(file, say("holds several splits (%(names)s); use the folder of one", names=names))
    folders = [file.parent for file in files if file.name == STATE]
    return folders[0] if len(folders) == 1 else None


def measure_size(path: Path) -> int:
    """Return the bytes of a file, or of the files of a folder with rows."""
    return (
        sum(file.stat().st_size for file in _list_row_files(path)) if path.is_dir() else path.stat().st_size
    )


def read_rows(path: Path, *, on_progress: OnProgress | None = None) -> Iterator[Element]:
    """Yield each row; its line is its number, counted from 1.

    Args:
        path: The file, or the folder of a dataset.
        on_progress: Called after each batch with the number of bytes read, about.

    Raises:
        BadFile: The file is damaged.
    """
    done = number = 0
    for file in _list_row_files(path) if path.is_dir() else [path]:
        size = file.stat().st_size
        for share, rows in _read_batches(file):
            for row in rows:
                number += 1
                yield Element(number, row, json.dumps(row, default=str))
            if on_progress is not None:
                on_progress(done + int(size * share))
        done += size


def _list_row_files(folder: Path) -> list[Path]:
    """Return the files of rows in a folder: those of its state, or all."""
    try:
        names = [each["filename"] for each in json.loads((folder / STATE).read_bytes())["_data_files"]]
        files = [folder / Path(str(name)).name for name in names]
    except OSError:
        files = sorted(each for each in folder.iterdir() if each.suffix in SUFFIXES)
    except (KeyError, TypeError, ValueError) as error:
        raise BadFile(folder / STATE, say("does not name the files of the dataset")) from error
    if missing := [file for file in files if not file.is_file()]:
        raise BadFile(folder / STATE, say("names %(name)s, which is missing", name=missing[0].name))
    return files


def _read_batches(path: Path) -> Iterator[tuple[float, list[dict[str, Any]]]]:
    """Yield rows, and the share of the file that was read with them."""
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
        {key: _name_class(each, names.get(key)) for key, each in row.items()} for row in batch.to_pylist()
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

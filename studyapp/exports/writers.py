"""Write tables row by row as CSV, JSON Lines and Parquet.

Each format has the same columns and values. The same rows give the same bytes: no clock, no counter and no
order of a set goes into a file.
"""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

from analysis.io.spreadsheet import escape_formula
from foundation.batches import cut_batches
from studyapp.exports.columns import Column

Format = Literal["csv", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = ("csv", "parquet", "jsonl")
# Rows in memory at once, and per row group of a Parquet file.
BATCH = 5000


def write_table(
    path: Path, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], *, public: bool
) -> int:
    """Write the rows to ``path``, whose suffix names the format.

    Returns how many rows there were.

    Raises:
        KeyError: a row lacks a column: what is declared is what is written.
    """
    values = ([prepare(column, row[column.name], public=public) for column in columns] for row in rows)
    write = {".csv": _write_csv, ".jsonl": _write_jsonl, ".parquet": _write_parquet}[path.suffix]
    return write(path, columns, values)


def prepare(column: Column, value: Any, *, public: bool) -> Any:
    """Return the value as exported.

    Times are in UTC, JSON is text, and the public variant coarsens or withholds.
    """
    if value is None or (public and column.public == "withheld"):
        return None
    if column.type == "time":
        return _convert_to_date(value) if public and column.public == "date" else value.astimezone(UTC)
    if column.type == "json":
        return dump(value)
    return value


def dump(value: Any) -> str:
    """Return JSON on one line, with its keys sorted."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def format_value(value: Any) -> str:
    """Return a value as text; a missing value is empty.

    Truth values are in lower case, times in ISO 8601.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")[:26] + "Z"  # always UTC here
    return value.isoformat() if isinstance(value, date) else str(value)


def _convert_to_date(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def _write_csv(path: Path, columns: Sequence[Column], rows: Iterable[list[Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        for count, row in enumerate(rows, start=1):  # noqa: B007 (the last one is the number of rows)
            writer.writerow([format_value(escape_formula(value)) for value in row])
    return count


def _write_jsonl(path: Path, columns: Sequence[Column], rows: Iterable[list[Any]]) -> int:
    names = [column.name for column in columns]
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for count, row in enumerate(rows, start=1):  # noqa: B007
            plain = [format_value(value) if isinstance(value, date) else value for value in row]
            file.write(json.dumps(dict(zip(names, plain, strict=True)), ensure_ascii=False) + "\n")
    return count


_ARROW = {
    "string": "string",
    "json": "string",
    "mixed": "string",
    "time": "string",
    "integer": "int64",
    "number": "float64",
    "boolean": "bool",
}


def _write_parquet(path: Path, columns: Sequence[Column], rows: Iterable[list[Any]]) -> int:
    """Write a Parquet file.

    Times are text as in the other formats, so that a date and a moment read alike.
    """
    import pyarrow as pa  # large, and other formats do without it
    import pyarrow.parquet as pq

    schema = pa.schema([(column.name, pa.type_for_alias(_ARROW[column.type])) for column in columns])
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for batch in cut_batches(rows, BATCH):
            by_column = zip(*batch, strict=True)
            arrays = [
                pa.array(_convert_to_arrow(values, column.type), type=field.type)
                for values, column, field in zip(by_column, columns, schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            count += len(batch)
    return count


def _convert_to_arrow(values: Iterable[Any], kind: str) -> list[Any]:
    if _ARROW[kind] != "string":
        return list(values)
    return [None if value is None else format_value(value) for value in values]

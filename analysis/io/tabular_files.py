"""Read typed tables (CSV, Parquet, JSON lines).

Errors name file, line and column.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from .errors import NO_FILE, InputError
from .spreadsheet import ESCAPED
from .table_columns import Column

SUFFIXES = (".csv", ".parquet", ".jsonl")
_TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Table:
    """A typed table with the place of each row, for messages.

    Attributes:
        path: The file.
        frame: Its columns, typed.
        place: Returns the line (row in Parquet) of a row of the frame, for messages.
    """

    path: Path
    frame: pd.DataFrame
    place: Callable[[int], str]  # words: allow - a field that the package publishes

    def fault(self, row: int, field: str, problem: str) -> InputError:
        """Build the error for a value of the table.

        Args:
            row: Row of the frame, from 0.
            field: Name of the column.
            problem: The end of the message, after the colon.

        Returns:
            The error, which names file, line and column.
        """
        return InputError(self.path, problem, where=self.place(row), field=field)

    def check_unique(self, columns: list[str]) -> None:
        """Check that no two rows have the same values in columns.

        Args:
            columns: Names of the columns; the error names the last.

        Raises:
            InputError: A row has the values of an earlier one.
        """
        for row in np.flatnonzero(self.frame.duplicated(columns)):
            values = ", ".join(repr(self.frame[column].iloc[row]) for column in columns)
            raise self.fault(int(row), columns[-1], f"second row for {values}")


def find_table(folder: Path, name: str) -> Path | None:
    """Find the file of a table in any of the three formats; None without one.

    Raises:
        InputError: There are several: it would be unclear which one counts.
    """
    files = [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").is_file()]
    if len(files) > 1:
        raise InputError(folder, f"holds both {files[0].name} and {files[1].name}; keep one")
    return files[0] if files else None


def read_table(path: Path, columns: Sequence[Column]) -> Table:
    """Read the named columns of a file, typed.

    Columns that the file lacks are wholly missing.

    Args:
        path: File that ends in .csv, .parquet or .jsonl.
        columns: Columns to read, with their types.

    Returns:
        The columns, typed, with the line of each row.

    Raises:
        InputError: The file is missing or malformed, a required column is missing, or a value does not fit
            its column; names file, line (row in Parquet) and column.
    """
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".jsonl": _read_jsonl}
    if path.suffix not in readers:
        raise InputError(path, f"must end in {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise InputError(path, NO_FILE)
    raw, locate = readers[path.suffix](path, [column.name for column in columns])
    for column in columns:
        if column.required and column.name not in raw:
            raise InputError(path, "the column is missing", field=column.name)
    typed = {column.name: _parse_column(raw, column, path, locate) for column in columns}
    return Table(path, pd.DataFrame(typed, index=raw.index), locate)


def _read_csv(path: Path, names: Sequence[str]) -> tuple[pd.DataFrame, Callable[[int], str]]:
    header = read_csv_header(path)
    wanted = [name for name in header if name in names]
    options = pa.csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.string()),
        include_columns=wanted,
        strings_can_be_null=True,
        null_values=[""],
    )
    parsing = pa.csv.ParseOptions(newlines_in_values=True)
    try:
        table = pa.csv.read_csv(path, parse_options=parsing, convert_options=options)
    except pa.ArrowInvalid as error:
        raise _find_csv_fault(path, len(header), str(error)) from None
    for name in wanted:
        texts = pa.compute.replace_substring_regex(table[name], ESCAPED, r"\1")
        table = table.set_column(table.schema.get_field_index(name), name, texts)
    return table.to_pandas(), lambda row: f"line {_find_csv_line(path, row)}"


def read_csv_header(path: Path) -> list[str]:
    """Read the column names of a CSV file.

    Raises:
        InputError: The file is missing or empty, or names a column twice.
    """
    if not path.is_file():
        raise InputError(path, NO_FILE)
    try:
        _, header = next(_read_csv_records(path))
    except StopIteration:
        raise InputError(path, "is empty; a header is needed") from None
    for name in header:
        if header.count(name) > 1:
            raise InputError(path, "the column is there twice", field=name)
    return header


def _read_csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield first line number (1-based) and fields of each record.

    Blank lines are not records.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        line = 1
        try:
            for record in reader:
                if record:
                    yield line, record
                line = reader.line_num + 1
        except UnicodeDecodeError:
            raise InputError(path, "is not UTF-8", where=f"after line {line - 1}") from None
        except csv.Error as error:
            raise InputError(path, f"is not CSV: {error}", where=f"line {line}") from None


def _find_csv_line(path: Path, row: int) -> int:
    for number, (line, _) in enumerate(_read_csv_records(path), start=-1):
        if number == row:
            return line
    raise IndexError(row)


def _find_csv_fault(path: Path, width: int, message: str) -> InputError:
    for line, record in _read_csv_records(path):
        if len(record) != width:
            problem = f"has {len(record)} fields where the header has {width}"
            return InputError(path, problem, where=f"line {line}")
    return InputError(path, f"is not CSV: {' '.join(message.split())}")


def _read_parquet(path: Path, names: Sequence[str]) -> tuple[pd.DataFrame, Callable[[int], str]]:
    try:
        with pa.parquet.ParquetFile(path) as file:
            wanted = [name for name in file.schema_arrow.names if name in names]
            table = file.read(columns=wanted)
    except pa.ArrowInvalid as error:
        raise InputError(path, f"is not Parquet: {' '.join(str(error).split())}") from None
    return table.to_pandas(integer_object_nulls=True), lambda row: f"row {row + 1}"


def _read_jsonl(path: Path, names: Sequence[str]) -> tuple[pd.DataFrame, Callable[[int], str]]:
    records: list[list[Any]] = []
    lines: list[int] = []
    seen: set[str] = set()
    with path.open(encoding="utf-8") as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            record = _parse_json_line(path, line, text)
            seen.update(record)
            records.append([record.get(name) for name in names])
            lines.append(line)
    frame = pd.DataFrame(records, columns=list(names), dtype=object)
    # A file without a line tells no columns, and lacks none.
    return frame[[name for name in names if name in seen or not lines]], lambda row: f"line {lines[row]}"


def _parse_json_line(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(path, f"is not JSON: {error.msg}", where=f"line {line}") from None
    if not isinstance(record, dict):
        raise InputError(path, "must be a JSON object", where=f"line {line}")
    return record


def _parse_column(raw: pd.DataFrame, column: Column, path: Path, locate: Callable[[int], str]) -> pd.Series:
    if column.name not in raw:
        empty = None if column.kind == "text" else np.nan
        return pd.Series(empty, index=raw.index, dtype=object if column.kind == "text" else float)
    given = raw[column.name].astype(object)
    given = given.where(given.notna() & (given != ""), None)
    values, expected = _convert_values(given, column)
    wrong = given.notna() & values.isna()
    if column.filled:
        wrong |= given.isna()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value = given.iloc[row]
        problem = "may not be empty" if value is None else f"{value!r} is not {expected}"
        raise InputError(path, problem, where=locate(row), field=column.name)
    return values


def _convert_values(given: pd.Series, column: Column) -> tuple[pd.Series, str]:
    """Return the values, missing if they do not fit, and the expected form."""
    if column.kind == "text":
        if column.choices:
            return given.where(given.isin(column.choices), None), f"one of {', '.join(column.choices)}"
        return given.map(lambda value: None if value is None else str(value)), "text"
    if column.kind == "boolean":
        return given.map(lambda value: _TRUTH.get(str(value).lower(), np.nan)).astype(float), "true or false"
    values = pd.to_numeric(given, errors="coerce").astype(float)
    fits = np.isfinite(values) & (values >= column.low) & (values <= column.high)
    if column.kind == "integer":
        fits &= values == np.floor(values)
    return values.where(fits), _describe_number(column)


def _describe_number(column: Column) -> str:
    noun = "a whole number" if column.kind == "integer" else "a number"
    if np.isfinite(column.low) and np.isfinite(column.high):
        return f"{noun} from {column.low:g} to {column.high:g}"
    return f"{noun} of {column.low:g} or more" if np.isfinite(column.low) else noun

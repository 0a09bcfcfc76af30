"""Examples of the NLVR2 form and predictions for them, from files.

Examples are JSON lines, as released, or one JSON list of the same objects: {"identifier", "left_url",
"right_url", "label", …}. Predictions are CSV lines `identifier,prediction`, as the released evaluation takes
them; JSON lines or a list of {"identifier", "prediction"}; one JSON object of identifiers and predictions; or
such an object as "answer" of another one. Labels and predictions are true and false, as JSON or as text.
Errors name line and field.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..io.errors import AnalysisError, InputError, Malformed
from ..io.whole_files import parse_json, read_text

TRUTH = {"true": True, "false": False}
BETWEEN_ELEMENTS = re.compile(r"[\s,]*")

Made = TypeVar("Made")
Fault = Callable[[int, str, str], AnalysisError]  # of a row (0-based), its field, and the problem


@dataclass(frozen=True)
class Example:
    """A sentence about a pair: addresses of the left and the right image."""

    identifier: str
    pair: tuple[str, str]
    label: bool


def read_examples(path: Path) -> list[Example]:
    """Read the examples of a file, in its order.

    Raises:
        InputError: A row is wrong; the message names file, line and field.
    """
    rows, line_of = _parse_rows(path, read_text(path, "utf-8-sig"))
    return list(check_examples(rows, _file_fault(path, line_of)))


def read_predictions(path: Path) -> dict[str, bool]:
    """Read predictions by identifier.

    Raises:
        InputError: A row is wrong; the message names file, line and field.
    """
    if path.suffix == ".csv":
        return _read_csv_predictions(path)
    text = read_text(path, "utf-8-sig")
    whole = _parse_object(text)
    if whole is not None and "identifier" not in whole:
        return _read_object_predictions(path, whole)
    rows, line_of = _parse_rows(path, text)
    return dict(
        _check_rows(rows, _parse_prediction, lambda prediction: prediction[0], _file_fault(path, line_of))
    )


def check_examples(rows: Iterable[object], fault: Fault) -> Iterator[Example]:
    """Check the rows and return examples; `fault` makes the errors."""
    return _check_rows(rows, _parse_example, lambda example: example.identifier, fault)


def _parse_example(row: object) -> Example:
    fields = _check_object(row)
    pair = _read_text_field(fields, "left_url"), _read_text_field(fields, "right_url")
    return Example(_read_text_field(fields, "identifier"), pair, _read_truth_field(fields, "label"))


def _parse_prediction(row: object) -> tuple[str, bool]:
    fields = _check_object(row)
    return _read_text_field(fields, "identifier"), _read_truth_field(fields, "prediction")


def _check_object(row: object) -> Mapping[str, object]:
    if not isinstance(row, Mapping):
        raise Malformed(f"must be an object with fields, not {_shorten_value(row)}", "")
    return row


def _read_text_field(row: Mapping[str, object], field: str) -> str:
    value = _read_field(row, field)
    if not isinstance(value, str) or not value:
        raise Malformed(f"must be a text of at least one character, not {_shorten_value(value)}", field)
    return value


def _read_truth_field(row: Mapping[str, object], field: str) -> bool:
    return _parse_truth(_read_field(row, field), field)


def _read_field(row: Mapping[str, object], field: str) -> object:
    if field not in row:
        raise Malformed("is missing", field)
    return row[field]


def _parse_truth(value: object, field: str) -> bool:
    truth = TRUTH.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(truth, bool):
        raise Malformed(f"must be true or false, not {_shorten_value(value)}", field)
    return truth


def _shorten_value(value: object) -> str:
    """Shorten a value for a message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _check_rows(
    rows: Iterable[object], make: Callable[[object], Made], name: Callable[[Made], str], fault: Fault
) -> Iterator[Made]:
    """Convert rows with `make`; an identifier may occur once."""
    seen: set[str] = set()
    for index, row in enumerate(rows):
        try:
            record = make(row)
        except Malformed as error:
            raise fault(index, error.field, error.problem) from None
        if name(record) in seen:
            raise fault(index, "identifier", f"{name(record)!r} is there twice")
        seen.add(name(record))
        yield record


def _file_fault(path: Path, line_of: Callable[[int], int]) -> Fault:
    return lambda row, field, problem: InputError(path, problem, where=f"line {line_of(row)}", field=field)


def _parse_rows(path: Path, text: str) -> tuple[list[object], Callable[[int], int]]:
    """Return the values of a JSON list or JSON lines, with their lines."""
    if text.lstrip().startswith("["):
        values: list[object] = parse_json(path, text)
        return values, lambda row: _find_element_line(text, row)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return [parse_json(path, line, number - 1) for number, line in lines], lambda row: lines[row][0]


def _find_element_line(text: str, element: int) -> int:
    """Return the line at which an element of a JSON list starts."""
    decoder = json.JSONDecoder()
    at = text.index("[") + 1
    for _ in range(element):
        at = decoder.raw_decode(text, _skip_gap(text, at))[1]
    return text.count("\n", 0, _skip_gap(text, at)) + 1


def _skip_gap(text: str, at: int) -> int:
    gap = BETWEEN_ELEMENTS.match(text, at)
    return gap.end() if gap else at


def _parse_object(text: str) -> dict[str, object] | None:
    """Return the text as one JSON object; None for anything else."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        return None  # read as lines next, which says where it is wrong
    return whole if isinstance(whole, dict) else None


def _read_object_predictions(path: Path, whole: dict[str, object]) -> dict[str, bool]:
    """Read predictions by identifier, at the top or under "answer"."""
    answers = whole.get("answer", whole)
    if not isinstance(answers, dict):
        raise InputError(path, "must be an object of identifiers and predictions", field="answer")
    try:
        return {name: _parse_truth(value, name) for name, value in answers.items()}
    except Malformed as error:
        raise InputError(path, error.problem, field=error.field) from None


def _read_csv_predictions(path: Path) -> dict[str, bool]:
    """Read predictions from CSV lines, with or without a header."""
    reader = csv.reader(io.StringIO(read_text(path, "utf-8-sig"), newline=""))
    numbered = [(reader.line_num, row) for row in reader if row]
    if numbered and numbered[0][1][0] == "identifier":
        del numbered[0]
    rows = (dict(zip(("identifier", "prediction"), row, strict=False)) for _, row in numbered)
    fault = _file_fault(path, lambda row: numbered[row][0])
    for index, (_, row) in enumerate(numbered):
        if len(row) != 2:
            raise fault(index, "", f"has {len(row)} fields where identifier and prediction are 2")
    return dict(_check_rows(rows, _parse_prediction, lambda prediction: prediction[0], fault))

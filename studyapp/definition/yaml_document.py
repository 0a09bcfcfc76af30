"""YAML files of definitions: bounded reading, and the line of each field.

Pure: no Django. A file may come from anybody with a browser, so its size, depth, aliases and numbers are
bounded before anything is made of it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from analysis.io.errors import describe_os_error
from foundation.imports.bounded_yaml import Loader, YamlError, find_repeated_keys, read_yaml
from foundation.messages import say
from studyapp.definition.questions import scales
from studyapp.errors import StudyappError

MAX_CHARACTERS = 300_000
MAX_PROBLEMS = 200  # that are located and shown; each searches the file

# NUL, which PostgreSQL does not store, and halves of characters, which are no Unicode text.
_UNKEPT = re.compile("[\x00\ud800-\udfff]")

Location = tuple[int | str, ...]


class DefinitionError(StudyappError):
    """A study definition is wrong; one line for each problem.

    A line names file, line and field; ``lines`` holds the lines in two parts: the location and the
    sentence.
    """

    status = 422

    def __init__(self, *lines: tuple[str, str]) -> None:
        self.lines = lines
        super().__init__("\n".join(f"{location}{message}" for location, message in lines))


def read_document(text: str, name: str) -> tuple[yaml.Node | None, Any]:
    """Return a YAML file as nodes, which know their lines, and as plain data.

    Raises:
        DefinitionError: it is not valid YAML, repeats a key, or holds a value that cannot be kept.
    """
    node, data = _read(text, name)
    problems = [
        Problem(line, "", say("the key %(key)r is given twice", key=key))
        for line, key in islice(find_repeated_keys(node), MAX_PROBLEMS)
    ]
    if problems:
        raise _error(name, problems)
    if unkept := list(islice(_find_unstorable_values(data), MAX_PROBLEMS)):
        raise build_located_error(name, node, unkept)
    return node, data


def _find_unstorable_values(data: Any) -> Iterator[tuple[Location, str]]:
    """Return what no database keeps, or a file of JSON has not."""
    for location, value in _walk_values(data, ()):
        if isinstance(value, str) and not _is_kept(value):
            yield location, say("contains a character that cannot be stored")
        elif isinstance(value, float) and not math.isfinite(value):
            yield location, say("must be a finite number")
        elif isinstance(value, datetime) or not isinstance(
            value, str | bool | int | float | date | list | dict | None
        ):
            yield location, say("must be text, a number, a date, true or false, a list or a mapping")
        elif isinstance(value, dict) and any(not isinstance(key, str) or not _is_kept(key) for key in value):
            yield location, say("field names must be text; write them in quotes")


def _walk_values(value: Any, location: Location) -> Iterator[tuple[Location, Any]]:
    """Yield every value with its location, containers first."""
    yield location, value
    rows = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in rows:
        yield from _walk_values(child, (*location, name if isinstance(name, int) else str(name)))


def _is_kept(text: str) -> bool:
    return not _UNKEPT.search(text)


def build_located_error(
    name: str, node: yaml.Node | None, problems: Sequence[tuple[Location, str]]
) -> DefinitionError:
    """Return the error about fields of a document, with their lines."""
    return _error(
        name, [Problem(*_find_line_and_field(node, location), message) for location, message in problems]
    )


def locate_errors(node: yaml.Node | None, errors: Sequence[Any]) -> list[Location]:
    """Return the locations in the file of errors of pydantic.

    Pydantic also names the chosen member of a union, which is no field of the file, and counts the
    questions of a scale that the file only names.
    """
    positions: dict[int, list[int]] = {}
    return [_locate_error(node, error, positions) for error in errors]


def _locate_error(node: yaml.Node | None, error: Any, positions: dict[int, list[int]]) -> Location:
    """Return the location of one error.

    ``positions`` keeps the questions of each list, since expanding it for each of its errors takes minutes.
    """
    location: list[int | str] = []
    for depth, part in enumerate(error["loc"]):
        is_last = depth == len(error["loc"]) - 1
        if isinstance(part, int):
            if id(node) not in positions:
                positions[id(node)] = scales.list_written_positions(_load_plain_data(node))
            if part < len(positions[id(node)]):
                part = positions[id(node)][part]
        elif _find_child(node, part) is None and not (is_last and error["type"] == "missing"):
            continue
        location.append(part)
        node = (_find_child(node, part) or (0, None))[1]
    return tuple(location)


def _load_plain_data(node: yaml.Node | None) -> Any:
    """Return a part of the file as plain data."""
    return None if node is None else Loader("").construct_document(node)


class Problem(NamedTuple):
    """A problem: 1-based line, dotted field ("" for the file), sentence."""

    line: int
    field: str
    message: str


def definition_error(path: Path, problems: Sequence[tuple[Location, str]]) -> DefinitionError:
    """Return the error about fields of a file, with their lines."""
    node, _data = _read(read_file(path), str(path))
    return build_located_error(str(path), node, problems)


def _error(name: str, problems: Sequence[Problem]) -> DefinitionError:
    return DefinitionError(
        *((f"{name}:{line}: {field + ': ' if field else ''}", message) for line, field, message in problems)
    )


def read_file(path: Path) -> str:
    """Return the text of a file. Raises DefinitionError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DefinitionError((f"{path}: ", describe_os_error(error))) from error
    except UnicodeDecodeError as error:
        raise DefinitionError((f"{path}: ", f"is not UTF-8 text ({error.reason})")) from error


def _read(text: str, name: str) -> tuple[yaml.Node | None, Any]:
    """Return the document as nodes and as plain data."""
    if len(text) > MAX_CHARACTERS:
        size = say("has more than %(most)s characters", most=MAX_CHARACTERS)
        raise _error(name, [Problem(1, "", size)])
    try:
        return read_yaml(text)
    except YamlError as error:
        raise _error(name, [Problem(error.line, "", error.problem)]) from error


def _find_line_and_field(node: yaml.Node | None, location: Location) -> tuple[int, str]:
    """Return line and dotted field of a location.

    A field that the file lacks, such as a missing key, has the line of its parent.
    """
    line = node.start_mark.line + 1 if node is not None else 1
    field = ""
    for part in location:
        line, node = _find_child(node, part) or (line, None)
        field += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if field else part
    return line, field


def _find_child(node: yaml.Node | None, part: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == part:
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        value = node.value[part]
        return value.start_mark.line + 1, value
    return None

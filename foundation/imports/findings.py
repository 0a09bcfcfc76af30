"""Findings of a reader: what an import repairs, and what it refuses."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from foundation.errors import BadFile, TouchstoneError
from foundation.imports.import_fields import list_errors
from foundation.imports.json_elements import Element
from foundation.messages import (
    Message,
    dump_message,
    extract_message,
    map_message,
    prefix_field,
    say,
    split_field,
)

MOST_EXAMPLES = 5  # of each kind of repair
MOST_REFUSALS = 100  # listed; the rest is only counted
MOST_FIELD, MOST_REASON = 300, 1000  # characters of a refusal
MESSAGES = "messages"  # the part of a result that only pages read
_NAME = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d+\])*")
_FIELD = re.compile(rf"({_NAME.pattern}): (.*)", re.DOTALL)
_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")

Record = TypeVar("Record")
Part = TypeVar("Part", bound=BaseModel)


@dataclass(frozen=True)
class Refusal:
    """A part of a file that an import refuses; one is enough to store nothing.

    Attributes:
        line: None for a file without lines, such as an image.
        field: The entry and its field, as ``entry 3 (q2): answer``.
        reason: The mistake, and how to correct it; a `Message` if pages can translate it.
    """

    file: str
    line: int | None
    field: str
    reason: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return ": ".join(part for part in (where, self.field, self.reason) if part)


@dataclass
class Repair:
    """All repairs of one kind."""

    kind: str
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.count:,} × {self.kind} ({', '.join(self.examples)}{more})"


class Refused(TouchstoneError):
    """An import refuses parts of a file, so nothing of it is stored."""

    status = 422

    def __init__(self, findings: "Findings") -> None:
        more = findings.refused_count - len(findings.refused)
        lines = [str(refusal) for refusal in findings.refused] + ([f"and {more} more"] if more else [])
        super().__init__("\n".join(lines))
        self._result = findings.as_json()

    @property
    def members(self) -> dict[str, Any]:
        """The findings."""
        return build_public_result(self._result)

    @property
    def result(self) -> dict[str, Any]:
        """The findings, and what pages need to translate them."""
        return self._result


class Findings:
    """The findings of an import; complete when its files have been read.

    Args:
        collect: List refusals and go on, so that a person can correct a file in one go; otherwise the first
            one is raised.
        roots: Folders of this machine that messages leave out of the names of files.
    """

    def __init__(self, *, collect: bool = False, roots: Iterable[Path] = ()) -> None:
        self.collect = collect
        self.repairs: dict[str, Repair] = {}
        self.refused: list[Refusal] = []
        self.refused_count = 0
        self._roots = [form for root in roots for form in (root, root.resolve())]
        self._entries: Path | None = None  # one file of an import has its entries
        self._locations: dict[str, int | tuple[Element, str]] = {}  # numbers: there may be millions

    @property
    def on_error(self) -> Callable[[BadFile], None] | None:
        """Takes the error of a part, so that a reader goes on; None to raise."""
        return (lambda error: self.refuse(error, error.path)) if self.collect else None

    def note_repair(self, kind: str, where: str, count: int = 1) -> None:
        """Count repairs of a kind; ``where`` is an example."""
        repair = self.repairs.setdefault(kind, Repair(kind))
        repair.count += count
        if len(repair.examples) < MOST_EXAMPLES:
            repair.examples.append(where)

    def count(self, kind: str) -> int:
        """Return the number of repairs of a kind."""
        return self.repairs[kind].count if kind in self.repairs else 0

    def note_entry(
        self,
        external_id: str,
        path: Path,
        *,
        field: str,
        line: int | None = None,
        element: Element | None = None,
        within: str = "",
    ) -> None:
        """Note the place of an entry, for `refuse_entry`; arguments as `refuse`.

        Raises:
            ValueError: Another entry has its id, which is in this field.
        """
        if external_id in self._locations:
            first = self._line_of(external_id)
            taken = say(
                "%(id)r is already on line %(line)s; give each entry its own ID", id=external_id, line=first
            )
            raise ValueError(prefix_field(field, taken))
        self._entries = path
        self._locations[external_id] = (line or 1) if element is None else (element, within)

    def _line_of(self, external_id: str) -> int | None:
        location = self._locations.get(external_id)
        return location[0].line_of(_parse_path(location[1])) if isinstance(location, tuple) else location

    def refuse(
        self,
        error: Exception,
        path: Path,
        *,
        line: int | None = None,
        element: Element | None = None,
        entry: str = "",
        within: str = "",
    ) -> None:
        """List what an error says of a file, or raise it.

        Args:
            error: A BadFile names its own file; other messages may begin with a field and a colon.
            path: The file.
            line: The line of the entry.
            element: The JSON element that has the fields; it tells their lines.
            entry: The name of the entry for people.
            within: The field of the element that has the fields.

        Raises:
            TouchstoneError: Refusals are not collected.
        """
        if len(self.refused) >= MOST_REFUSALS:
            # Only counted: to find the lines of thousands of mistakes would take minutes.
            self.refused_count += error.error_count() if isinstance(error, ValidationError) else 1
            return
        for mistake in _list_refusals(error, path, line, element, entry, within):
            if not self.collect:
                raise error if isinstance(error, TouchstoneError) else mistake from error
            self.refused_count += 1
            if len(self.refused) < MOST_REFUSALS:
                file, field = _escape_unstorable(
                    [self._format_path(mistake.path), mistake.field[:MOST_FIELD]]
                )
                self.refused.append(Refusal(file, mistake.line, field, _shorten_reason(mistake.message)))

    def validate_each(
        self, kind: type[Part], values: Iterable[Any], path: Path, element: Element, name: str
    ) -> Iterator[tuple[str, Part]]:
        """Yield the field and content of each value that is not refused.

        Args:
            kind: The model of the values.
            values: The list in a field of the element.
            path: The file.
            element: The document.
            name: The field; empty for the document itself.
        """
        for number, value in enumerate(values):
            field = f"{name}[{number}]" if name else ""
            try:
                part = kind.model_validate(value)
            except ValueError as error:
                self.refuse(error, path, element=element, within=field)
            else:
                yield field, part

    def refuse_entry(self, external_id: str, error: TouchstoneError) -> None:
        """List or raise an error of an entry whose place was noted."""
        if not self.collect:
            raise error
        own = (
            error
            if isinstance(error, BadFile)
            else ValueError(_remove_id(extract_message(error), external_id))
        )
        # No `within`: what contradicts stored data is a column of ours, and perhaps no field of the file.
        self.refuse(own, self._entries or Path(), line=self._line_of(external_id), entry=external_id)

    @contextmanager
    def refusing_entry(self, external_id: str, *kinds: type[TouchstoneError]) -> Iterator[None]:
        """Refuse an entry if one of these errors is raised, and go on."""
        try:
            yield
        except kinds as error:
            self.refuse_entry(external_id, error)

    def read_until_broken(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield records up to a place where the file cannot be read on."""
        try:
            yield from records
        except BadFile as error:
            self.refuse(error, error.path)

    def check(self) -> None:
        """Raise Refused if there are refusals, so that nothing is stored."""
        if self.refused_count:
            raise Refused(self)

    def result_of(self, work: Callable[[], Mapping[str, Any]], *, dry_run: bool) -> dict[str, Any]:
        """Do the work of an import; return its result with the findings.

        Raises:
            Refused: There are refusals, and it is not a dry run.
        """
        done: Mapping[str, Any] = {}
        try:
            done = work()
        except BadFile as error:
            self.refuse(error, error.path)
        except Refused:
            pass  # all of it is listed here
        if not dry_run:
            self.check()
        return _escape_unstorable({**done, **self.as_json(), "dry_run": dry_run})

    def as_json(self) -> dict[str, Any]:
        """Return the findings as the result of a job holds them."""
        return {
            "repairs": [asdict(repair) for repair in self.repairs.values()],
            "refused": [asdict(refusal) for refusal in self.refused],
            "refused_count": self.refused_count,
            MESSAGES: [dump_message(refusal.reason) for refusal in self.refused],
        }

    def __str__(self) -> str:
        return "\n".join(str(repair) for repair in self.repairs.values()) or "nothing had to be repaired"

    def _format_path(self, path: Path) -> str:
        """Return the name of a file as the person knows it."""
        inside = (path.relative_to(root).as_posix() for root in self._roots if path.is_relative_to(root))
        return min(inside, key=len, default=str(path))


def build_public_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as programs read it, in English."""
    return {name: value for name, value in result.items() if name != MESSAGES}


def _shorten_reason(reason: str) -> str:
    """Return a reason as databases take it, and not too long."""
    kept = map_message(reason, lambda text: str(_escape_unstorable(text))[:MOST_REASON])
    if not isinstance(kept, Message):
        return kept
    short = Message(kept[:MOST_REASON])
    short.template, short.values = kept.template, kept.values
    return short


def _remove_id(message: str, external_id: str) -> str:
    """Return a message about an entry without the id of the entry."""
    if isinstance(message, Message):
        field, problem = split_field(message)
        return problem if field == external_id else message
    return message.removeprefix(f"{external_id}: ")


def _list_refusals(
    error: Exception, path: Path, line: int | None, element: Element | None, entry: str, within: str
) -> Iterator[BadFile]:
    """Yield each mistake that an error names, with its place."""
    if isinstance(error, BadFile):
        yield error
        return
    problems: Sequence[tuple[Sequence[str | int], str, str]]
    if isinstance(error, ValidationError):
        problems = list_errors(error)
    else:
        field, reason = _split_message(extract_message(error))
        problems = [(_parse_path(field), field, reason)]
    for location, field, reason in problems:
        # A value of the wrong kind has no field: what holds it is wrong.
        full = f"{within}{field}" if field.startswith("[") or not field else f"{within}.{field}"
        at = line if element is None else element.line_of([*_parse_path(within), *location])
        name = ": ".join(part for part in (entry, full.removeprefix(".")) if part)
        yield BadFile(path, reason, line=at, field=name)


def _split_message(message: str) -> tuple[str, str]:
    """Return the field that a message begins with, if any, and its reason."""
    if isinstance(message, Message):
        field, reason = split_field(message)
        return (field, reason) if _NAME.fullmatch(field) else ("", message)
    match = _FIELD.fullmatch(message)
    return (match[1], match[2]) if match else ("", message)


def _parse_path(field: str) -> list[str | int]:
    """Return the path that a field names, such as ``qas[0].id``."""
    return [int(number) if number else name for number, name in _PART.findall(field)]


def _escape_unstorable(value: Any) -> Any:
    """Return JSON without what databases refuse: it shows values of any file."""
    if isinstance(value, str):
        return value.replace("\0", "\\0").encode(errors="backslashreplace").decode()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {_escape_unstorable(key): _escape_unstorable(inner) for key, inner in value.items()}
    return [_escape_unstorable(inner) for inner in value] if isinstance(value, list | tuple) else value

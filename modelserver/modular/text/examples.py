"""Examples to learn from and to score on: items with answers, and with programs and gold where known.

They come from the generated games, from a file of annotation items (`.jsonl`) or from one in DROP's form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from analysis.programs import Program, ProgramError, parse
from modelserver.modular.text.execution import Answer
from modelserver.modular.text.quantities import dates
from modelserver.modular.text.reading import Place
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import ModuleItem

Words = tuple[int, int]  # first word and the one after the last


@dataclass(frozen=True)
class GoldList:
    """Gold spans of a module in words of the passage; a list may stand for two nodes together."""

    module: str
    nodes: tuple[int, ...]
    spans: tuple[Words, ...]


@dataclass(frozen=True)
class Example:
    """An item with what is known about it.

    ``said`` are the texts of one right answer; several go together. ``also`` are other right answers.
    ``program`` is that of people, not in ``item``.
    """

    item: ModuleItem
    said: tuple[str, ...]
    answer: Answer
    also: tuple[tuple[str, ...], ...] = ()
    program: Program | None = None
    gold: tuple[GoldList, ...] = ()


class _Span(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str = ""
    ref: str | None = None
    tokens: Words | None = None


class _Layer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    objects: list[_Span] = []


class _Gold(BaseModel):
    model_config = ConfigDict(extra="ignore")

    layers: dict[int, _Layer] = {}


class _Record(BaseModel):
    """An annotation item, as far as it is needed here."""

    model_config = ConfigDict(extra="ignore")

    external_id: str
    text: str
    passage: str
    tokens: list[tuple[int, int]]
    program: str = ""
    answer: int | float | str | None = None
    gold: _Gold | None = None


def examples_of(records: Iterable[Mapping[str, Any]], source: object) -> list[Example]:
    """Return annotation items over a passage as examples; those without an answer are left out.

    Raises UnreadableData, naming the source, the line and the field.
    """
    found = []
    for line, record in enumerate(records, start=1):
        try:
            known = _Record.model_validate(record)
            if known.answer is not None:
                found.append(_example(known))
        except ValidationError as error:
            raise UnreadableData(f"{source}: line {line}: {first(error)}") from error
        except (ProgramError, ValueError) as error:
            raise UnreadableData(f"{source}: line {line}: {error}") from error
    if not found:
        raise UnreadableData(f"{source}: holds no question with an answer")
    return found


def read_items(path: Path) -> list[Example]:
    """Read a file of annotation items, one a line.

    Raises UnreadableData as `examples_of`.
    """
    return examples_of(_lines(path), path)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise UnreadableData(f"{path}: line {number}: no JSON object")
                yield record
    except OSError as error:
        raise UnreadableData(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UnreadableData(f"{path}: no JSON lines: {error}") from error


def _example(known: _Record) -> Example:
    item = ModuleItem(id=known.external_id, text=known.text, passage=known.passage, tokens=known.tokens)
    program = parse(known.program, kind="spans") if known.program else None
    gold = [] if known.gold is None or program is None else _gold(known.gold, program, len(item.tokens))
    said = (str(known.answer),)
    return Example(item, said, answer(said, item), program=program, gold=tuple(gold))


def _gold(gold: _Gold, program: Program, words: int) -> Iterator[GoldList]:
    """Yield the layers that hold spans.

    An object that refers to one of another layer has its span.
    """
    known = {one.id: one for layer in gold.layers.values() for one in layer.objects}
    for index, layer in sorted(gold.layers.items()):
        if not 0 <= index < len(program.nodes):
            raise ValueError(f"gold.layers.{index}: the program has {len(program.nodes)} nodes")
        spans = []
        for one in layer.objects:
            while one.ref is not None:
                if one.ref not in known:
                    raise ValueError(f"gold.layers.{index}: refers to {one.ref!r}, which is not there")
                one = known[one.ref]
            if one.tokens is None or not 0 <= one.tokens[0] < one.tokens[1] <= words:
                raise ValueError(f"gold.layers.{index}: tokens {one.tokens} are not in the passage")
            spans.append(one.tokens)
        if spans:
            yield GoldList(program.nodes[index].module, (index,), tuple(dict.fromkeys(spans)))


def answer(said: Sequence[str], item: ModuleItem) -> Answer:
    """Return a right answer in the forms that programs give: as a number, a date, and where it stands."""
    one = said[0] if len(said) == 1 else ""
    dated = [date for date in dates(one) if (date.start, date.end) == (0, len(one))]
    spans = [place for text in said for place in places(text, item.passage, item.tokens)]
    return Answer(_number(one), str(dated[0].value) if dated else None, tuple(spans))


def places(text: str, passage: str, tokens: Sequence[Place]) -> list[Words]:
    """Return where a text stands in whole words of the passage, in any case of its letters."""
    begins = {start: number for number, (start, _) in enumerate(tokens)}
    ends = {end: number + 1 for number, (_, end) in enumerate(tokens)}
    found = (match.span() for match in re.finditer(re.escape(text.strip()), passage, re.IGNORECASE))
    return [(begins[a], ends[b]) for a, b in found if a < b and a in begins and b in ends]


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def first(error: ValidationError) -> str:
    """Return the first problem that pydantic found, with its field."""
    one = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, one['loc']))}: {one['msg']}"

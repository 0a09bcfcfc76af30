"""Examples to train and score on: items with answers, programs and gold.

They come from the generated games, from a file of annotation items (`.jsonl`) or from one in DROP's
form. Programs and gold may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from analysis.programs import Program, ProgramError, parse
from modelserver.inputs.data_files import read_records
from modelserver.modular.text.execution import Answer
from modelserver.modular.text.quantities import find_dates
from modelserver.modular.text.reading import Place
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import ModuleItem, format_first_problem

Words = tuple[int, int]  # first word and the one after the last


@dataclass(frozen=True)
class GoldList:
    """Gold spans of a module, as word numbers of the passage.

    A list may stand for two nodes together.
    """

    module: str
    nodes: tuple[int, ...]
    spans: tuple[Words, ...]


@dataclass(frozen=True)
class Example:
    """An item with its gold data.

    ``answer_texts`` are the texts of one right answer; several belong together. ``also`` are other right
    answers. ``program`` was written by people and is not in ``item``.
    """

    item: ModuleItem
    answer_texts: tuple[str, ...]
    answer: Answer
    also: tuple[tuple[str, ...], ...] = ()
    program: Program | None = None
    gold: tuple[GoldList, ...] = ()


class _Span(BaseModel):
    id: str = ""
    ref: str | None = None
    tokens: Words | None = None


class _Layer(BaseModel):
    objects: list[_Span] = []


class _Gold(BaseModel):
    layers: dict[int, _Layer] = {}


class _Record(BaseModel):
    """An annotation item, as far as it is needed here."""

    external_id: str
    text: str
    passage: str
    tokens: list[tuple[int, int]]
    program: str = ""
    answer: int | float | str | None = None
    gold: _Gold | None = None


def parse_examples(records: Iterable[Mapping[str, Any]], source: object) -> list[Example]:
    """Return annotation items over a passage that have an answer as examples.

    Raises UnreadableData, naming the source, the line and the field.
    """
    examples = []
    for line, record in enumerate(records, start=1):
        try:
            parsed = _Record.model_validate(record)
            if parsed.answer is not None:
                examples.append(_build_example(parsed))
        except ValidationError as error:
            raise UnreadableData(f"{source}: line {line}: {format_first_problem(error)}") from error
        except (ProgramError, ValueError) as error:
            raise UnreadableData(f"{source}: line {line}: {error}") from error
    if not examples:
        raise UnreadableData(f"{source}: holds no question with an answer")
    return examples


def read_items(path: Path) -> list[Example]:
    """Read a file of annotation items, one a line.

    Raises UnreadableData as `examples_of`.
    """
    return parse_examples(read_records(path, dict), path)


def _build_example(record: _Record) -> Example:
    item = ModuleItem(id=record.external_id, text=record.text, passage=record.passage, tokens=record.tokens)
    program = parse(record.program, kind="spans") if record.program else None
    gold = (
        []
        if record.gold is None or program is None
        else _collect_gold(record.gold, program, len(item.tokens))
    )
    texts = (str(record.answer),)
    return Example(item, texts, build_answer(texts, item), program=program, gold=tuple(gold))


def _collect_gold(gold: _Gold, program: Program, words: int) -> Iterator[GoldList]:
    """Yield the layers that hold spans.

    An object that refers to one of another layer has its span.
    """
    objects = {drawn.id: drawn for layer in gold.layers.values() for drawn in layer.objects}
    for index, layer in sorted(gold.layers.items()):
        if not 0 <= index < len(program.nodes):
            raise ValueError(f"gold.layers.{index}: the program has {len(program.nodes)} nodes")
        spans = []
        for drawn in layer.objects:
            passed = {drawn.id}
            while drawn.ref is not None:
                if drawn.ref not in objects:
                    raise ValueError(f"gold.layers.{index}: refers to {drawn.ref!r}, which is not there")
                if drawn.ref in passed:
                    raise ValueError(f"gold.layers.{index}: ref leads back to {drawn.ref!r}")
                passed.add(drawn.ref)
                drawn = objects[drawn.ref]
            if drawn.tokens is None or not 0 <= drawn.tokens[0] < drawn.tokens[1] <= words:
                raise ValueError(f"gold.layers.{index}: tokens {drawn.tokens} are not in the passage")
            spans.append(drawn.tokens)
        if spans:
            yield GoldList(program.nodes[index].module, (index,), tuple(dict.fromkeys(spans)))


def build_answer(texts: Sequence[str], item: ModuleItem) -> Answer:
    """Return a right answer as a number, as a date and as spans."""
    single = texts[0] if len(texts) == 1 else ""
    dated = [date for date in find_dates(single) if (date.start, date.end) == (0, len(single))]
    spans = [span for text in texts for span in find_occurrences(text, item.passage, item.tokens)]
    return Answer(_parse_number(single), str(dated[0].value) if dated else None, tuple(spans))


def find_occurrences(text: str, passage: str, tokens: Sequence[Place]) -> list[Words]:
    """Return the spans of whole words where a text occurs, in any case."""
    begins = {start: number for number, (start, _) in enumerate(tokens)}
    ends = {end: number + 1 for number, (_, end) in enumerate(tokens)}
    matches = (match.span() for match in re.finditer(re.escape(text.strip()), passage, re.IGNORECASE))
    return [(begins[a], ends[b]) for a, b in matches if a < b and a in begins and b in ends]


def _parse_number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None

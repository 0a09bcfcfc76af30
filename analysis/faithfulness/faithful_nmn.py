"""Read gold boxes from the released files of Subramanian et al. (2020).

A CSV has the boxes and a TSV the programs. The CSV names an example's annotated
modules by their line in the program and their words, but not its sentence, by
which the TSV lists programs. They are joined over the lines: the programs that
fit are those with the same annotated modules, with the same words, in the same
lines. Several may fit, such as two that differ in a number; they must then
agree in what counts for the scores.

Usable are examples that no row flags as exactly "1" and whose programs
type-check.
"""

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..io.errors import InputError, describe_os_error
from ..io.spreadsheet import unescape_formula
from ..programs import Program, ProgramError, parse_lines
from ..stats.arrays import Array
from .examples import GoldExample, GoldModule, normalise_module_name
from .reference import NEW_BOXES, ONLY_IMAGE, SAME_BOXES, SUBSETS

ANNOTATED = frozenset({"find", "filter", "with-relation", "project", "count"})
CSV_COLUMNS = ("Incorrect program", "identifier", "module_identifier", "module", "annotation")
TSV_COLUMNS = ("sentence", "annotation", "tokens")
CHOOSING = ONLY_IMAGE.keys() | SAME_BOXES
SIDES = ("left", "top", "width", "height")
_PLACE = re.compile(r"q\d+-m(\d+)-(\d+)")
_TOKEN = re.compile(r"(\d+): (.*?)(?=, \d+: |\}$)")

Key = frozenset[tuple[int, str, str]]  # an example's annotated lines: line, module, words


@dataclass(frozen=True)
class Reading:
    """Usable examples of a file, with notes on omissions and repairs.

    notes: a sentence each with its number.
    """

    examples: tuple[GoldExample, ...]
    notes: dict[str, int]


@dataclass
class _Example:
    """One example's rows: module and boxes by line and image."""

    flagged: bool = False
    modules: dict[int, tuple[str, str]] = field(default_factory=dict)
    boxes: dict[tuple[int, int], Array] = field(default_factory=dict)


def read_faithful_nmn(boxes: Path, programs: Path, *, as_released: bool = False) -> Reading:
    """Read the usable examples of a box CSV, in its order, two images each.

    Args:
        boxes: The CSV of boxes.
        programs: The TSV of programs.
        as_released: Take the cells as the released reader does, without repairs;
            for scores with `analysis.faithfulness.reference`. Otherwise
            coordinates beyond the image are clipped, boxes without area or given
            twice are dropped, and an object in place of a list counts as a list
            of one.

    Returns:
        The examples, and notes on what was left out or repaired.

    Raises:
        InputError: Names file, line and field.
    """
    notes: Counter[str] = Counter()
    rows = _read_examples(boxes, notes, as_released)
    fitting = _find_programs(programs, {_build_key(example) for example in rows.values()})
    usable = []
    for name, example in rows.items():
        chosen = _find_choosing_nodes(example, fitting.get(_build_key(example), ()))
        if isinstance(chosen, str):
            notes[f"examples left out: {chosen}"] += 1
        else:
            usable.append(GoldExample(name, _build_nodes(example, chosen)))
    return Reading(tuple(usable), {note: count for note, count in notes.items() if count})


def _read_examples(path: Path, notes: Counter[str], as_released: bool) -> dict[str, _Example]:
    examples: dict[str, _Example] = defaultdict(_Example)
    for line, row in _read_records(path, ",", CSV_COLUMNS):
        match = _PLACE.fullmatch(row["module_identifier"])
        if match is None:
            if not row["module_identifier"]:
                notes["rows without a module skipped"] += 1
                continue
            problem = f"{row['module_identifier']!r} is not of the form q1-m2-0"
            raise InputError(path, problem, where=f"line {line}", field="module_identifier")
        example = examples[row["identifier"]]
        example.flagged |= row["Incorrect program"] == "1"
        node, image = int(match[1]), int(match[2])
        name, _, words = row["module"].partition("[")
        example.modules[node] = normalise_module_name(name), words.rstrip("]").lower()
        if example.modules[node][0] == "count":
            continue
        if (node, image) in example.boxes:
            notes["repeated cells: the last counts"] += 1
        try:
            example.boxes[node, image] = _parse_cell(row["annotation"], notes, as_released)
        except ValueError as error:
            raise InputError(path, str(error), where=f"line {line}", field="annotation") from None
    return dict(examples)


def _parse_cell(text: str, notes: Counter[str], as_released: bool) -> Array:
    """Parse the boxes of a cell, n × 4. Raises ValueError."""
    try:
        listed = json.loads(text) if text else []
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg}") from None
    if isinstance(listed, dict):
        # The released reader goes over such an object's keys, none of which is a box of the child.
        notes["cells with an object in place of a list"] += 1
        listed = [] if as_released else [listed]
    try:
        sides = np.array([[float(box[side]) for side in SIDES] for box in listed]).reshape(-1, 4)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"a box must be an object with {', '.join(SIDES)} in numbers") from None
    if not np.isfinite(sides).all():
        raise ValueError("a box must be finite")
    boxes = np.concatenate([sides[:, :2], sides[:, :2] + sides[:, 2:]], axis=1)
    return boxes if as_released else _repair_boxes(boxes, notes)


def _repair_boxes(boxes: Array, notes: Counter[str]) -> Array:
    clipped = np.clip(boxes, 0.0, 1.0)
    notes["boxes clipped to the image"] += int((clipped != boxes).any(axis=1).sum())
    flat = (clipped[:, 2:] <= clipped[:, :2]).any(axis=1)
    notes["boxes without area dropped"] += int(flat.sum())
    kept = clipped[~flat]
    _, first = np.unique(kept, axis=0, return_index=True)
    notes["boxes given twice dropped"] += len(kept) - len(first)
    return kept[np.sort(first)]


def _build_key(example: _Example) -> Key:
    return frozenset((line, module, words) for line, (module, words) in example.modules.items())


def _find_programs(path: Path, wanted: set[Key]) -> dict[Key, list[str]]:
    """Find the program texts that fit each of the keys."""
    fitting: dict[Key, list[str]] = defaultdict(list)
    for _, row in _read_records(path, "\t", TSV_COLUMNS):
        key = frozenset(_find_annotated_lines(row["annotation"], row["tokens"]))
        if key in wanted:
            fitting[key].append(row["annotation"])
    return fitting


def _find_annotated_lines(program: str, tokens: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, module and words of the annotated lines."""
    words = _parse_tokens(tokens)
    for line, text in enumerate(program.split("\n")):
        name, _, argument = text.lstrip(".").partition("[")
        if normalise_module_name(name) in ANNOTATED:
            positions = (part.strip() for part in argument.rstrip("]").split(","))
            yield (
                line,
                normalise_module_name(name),
                ",".join(words.get(position, "?") for position in positions if position).lower(),
            )


def _parse_tokens(text: str) -> dict[str, str]:
    """Return words by position, from a printed dictionary.

    In some rows its words have no quotes.
    """
    return {
        position: word[1:-1] if word[:1] in "'\"" and word[-1:] == word[:1] else word
        for position, word in _TOKEN.findall(text)
    }


def _find_choosing_nodes(example: _Example, texts: Sequence[str]) -> dict[int, str] | str:
    """Return the nodes that choose an image, or why the example is unusable.

    Nodes are lines with names.
    """
    if example.flagged:
        return "flagged as having a wrong program"
    if not texts:
        return "no program fits the annotated lines"
    try:
        programs = [parse_lines(text, kind="boxes", root="truth") for text in dict.fromkeys(texts)]
    except ProgramError:
        return "a program that fits does not type-check"
    choices = [_find_image_nodes(program) for program in programs]
    if any(choice != choices[0] for choice in choices):
        return "programs that fit differ in the images they choose"
    return choices[0]


def _find_image_nodes(program: Program) -> dict[int, str]:
    """Return nodes that choose an image for a parent in the released reader.

    That reader takes the parent's gold from them.
    """
    felt = SUBSETS | NEW_BOXES
    return {
        node.index: node.module
        for node in program.nodes
        if node.module in CHOOSING
        and node.parent == node.index - 1
        and program.nodes[node.parent].module in felt
    }


def _build_nodes(example: _Example, choosing: dict[int, str]) -> tuple[GoldModule, ...]:
    """Return the gold of one example, in program order."""
    nothing = np.zeros((0, 4))
    nodes = [GoldModule(line, name, None) for line, name in choosing.items()]
    for line, (module, words) in example.modules.items():
        boxes = None
        if module != "count":
            boxes = tuple(example.boxes.get((line, image), nothing) for image in (0, 1))
        nodes.append(GoldModule(line, module, boxes, words.replace(",", " ")))
    return tuple(sorted(nodes, key=lambda node: node.index))


def _read_records(path: Path, delimiter: str, columns: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line (of the record's end) and fields of every record."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, delimiter=delimiter, restval="")
            for column in columns:
                if column not in (reader.fieldnames or ()):
                    raise InputError(path, "the column is missing", field=column)
            for row in reader:
                texts = {name: unescape_formula(cell) for name, cell in row.items() if isinstance(cell, str)}
                yield reader.line_num, texts
    except OSError as error:
        raise InputError(path, describe_os_error(error)) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(path, f"cannot be read: {error}") from None

"""Read the released boxes with their programs and sentences.

The paper's 536 examples are those of the test CSV that no row flags as exactly ``1`` and whose program is
well typed; the dev CSV gives 151. The others travel in the `extra` of a neighbour, so that
`write_faithful_nmn` restores the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.programs import Program, ProgramError
from annotation.content.schemas import ItemRecord
from annotation.formats.checks import check_record
from annotation.formats.faithful_nmn.gold import build_gold, parse_cell_content
from annotation.formats.faithful_nmn.tables import BoxRow, ProgramRow, read_box_rows, read_program_rows
from annotation.formats.nlvr.nlvr2 import Example, read_examples
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from foundation.messages import field_error, say

NAME = "faithful_nmn"  # the part of `extra` for a lossless round trip
WRONG = "1"

LEFT_OUT_FLAGGED = "program flagged as incorrect, example left out"
LEFT_OUT_ILL_TYPED = "program that does not fit together, example left out"
EXTRA_COLUMNS = "row with more columns than the header"
ROW_WITHOUT_CELL = "row that names no cell"


def read_faithful_nmn(source: Source) -> Iterator[ItemRecord]:
    """Yield the usable examples of a box CSV in order, with gold.

    The CSV is held in memory, because an example's rows may be apart. The programs are a TSV, and the
    sentences stand in NLVR2 files.

    Raises:
        BadFile: Names file, line and column of a bad row, or a row without its example or program.
    """
    boxes, programs, findings = source.path, source.programs, source.findings
    if programs is None or not source.examples:
        text = (
            "faithful-nmn needs the table of programs (--programs, or .tsv) and NLVR2 files "
            "(--nlvr2, or .json); upload them together in a zip file"
        )
        raise BadFile(boxes, say(text), line=1)
    grouped = _group_rows(boxes, findings)
    by_id = _read_wanted_examples(source.examples, grouped, findings)
    table = _read_wanted_programs(programs, by_id.values(), findings)
    usable: dict[str, tuple[Program, list[BoxRow]]] = {}
    for identifier, rows in list(grouped.items()):
        if identifier and not _is_consistent(boxes, rows, by_id, programs, table, findings):
            del grouped[identifier]
        elif identifier:
            program = _parse_usable_program(rows, table[_build_program_key(by_id[identifier])], findings)
            if program is not None:
                usable[identifier] = (program, rows)
    others = _group_unusable_rows(grouped, usable)
    for identifier, (program, rows) in usable.items():
        example = by_id[identifier]
        extra = _build_extra(rows, others.get(identifier, []), by_id, table)
        try:
            record = ItemRecord(
                external_id=identifier,
                kind="boxes",
                program=str(program),
                text=example.sentence,
                images=example.images(source.images),
                answer=example.label,
                gold=build_gold(program, rows, findings),
                extra={NAME: extra, "nlvr2": example.rest()},
            )
            record = check_record(record)
            findings.note_entry(identifier, boxes, line=rows[0].line, field="identifier")
        except (ValueError, BadFile) as error:  # BadFile of an image
            findings.refuse(error, boxes, line=rows[0].line, entry=identifier)
        else:
            yield record


def _group_rows(path: Path, findings: Findings) -> dict[str, list[BoxRow]]:
    """Return rows by identifier, blank ones under the empty text."""
    grouped: dict[str, list[BoxRow]] = {}
    for row in read_box_rows(path, findings):
        if len(row.cells) > 6:
            findings.note_repair(EXTRA_COLUMNS, f"line {row.line}")
        if not row.identifier:
            findings.note_repair(ROW_WITHOUT_CELL, f"line {row.line}")
        try:
            parse_cell_content(row, findings)
        except ValueError as error:
            findings.refuse(error, path, line=row.line)
            continue
        grouped.setdefault(row.identifier, []).append(row)
    if not any(grouped) and not findings.refused_count:
        raise BadFile(path, say("holds no examples"), line=1)
    return grouped


def _read_wanted_examples(
    paths: Sequence[Path], wanted: dict[str, Any], findings: Findings
) -> dict[str, Example]:
    by_id: dict[str, Example] = {}
    for path in paths:
        for _line, example in read_examples(path, findings=findings):
            if example.identifier in wanted:
                by_id.setdefault(example.identifier, example)
    return by_id


def _read_wanted_programs(
    path: Path, examples: Iterable[Example], findings: Findings
) -> dict[str, ProgramRow]:
    wanted = {_build_program_key(example) for example in examples}
    return {row.key: row for row in read_program_rows(path, findings) if row.key in wanted}


def _build_program_key(example: Example) -> str:
    return example.sentence.strip().lower()


def _is_consistent(
    path: Path,
    rows: list[BoxRow],
    by_id: dict[str, Example],
    programs: Path,
    table: dict[str, ProgramRow],
    findings: Findings,
) -> bool:
    """Check an example's sentence and program, and the modules of its rows."""
    before, first = findings.refused_count, rows[0]
    example = by_id.get(first.identifier)
    program = None if example is None else table.get(_build_program_key(example))
    if example is None:
        error = field_error("identifier", "%(id)r is in none of the files of examples", id=first.identifier)
        findings.refuse(error, path, line=first.line)
    elif program is None:
        error = field_error(
            "identifier",
            "the sentence of %(id)r has no program: %(sentence)r",
            id=first.identifier,
            sentence=example.sentence,
        )
        findings.refuse(error, path, line=first.line)
    else:
        try:
            labels = program.labels()
        except ValueError as wrong:
            findings.refuse(wrong, programs, line=program.line)
            return False
        for row in rows:
            node = row.cell.node
            label = labels[node] if node < len(labels) else "missing"
            if row.module != label:
                error = field_error(
                    "module",
                    "is %(module)s, but line %(line)s of the program is %(label)s",
                    module=row.module,
                    line=node,
                    label=label,
                )
                findings.refuse(error, path, line=row.line)
    return findings.refused_count == before


def _parse_usable_program(rows: list[BoxRow], program: ProgramRow, findings: Findings) -> Program | None:
    if any(row.flag == WRONG for row in rows):
        findings.note_repair(LEFT_OUT_FLAGGED, rows[0].identifier)
        return None
    try:
        return program.program()
    except ProgramError:
        findings.note_repair(LEFT_OUT_ILL_TYPED, rows[0].identifier)
        return None


def _group_unusable_rows(grouped: dict[str, list[BoxRow]], usable: dict[str, Any]) -> dict[str, list[BoxRow]]:
    """Return rows of unusable examples by the next usable one, or the last."""
    starts = sorted(
        (rows[0].number, identifier) for identifier, rows in grouped.items() if identifier in usable
    )
    left = sorted(
        (row for identifier, rows in grouped.items() if identifier not in usable for row in rows),
        key=lambda row: row.number,
    )
    carried: dict[str, list[BoxRow]] = {}
    index = 0
    for row in left if starts else []:
        while index + 1 < len(starts) and starts[index][0] < row.number:
            index += 1
        carried.setdefault(starts[index][1], []).append(row)
    return carried


def _build_extra(
    rows: list[BoxRow], others: list[BoxRow], by_id: dict[str, Example], table: dict[str, ProgramRow]
) -> dict[str, Any]:
    """Return what a lossless round trip needs: rows with their positions."""
    beside = dict.fromkeys(row.identifier for row in others if row.identifier)
    return {
        "rows": [[row.number, list(row.cells)] for row in rows],
        "program": _pack_row(table[_build_program_key(by_id[rows[0].identifier])]),
        "other_rows": [[row.number, list(row.cells)] for row in others],
        "other_programs": [_pack_row(table[_build_program_key(by_id[identifier])]) for identifier in beside],
    }


def _pack_row(row: ProgramRow) -> list[Any]:
    return [row.number, list(row.cells)]

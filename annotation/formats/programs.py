"""Read programs for items without one.

They come as a list of nested texts, or as the released faithful-nmn table.
"""

from __future__ import annotations

from pathlib import Path

from analysis.programs import ProgramError
from annotation.content.schemas import Kind
from annotation.formats.checks import parse_program_text
from annotation.formats.faithful_nmn.tables import read_program_rows
from foundation.imports.findings import Findings
from foundation.imports.text_files import open_text
from foundation.messages import extract_message, prefix_field, value_error

ILL_TYPED = "program that does not fit together, left out"


def read_programs(path: Path, *, kind: Kind, findings: Findings | None = None) -> dict[str, str]:
    """Return nested texts by identifier, or by sentence in lower case.

    A file that ends in .tsv with the columns of the faithful-nmn table is read as that; its ill-typed
    programs are left out and reported. Any other file has a line for each item: an identifier or sentence,
    a tab, and the program as nested text.

    Raises:
        BadFile: Names line and column.
    """
    findings = findings if findings is not None else Findings()
    if kind == "spans" or not _is_table(path):
        return _read_list(path, kind, findings)
    programs: dict[str, str] = {}
    for row in read_program_rows(path, findings):
        try:
            programs[row.key] = str(row.program())
        except ProgramError as error:
            findings.note_repair(ILL_TYPED, f"line {row.line}: {error.message}")
        except ValueError as error:
            findings.refuse(error, path, line=row.line)
    return programs


def _is_table(path: Path) -> bool:
    with open_text(path) as file:
        return file.readline().startswith("sentence\tannotation\ttokens")


def _read_list(path: Path, kind: Kind, findings: Findings) -> dict[str, str]:
    programs: dict[str, str] = {}
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    key, program = _parse_program(line, kind)
                    if key in programs:
                        raise value_error("%(key)r has a program already; remove one of them", key=key)
                    programs[key] = program
                except ValueError as error:
                    findings.refuse(error, path, line=number)
    return programs


def _parse_program(line: str, kind: Kind) -> tuple[str, str]:
    """Return the key and the program of a line.

    Raises:
        ValueError: It has another form.
    """
    key, tab, text = line.rstrip("\r\n").partition("\t")
    if not tab:
        raise value_error("expected an identifier, a tab and a program")
    try:
        return key, str(parse_program_text(text, kind))
    except ProgramError as error:
        raise ValueError(prefix_field("program", extract_message(error))) from error

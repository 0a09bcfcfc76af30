"""The page of a reproduction: the paper's tables and ours side by side."""

import re
from collections.abc import Iterable, Mapping, Sequence

from ..report.page import Block, Page, Points, Section, Text
from ..report.tables import Cell, Column, Table, fields, inputs_table, number
from .claims import VERDICTS, Basis, Result, Verdict, count
from .published import Paper, Value

KINDS: dict[Verdict, str] = {
    "same": "desirable",
    "differs": "undesirable",
    "not reproducible": "missing",
    "not in the paper": "",
}
MEANINGS: dict[Verdict, str] = {
    "same": "ours equals the published value in the digits that the paper prints",
    "differs": "ours is another value; the reason stands beside it",
    "not reproducible": "the release does not hold what the value needs",
    "not in the paper": "our value only, where the paper shows a figure or nothing",
}
SOURCES: dict[Basis, str] = {
    "release": "the released files",
    "paper": "other numbers of the paper",
    "both": "the released files and other numbers of the paper",
}


def build_page(
    paper: Paper,
    results: Sequence[Result],
    findings: Sequence[str],
    figures: Mapping[str, Sequence[Block]],
    hashes: Mapping[str, str],
) -> Page:
    """Build the page, a section for each place of the paper.

    Args:
        paper: The publication.
        results: Its claims with our values.
        findings: Sentences for the first screen.
        figures: Blocks to show in a place, after its table; a place without claims gets its own section.
        hashes: SHA-256 of each input file.
    """
    locations = dict.fromkeys([*(result.place for result in results), *figures])
    return Page(
        title=f"Reproduction: {paper.title}",
        banner="",
        facts={"Paper": paper.citation, "Release": paper.release, "Licence of the data": paper.licence},
        sections=[
            _summary(results, findings),
            *(
                Section(slug(location), location, [*_blocks(location, results), *figures.get(location, ())])
                for location in sorted(locations, key=_order)
            ),
            Section("inputs", "To reproduce this", [inputs_table(hashes)]),
        ],
    )


def summary_sentence(results: Iterable[Result]) -> str:
    """Count the verdicts in one sentence."""
    counts = count(results)
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{sum(counts.values())} values: {parts}."


def slug(location: str) -> str:
    """Return the name of a place in files and addresses."""
    return re.sub(r"[^a-z0-9]+", "_", location.lower()).strip("_")


def _order(location: str) -> tuple[int, str]:
    """Put sections first, then tables, figures and appendices, by number.

    Places of one number stay in the order of their claims.
    """
    kinds = ("section", "table", "figure", "appendix")
    kind, number = re.findall(r"[\w.]+", location.lower())[:2]
    return (kinds.index(kind), number.zfill(4)) if kind in kinds else (len(kinds), "")


def _summary(results: Sequence[Result], findings: Sequence[str]) -> Section:
    by_location = {
        location: count([result for result in results if result.place == location])
        for location in sorted(dict.fromkeys(result.place for result in results), key=_order)
    }
    columns = [
        Column("place", lambda row: row[0], "Place in the paper", is_text=True),
        *(
            Column(slug(verdict), lambda row, verdict=verdict: row[1][verdict], verdict.capitalize())  # type: ignore[misc]
            for verdict in VERDICTS
        ),
    ]
    meanings = [f"{verdict.capitalize()}: {MEANINGS[verdict]}." for verdict in VERDICTS]
    table = Table.from_columns(
        "summary", "Values by place in the paper", list(by_location.items()), columns, meanings
    )
    return Section("summary", "In short", [Text(summary_sentence(results)), Points(findings), table])


def _blocks(location: str, results: Sequence[Result]) -> list[Block]:
    """Show a place as a table of its own rows and columns, or as a list."""
    own = [result for result in results if result.place == location]
    listed = [result for result in own if not result.column]
    crossed = [result for result in own if result.column]
    blocks: list[Block] = [_list(location, listed)] if listed else []
    return [*blocks, _tabulate_cells(location, crossed)] if crossed else blocks


DATA = fields("place", "row", "column", "published", "ours", "difference", "verdict", "basis", "reason")


def _list(location: str, results: Sequence[Result]) -> Table:
    columns = [
        *DATA,
        Column("", "row", "Value", is_text=True),
        Column("", "", "Paper", lambda result: _text(result.published, result.decimals)),
        Column("", "", "Ours", _format_ours),
        Column("", "", "Difference", _difference),
        Column("", "", "Result", lambda result: Cell(result.verdict, detail=_source(result)), is_text=True),
    ]
    notes = _reasons(results)
    return Table.from_columns(slug(location), f"{location}: the paper and ours", results, columns, notes)


def _tabulate_cells(location: str, results: Sequence[Result]) -> Table:
    rows = list(dict.fromkeys(result.row for result in results))
    across = {result.column: result.column for result in results}
    cell = Column("", "", "", _pair)
    return Table.from_records(
        f"{slug(location)}_cells",
        f"{location}: ours, and the paper's value below it",
        results,
        [*DATA, cell],
        [*_reasons(results), *_sources(results)],
        rows=rows,
        heads=[Column("", lambda row: row, "Value", is_text=True)],
        across=across,
        keys=lambda result: (result.row, result.column),
        wide=len(across) > 6,
    )


def _format_ours(result: Result) -> Cell:
    text = _text(result.ours, result.decimals)
    return Cell(f"{text}\u00a0≠" if result.verdict == "differs" else text, KINDS[result.verdict])


def _pair(result: Result | None) -> Cell:
    if result is None:
        return Cell("", "missing")
    ours = _format_ours(result)
    return Cell(ours.text, ours.kind, f"paper {_text(result.published, result.decimals)}")


def _difference(result: Result) -> str:
    return number(result.difference, result.decimals) if result.difference is not None else "–"


def _text(value: Value, decimals: int) -> str:
    return value if isinstance(value, str) else number(value, decimals)


def _reasons(results: Sequence[Result]) -> list[str]:
    """List each reason once, with the values that have it."""
    by_reason: dict[str, list[str]] = {}
    for result in results:
        if result.reason:
            name = ", ".join(filter(None, (result.row, result.column)))
            by_reason.setdefault(result.reason, []).append(name)
    return [
        f"{'; '.join(names) if len(names) <= 3 else f'{len(names)} values'}: {reason}"
        for reason, names in by_reason.items()
    ]


def _source(result: Result) -> str:
    return f"from {SOURCES[result.basis]}" if result.ours is not None and result.basis != "release" else ""


def _sources(results: Sequence[Result]) -> list[str]:
    """List the rows that were not computed from the release alone."""
    rows_by_basis: dict[Basis, list[str]] = {}
    for result in results:
        if result.ours is not None and result.basis != "release":
            rows_by_basis.setdefault(result.basis, []).append(result.row)
    return [
        f"Computed from {SOURCES[basis]}: {', '.join(dict.fromkeys(rows))}."
        for basis, rows in rows_by_basis.items()
    ]

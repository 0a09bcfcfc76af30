"""The page of a reproduction: the paper's tables and ours side by side."""

import re
from collections.abc import Iterable, Mapping, Sequence

from ..report.page import Block, Page, Points, Section, Text
from ..report.tables import Cell, Column, Table, build_field_columns, format_number, tabulate_inputs
from .claims import VERDICTS, Basis, Result, Verdict, count_verdicts
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
            _build_summary_section(results, findings),
            *(
                Section(
                    make_slug(location),
                    location,
                    [*_build_blocks(location, results), *figures.get(location, ())],
                )
                for location in sorted(locations, key=_build_sort_key)
            ),
            Section("inputs", "To reproduce this", [tabulate_inputs(hashes)]),
        ],
    )


def summarise_verdicts(results: Iterable[Result]) -> str:
    """Count the verdicts in one sentence."""
    counts = count_verdicts(results)
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{sum(counts.values())} values: {parts}."


def make_slug(location: str) -> str:
    """Return the name of a place in files and addresses."""
    return re.sub(r"[^a-z0-9]+", "_", location.lower()).strip("_")


def _build_sort_key(location: str) -> tuple[int, str]:
    """Put sections first, then tables, figures and appendices, by number.

    Places of one number stay in the order of their claims.
    """
    kinds = ("section", "table", "figure", "appendix")
    kind, number = re.findall(r"[\w.]+", location.lower())[:2]
    return (kinds.index(kind), number.zfill(4)) if kind in kinds else (len(kinds), "")


def _build_summary_section(results: Sequence[Result], findings: Sequence[str]) -> Section:
    by_location = {
        location: count_verdicts([result for result in results if result.place == location])
        for location in sorted(dict.fromkeys(result.place for result in results), key=_build_sort_key)
    }
    columns = [
        Column("place", lambda row: row[0], "Place in the paper", is_text=True),
        *(
            Column(make_slug(verdict), lambda row, verdict=verdict: row[1][verdict], verdict.capitalize())  # type: ignore[misc]
            for verdict in VERDICTS
        ),
    ]
    meanings = [f"{verdict.capitalize()}: {MEANINGS[verdict]}." for verdict in VERDICTS]
    table = Table.from_columns(
        "summary", "Values by place in the paper", list(by_location.items()), columns, meanings
    )
    return Section("summary", "In short", [Text(summarise_verdicts(results)), Points(findings), table])


def _build_blocks(location: str, results: Sequence[Result]) -> list[Block]:
    """Show a place as a table of its own rows and columns, or as a list."""
    own = [result for result in results if result.place == location]
    listed = [result for result in own if not result.column]
    crossed = [result for result in own if result.column]
    blocks: list[Block] = [_tabulate_values(location, listed)] if listed else []
    return [*blocks, _tabulate_cells(location, crossed)] if crossed else blocks


DATA = build_field_columns(
    "place", "row", "column", "published", "ours", "difference", "verdict", "basis", "reason"
)


def _tabulate_values(location: str, results: Sequence[Result]) -> Table:
    columns = [
        *DATA,
        Column("", "row", "Value", is_text=True),
        Column("", "", "Paper", lambda result: _format_value(result.published, result.decimals)),
        Column("", "", "Ours", _format_ours),
        Column("", "", "Difference", _format_difference),
        Column(
            "",
            "",
            "Result",
            lambda result: Cell(result.verdict, detail=_describe_source(result)),
            is_text=True,
        ),
    ]
    notes = _list_reasons(results)
    return Table.from_columns(make_slug(location), f"{location}: the paper and ours", results, columns, notes)


def _tabulate_cells(location: str, results: Sequence[Result]) -> Table:
    rows = list(dict.fromkeys(result.row for result in results))
    across = {result.column: result.column for result in results}
    cell = Column("", "", "", _format_pair_cell)
    return Table.from_records(
        f"{make_slug(location)}_cells",
        f"{location}: ours, and the paper's value below it",
        results,
        [*DATA, cell],
        [*_list_reasons(results), *_list_other_sources(results)],
        rows=rows,
        heads=[Column("", lambda row: row, "Value", is_text=True)],
        across=across,
        keys=lambda result: (result.row, result.column),
        wide=len(across) > 6,
    )


def _format_ours(result: Result) -> Cell:
    text = _format_value(result.ours, result.decimals)
    return Cell(f"{text}\u00a0≠" if result.verdict == "differs" else text, KINDS[result.verdict])


def _format_pair_cell(result: Result | None) -> Cell:
    if result is None:
        return Cell("", "missing")
    ours = _format_ours(result)
    return Cell(ours.text, ours.kind, f"paper {_format_value(result.published, result.decimals)}")


def _format_difference(result: Result) -> str:
    return format_number(result.difference, result.decimals) if result.difference is not None else "–"


def _format_value(value: Value, decimals: int) -> str:
    return value if isinstance(value, str) else format_number(value, decimals)


def _list_reasons(results: Sequence[Result]) -> list[str]:
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


def _describe_source(result: Result) -> str:
    return f"from {SOURCES[result.basis]}" if result.ours is not None and result.basis != "release" else ""


def _list_other_sources(results: Sequence[Result]) -> list[str]:
    """List the rows that were not computed from the release alone."""
    rows_by_basis: dict[Basis, list[str]] = {}
    for result in results:
        if result.ours is not None and result.basis != "release":
            rows_by_basis.setdefault(result.basis, []).append(result.row)
    return [
        f"Computed from {SOURCES[basis]}: {', '.join(dict.fromkeys(rows))}."
        for basis, rows in rows_by_basis.items()
    ]

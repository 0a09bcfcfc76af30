"""Tables of the report: one object gives page, CSV and LaTeX."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..io.spreadsheet import format_csv
from .codebook import CsvFile
from .latex import format_latex_table

MANY = 12  # columns from which headings are set upright


@dataclass(frozen=True)
class Cell:
    """A cell: its text, a kind that sets its look, and a smaller second line."""

    text: str
    kind: str = ""
    detail: str = ""

    @property
    def plain(self) -> str:
        """Return text and detail on one line."""
        return f"{self.text} {self.detail}".strip()


@dataclass(frozen=True)
class Column:
    """A column of a table, for the page and for the CSV file.

    Attributes:
        keys: Name in the CSV, or several names for a pair such as an interval, separated by spaces or, if
            they may hold spaces, in a tuple; empty for the page only.
        value: Attribute of a row such as "bca.estimate", or a function of a row; without it the key.
        heading: Heading on the page; empty for a column of the CSV only.
        cell: The cell of a row on the page; without it the value as text.
        is_text: The column holds words rather than numbers.
    """

    keys: str | tuple[str, ...]
    value: str | Callable[[Any], object] = ""
    heading: str = ""
    cell: Callable[[Any], Cell | str] | None = None
    is_text: bool = False

    @property
    def names(self) -> Sequence[str]:
        """Names in the CSV."""
        return self.keys.split() if isinstance(self.keys, str) else self.keys

    def get(self, row: object) -> object:
        """Return the value of a row in full precision, None if it is missing."""
        if callable(self.value):
            return self.value(row)
        for name in (self.value or self.names[0]).split("."):
            row = getattr(row, name) if row is not None else None
        return row

    def get_all(self, row: object) -> list[object]:
        """Return a value for each key."""
        value, count = self.get(row), len(self.names)
        return [value] if count == 1 else [*value] if isinstance(value, tuple) else [None] * count

    def show(self, row: object) -> Cell:
        """Return the cell of a row on the page."""
        shown = self.cell(row) if self.cell else str(self.get(row))
        return shown if isinstance(shown, Cell) else Cell(shown)


def build_field_columns(*names: str, of: str = "") -> list[Column]:
    """Return columns of the CSV named as attributes of a row, or of its part."""
    return [Column(name, f"{of}.{name}" if of else name) for name in names]


def build_csv_rows(columns: Sequence[Column], rows: Iterable[object]) -> tuple[list[str], list[list[object]]]:
    """Return header and rows of the CSV."""
    kept = [column for column in columns if column.keys]
    header = [name for column in kept for name in column.names]
    return header, [
        [value for column in kept for value in column.get_all(row)] for row in rows
    ] if kept else []


@dataclass(frozen=True)
class Table:
    """A table for people, with the same facts for programs.

    Attributes:
        name: File name without suffix.
        header: Headings; the first column names the rows.
        data_header, data: Columns and rows of the CSV in full precision, None for a missing value; if empty,
            the CSV holds what the page shows.
        wide: Set small.
        words: Positions of columns of text.
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    data_header: Sequence[str] = ()
    data: Sequence[Sequence[object]] = field(default_factory=list)
    wide: bool = False
    words: Sequence[int] = ()

    @classmethod
    def from_columns(
        cls,
        name: str,
        caption: str,
        rows: Sequence[object],
        columns: Sequence[Column],
        notes: Sequence[str] = (),
        *,
        shown: Sequence[object] | None = None,
        wide: bool = False,
    ) -> "Table":
        """Build a table; the page leaves out rows that are not `shown`."""
        headed = [column for column in columns if column.heading]
        header = [column.heading for column in headed]
        cells = [[column.show(row) for column in headed] for row in (rows if shown is None else shown)]
        words = [position for position, column in enumerate(headed) if column.is_text]
        return cls(
            name, caption, header, cells, notes, *build_csv_rows(columns, rows), wide=wide, words=words
        )

    @classmethod
    def from_records(
        cls,
        name: str,
        caption: str,
        records: Sequence[object],
        columns: Sequence[Column],
        notes: Sequence[str] = (),
        *,
        rows: Sequence[Hashable],
        heads: Sequence[Column],
        across: Mapping[Any, str],
        keys: Callable[[Any], tuple[Hashable, Hashable]],
        wide: bool = False,
    ) -> "Table":
        """Build a table of records: rows of the CSV and cells of the page.

        Args:
            name: File name without suffix.
            caption: Caption of the table.
            records: One per row of the CSV.
            columns: Columns of the CSV; the only one with a `cell` shows a record, or None, on the page.
            notes: Sentences below the table.
            rows: Rows of the page.
            heads: First columns of the page, of values of a row.
            across: Key of each further column to its heading.
            keys: Row and column key of a record; the page leaves out those that it does not have.
            wide: Set small.
        """
        (shown,) = (column for column in columns if column.cell)
        records_by_keys = {keys(record): record for record in records}

        def build_column(key: Hashable) -> Column:
            return Column(
                "", heading=across[key], cell=lambda row: shown.show(records_by_keys.get((row, key)))
            )

        table = cls.from_columns(name, caption, rows, [*heads, *map(build_column, across)], notes, wide=wide)
        header, data = build_csv_rows(columns, records)
        return replace(table, data_header=header, data=data)

    @property
    def csv_file(self) -> CsvFile:
        """The data, or what the page shows without data."""
        if self.data_header:
            return CsvFile(self.name, self.caption, self.data_header, self.data)
        rows = [[cell.plain for cell in row] for row in self.rows]
        return CsvFile(self.name, self.caption, self.header, rows)

    def csv(self) -> str:
        """Return the table as CSV."""
        return format_csv(self.csv_file.header, self.csv_file.rows)

    def latex(self) -> str:
        """Return what the page shows as a LaTeX table (package booktabs)."""
        rows = [[(cell.text, cell.detail) for cell in row] for row in self.rows]
        return format_latex_table(self.name, self.caption, self.header, rows, self.notes)

    @property
    def css_classes(self) -> str:
        """Classes of the table on the page."""
        return " ".join(
            name for name, is_so in (("wide", self.wide), ("many", len(self.header) > MANY)) if is_so
        )


def tabulate_values(name: str, caption: str, headings: tuple[str, str], values: Mapping[str, str]) -> Table:
    """Build a table of names and their values as text."""
    columns = [
        Column(headings[0].lower(), lambda pair: pair[0], headings[0]),
        Column(headings[1].lower().replace("-", ""), lambda pair: pair[1], headings[1], is_text=True),
    ]
    return Table.from_columns(name, caption, list(values.items()), columns)


def tabulate_inputs(hashes: Mapping[str, str]) -> Table:
    """List the input files with their SHA-256."""
    return tabulate_values("inputs", "Input files", ("File", "SHA-256"), hashes)


def format_number(value: float | None, decimals: int = 2) -> str:
    """Format a number with a true minus sign; an en dash for None."""
    if value is None:
        return "–"
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def capitalise_sentence(text: str) -> str:
    """Begin a text with a capital letter; the rest stays."""
    return text[:1].upper() + text[1:]


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun: "1 trial", "2 trials"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def format_interval(bounds: tuple[float, float] | None, decimals: int = 2, factor: float = 1) -> str:
    """Format an interval times a factor, in brackets; "" for None."""
    return f"[{', '.join(format_number(bound * factor, decimals) for bound in bounds)}]" if bounds else ""


def format_value_cell(
    value: float | None,
    bounds: tuple[float, float] | None = None,
    factor: float = 1,
    decimals: int = 2,
    *,
    missing: str = "–",
    reason: str = "",
) -> Cell:
    """Format a value times a factor, with its interval; or why it is missing."""
    if value is None:
        return Cell(missing, "missing", reason)
    return Cell(format_number(value * factor, decimals), detail=format_interval(bounds, decimals, factor))


def format_p(p: float | None) -> str:
    """Format a p value, never as 0; an en dash if there is none."""
    if p is None:
        return "–"
    return "<\u00a00.001" if p < 0.001 else f"{p:.3f}"

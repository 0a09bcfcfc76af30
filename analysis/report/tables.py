"""Tables of the report: one object gives the page, the CSV file and the LaTeX file."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "−": "$-$",
        "×": r"$\times$",
        "′": "$'$",
        "≥": r"$\ge$",
    }
)


@dataclass(frozen=True)
class Cell:
    """What a cell says. `kind` names its look on the page; `detail` is a second, smaller line."""

    text: str
    kind: str = ""
    detail: str = ""

    @property
    def plain(self) -> str:
        return f"{self.text} {self.detail}".strip()


@dataclass(frozen=True)
class Table:
    """A table for people and the same facts for programs.

    name: file name without suffix. header: column names; the first column names the rows.
    data_header, data: the CSV's columns and rows with full precision, None for a missing value; when empty
    the CSV holds what the page shows. wide: set small. words: columns of text, by position.
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

    def csv(self) -> str:
        """CSV text of the data, or of what the page shows where there is none."""
        if self.data:
            return csv_text(self.data_header, self.data)
        return csv_text(self.header, [[cell.plain for cell in row] for row in self.rows])

    def latex(self) -> str:
        """A LaTeX table (package booktabs) of what the page shows."""
        rows = [" & ".join(latex_text(cell.plain) for cell in row) + r" \\" for row in self.rows]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{latex_text(self.caption)}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
                r"\toprule",
                " & ".join(map(latex_text, self.header)) + r" \\",
                r"\midrule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def csv_text(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """CSV text, missing values (None) empty, truth values `true` and `false`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_csv_value(value) for value in row] for row in rows)
    return text.getvalue()


def latex_text(text: str) -> str:
    """The text with LaTeX's special characters escaped."""
    return text.translate(_LATEX)


def number(value: float | None, decimals: int = 2) -> str:
    """The number for people, with a true minus sign; an en dash where there is none."""
    if value is None:
        return "–"
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def interval(bounds: tuple[float, float] | None, decimals: int = 2) -> str:
    """The interval in brackets, "" where there is none."""
    return f"[{number(bounds[0], decimals)}, {number(bounds[1], decimals)}]" if bounds else ""


def _csv_value(value: object) -> object:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else value

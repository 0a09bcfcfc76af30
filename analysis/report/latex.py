"""LaTeX of tables, for a default document with the package booktabs."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

PREAMBLE = r"% Needs \usepackage{booktabs}, and nothing else."
LONG = 26  # characters from which a cell of text is broken into lines
LINE = 82  # characters of a line of the text, in footnotesize
GAP = 2  # characters between columns

LatexCell = tuple[str, ...]  # lines

_CHARACTERS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    '"': "''", "[": "{[}", "*": "{*}", "\u00a0": "~", "\u202f": r"\,",
    "\u200b": r"\hspace{0pt}", "−": "$-$", "×": r"$\times$",
    "±": r"$\pm$", "′": "$'$",
    "≥": r"$\ge$", "≤": r"$\le$", "≈": r"$\approx$", "→": r"$\to$", "↓": r"$\downarrow$", "↑": r"$\uparrow$",
    "✓": r"$\surd$", "✗": r"$\times$", "·": r"$\cdot$", "²": "$^2$", "³": "$^3$", "°": r"$^\circ$",
    "“": "``", "”": "''", "«": "``", "»": "''", "‘": "`", "’": "'", "–": "--", "—": "---",
    "„": ",,", "…": r"\ldots{}", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}",
    "ł": r"\l{}", "Ł": r"\L{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ı": r"\i{}", "€": "EUR", "\n": " ", "\t": " ",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c",
}  # fmt: skip
_GREEK = frozenset("αβγδεζηθικμνξπρστυφχψω")


def escape_latex(text: str) -> str:
    r"""Write text in ASCII so that pdfLaTeX sets it without further packages.

    A character that LaTeX's default fonts lack becomes its code point, such as [U+4E2D].

    Examples:
        >>> escape_latex("5 % of “Élan” < 0.1")
        "5 \\% of ``\\'{E}lan'' $<$ 0.1"
    """
    return "".join(map(_escape_character, text))


@cache
def _escape_character(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character.isascii():
        return character if character.isprintable() else " "
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    if character in _GREEK:
        return rf"$\{unicodedata.name(character).split()[-1].lower()}$"
    return f"{{[}}U+{ord(character):04X}]"


@dataclass(frozen=True)
class _Piece:
    """Columns of a table that fit the width of the text together."""

    columns: Sequence[int]

    def lines(self, header: Sequence[str], rows: Sequence[Sequence[LatexCell]]) -> list[str]:
        """Write the piece as a tabular."""
        kinds = {column: _choose_alignment(rows, column) for column in self.columns}
        return [
            rf"\begin{{tabular}}{{{''.join(kinds.values())}}}",
            r"\toprule",
            " & ".join(_stack_lines(_split_heading(header[column]), "b") for column in self.columns) + r" \\",
            r"\midrule",
            *(
                " & ".join(_format_cell(row[column], kinds[column]) for column in self.columns) + r" \\"
                for row in rows
            ),
            r"\bottomrule",
            r"\end{tabular}",
        ]


def format_latex_table(
    name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[LatexCell]], notes: Sequence[str]
) -> str:
    """Write a floating table with its caption and the label ``tab:name``.

    A table that is wider than the text is written as several below each other, all with the first column.

    Args:
        name: Name of the table's files.
        caption: Caption as text.
        header: Headings; the first column names the rows.
        rows: Cells as lines of text.
        notes: Sentences below the table.
    """
    pieces = [piece.lines(header, rows) for piece in _split_columns(header, rows)]
    below = [rf"\par\medskip\parbox{{\linewidth}}{{\footnotesize {escape_latex(' '.join(notes))}}}"]
    return "\n".join(
        [
            PREAMBLE,
            r"\begin{table}[tbp]",
            r"\centering",
            r"\footnotesize",
            r"\setlength{\tabcolsep}{4pt}",
            rf"\caption{{{escape_latex(caption)}}}",
            rf"\label{{tab:{name.replace('_', '-')}}}",
            *(
                line
                for index, piece in enumerate(pieces)
                for line in ([r"\par\medskip"] * (index > 0) + piece)
            ),
            *(below if notes else []),
            r"\end{table}",
            "",
        ]
    )


def _split_columns(header: Sequence[str], rows: Sequence[Sequence[LatexCell]]) -> list[_Piece]:
    """Fill the width of the text with columns, from the left."""
    widths = [_estimate_width(header[column], rows, column) for column in range(len(header))]
    pieces: list[list[int]] = [[0]]
    for column in range(1, len(header)):
        if len(pieces[-1]) > 1 and sum(widths[own] for own in pieces[-1]) + widths[column] > LINE:
            pieces.append([0])
        pieces[-1].append(column)
    return [_Piece(piece) for piece in pieces]


def _estimate_width(heading: str, rows: Sequence[Sequence[LatexCell]], column: int) -> float:
    """Estimate the width of a column in characters."""
    lines = [*_split_heading(heading), *(line for row in rows for line in row[column])]
    return min(max(map(len, lines), default=0), _choose_width_share(rows, column) * LINE) + GAP


def _choose_alignment(rows: Sequence[Sequence[LatexCell]], column: int) -> str:
    """Align words to the left and figures to the right; break long text."""
    lines = [line for row in rows for line in row[column]]
    if all(not line or line[0] in "0123456789−+–<>=[✓✗" for line in lines):
        return "r"
    long = max(map(len, lines)) > LONG
    return rf"p{{{_choose_width_share(rows, column):.2f}\linewidth}}" if long else "l"


def _choose_width_share(rows: Sequence[Sequence[LatexCell]], column: int) -> float:
    """Return the share of the text's width that a column of long text takes."""
    return 0.28 if rows and len(rows[0]) > 2 else 0.6 if column else 0.35


def _split_heading(heading: str) -> LatexCell:
    return tuple(heading.split(" "))


def _stack_lines(lines: LatexCell, position: str) -> str:
    """Set lines below each other."""
    text = r" \\ ".join(escape_latex(line) for line in lines if line)
    if r" \\ " not in text:
        return text
    return rf"\begin{{tabular}}[{position}]{{@{{}}l@{{}}}}{text}\end{{tabular}}"


def _format_cell(lines: LatexCell, alignment: str) -> str:
    """Set a cell; its lines break further in a column of long text."""
    if not alignment.startswith("p"):
        return _stack_lines(lines, "t")
    words = (re.sub(r"\S{24}(?=\S)", "\\g<0>\u200b", line) for line in lines if line)
    return r"\newline ".join(escape_latex(line) for line in words)

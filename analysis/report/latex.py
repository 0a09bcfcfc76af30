"""LaTeX of tables, for a default document with the package booktabs."""

import unicodedata
from collections.abc import Sequence
from functools import cache

PREAMBLE = r"% Needs \usepackage{booktabs}, and nothing else."
LONG = 30  # characters from which a cell of text is broken into lines

_CHARACTERS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    '"': "''", "[": "{[}", "*": "{*}", "\u00a0": "~", "\u202f": r"\,", "−": "$-$", "×": r"$\times$",
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


def latex_text(text: str) -> str:
    r"""Write text in ASCII so that pdfLaTeX sets it without further packages.

    A character that LaTeX's default fonts lack becomes its code point, such as [U+4E2D].

    Examples:
        >>> latex_text("5 % of “Élan” < 0.1")
        "5 \\% of ``\\'{E}lan'' $<$ 0.1"
    """
    return "".join(map(_character, text))


@cache
def _character(one: str) -> str:
    if one in _CHARACTERS:
        return _CHARACTERS[one]
    if one.isascii():
        return one if one.isprintable() else " "
    parts = unicodedata.normalize("NFD", one)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    if one in _GREEK:
        return rf"$\{unicodedata.name(one).split()[-1].lower()}$"
    return f"{{[}}U+{ord(one):04X}]"


def latex_table(
    name: str, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
) -> str:
    """Write a floating table with its caption and the label ``tab:name``.

    Args:
        name: Name of the table's files.
        caption: Caption as text.
        header: Headings; the first column names the rows.
        rows: Cells as text.
        notes: Sentences below the table.
    """
    size = r"\small" if len(header) <= 6 else r"\footnotesize" if len(header) <= 9 else r"\tiny"
    below = [r"\par\medskip", rf"\parbox{{\linewidth}}{{\footnotesize {latex_text(' '.join(notes))}}}"]
    return "\n".join(
        [
            PREAMBLE,
            r"\begin{table}[tbp]",
            r"\centering",
            size,
            *([r"\setlength{\tabcolsep}{3pt}"] if len(header) > 6 else []),
            rf"\caption{{{latex_text(caption)}}}",
            rf"\label{{tab:{name.replace('_', '-')}}}",
            rf"\begin{{tabular}}{{{''.join(_alignments(header, rows))}}}",
            r"\toprule",
            " & ".join(_heading(text, len(header)) for text in header) + r" \\",
            r"\midrule",
            *(" & ".join(map(latex_text, row)) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(below if notes else []),
            r"\end{table}",
            "",
        ]
    )


def _heading(text: str, columns: int) -> str:
    """Break the heading of one of many columns at its spaces."""
    if columns <= 4 or " " not in text:
        return latex_text(text)
    lines = r" \\ ".join(latex_text(part) for part in text.split(" "))
    return rf"\begin{{tabular}}[b]{{@{{}}l@{{}}}}{lines}\end{{tabular}}"


def _alignments(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align words to the left and figures to the right; break long text."""
    longest = [max((len(row[column]) for row in rows), default=0) for column in range(len(header))]
    breaking = [
        column for column, length in enumerate(longest) if length > LONG and not _figures(rows, column)
    ]
    width = 0.75 / max(len(breaking), 1) if len(header) <= 4 else 0.4 / max(len(breaking), 1)
    return [
        rf"p{{{width:.2f}\linewidth}}"
        if column in breaking
        else "l" if column == 0 or not _figures(rows, column) else "r"
        for column in range(len(header))
    ]  # fmt: skip


def _figures(rows: Sequence[Sequence[str]], column: int) -> bool:
    return all(not row[column] or row[column][0] in "0123456789−+–<>=[" for row in rows)

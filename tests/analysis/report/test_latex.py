"""LaTeX tables compile in a default document, whatever their texts."""

import re
import shutil
import subprocess

import pytest

from analysis.participants.bundle import load_bundle
from analysis.report.build import build_report
from analysis.report.latex import escape_latex
from analysis.report.page import Table
from analysis.report.tables import Column
from analysis.study.analysis import Options, analyse
from tests.analysis.bundles import released_study

MOST_OVERFULL = 40  # points; a text of one long word cannot be broken
STRANGE = r"""5 % of $x_1 & #2 {a} \b ~ ^ <0.1 > | "q" [0.1, −2] *é Ü ø ł ß ŵ 中 α ≥ ✓ “x” … → ²"""


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("5 % & $1_a", r"5 \% \& \$1\_a"),
        ("[0.1, −2]", "{[}0.1, $-$2]"),
        ("Élan, Łódź", r"\'{E}lan, \L{}\'{o}d\'{z}"),
        ("α < β", r"$\alpha$ $<$ $\beta$"),
        ("中", "{[}U+4E2D]"),
    ],
)
def test_text_is_ascii_that_latex_sets(text, latex):
    assert escape_latex(text) == latex
    assert escape_latex(STRANGE).isascii()


def test_a_table_has_caption_and_label():
    table = Table.from_columns("two_words", "A caption", [1.5], [Column("value", lambda row: row, "Value")])
    latex = table.latex()
    assert r"\caption{A caption}" in latex
    assert r"\label{tab:two-words}" in latex
    assert latex.startswith("% Needs \\usepackage{booktabs}")


def test_all_tables_compile_in_a_default_document(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not on this machine (Debian: texlive-latex-base, texlive-latex-recommended)")
    bundle = load_bundle(released_study(tmp_path / "bundle"))
    page = build_report(analyse(bundle, Options(resamples=20)))
    strange = [Column("text", str, STRANGE), Column("more", str, "More")]
    tables = [block for block in page.blocks if isinstance(block, Table)]
    tables.append(Table.from_columns("strange", STRANGE, [STRANGE, "*"], strange, [STRANGE]))
    for table in tables:
        (tmp_path / f"{table.name}.tex").write_text(table.latex(), "utf-8")
    names = "\n".join(rf"\input{{{table.name}}}\clearpage" for table in tables)
    references = " ".join(rf"\ref{{tab:{table.name.replace('_', '-')}}}" for table in tables)
    head = r"\documentclass{article}\usepackage{booktabs}\begin{document}"
    document = rf"{head}{references}{names}\end{{document}}"
    (tmp_path / "paper.tex").write_text(document, "utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper"]
    for _ in range(2):  # the second run knows the labels
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
        )
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout
    overfull = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
    assert max(overfull, default=0) < MOST_OVERFULL, done.stdout

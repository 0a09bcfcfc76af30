"""CSV for spreadsheet programs: no text is run as a formula."""

import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.io.spreadsheet import escape_formula, format_csv, unescape_formula
from analysis.io.tabular_files import Column as TextColumn
from analysis.io.tabular_files import read_table
from foundation.pages.spreadsheet import write_csv
from scripts.sites.processes import ROOT
from studyapp.exports.columns import Column
from studyapp.exports.loader import load
from studyapp.exports.writers import write_table

# Each takes the apostrophes of `escape_formula`: tables for people, bundles, reports, faithful-nmn's files.
WRITERS = {
    "foundation/pages/spreadsheet.py",
    "studyapp/exports/writers.py",
    "analysis/io/spreadsheet.py",
    "annotation/formats/faithful_nmn/writer.py",
}
PACKAGES = (
    "accounts",
    "analysis",
    "annotation",
    "config",
    "foundation",
    "jobs",
    "modelserver",
    "predictions",
)
FORMULA = '=HYPERLINK("http://example.org";"x")'


@pytest.mark.parametrize("text", ["=1+1", "+49 30", "-cmd", "@SUM(A1)", "\tx", "\r=1", "\n=1", "＝1", "'=1"])
def test_texts_that_look_like_formulas_get_an_apostrophe(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize(
    "value", ["Kolwen", "a=b", "", " =1", "-0.5", "+3", "don't", -0.5, -3, 0, True, None]
)
def test_all_else_stays(value):
    assert escape_formula(value) == value


@given(st.text(alphabet="'=+-@\t\n1.e a＝"))
def test_every_text_comes_back(text):
    assert unescape_formula(escape_formula(text)) == text


def test_a_file_of_header_and_rows():
    file = io.StringIO()
    assert write_csv(file, ["=name", "value"], [("=1", -1), ("a,b", None)]) == 2
    assert file.getvalue() == "'=name,value\n'=1,-1\n\"a,b\",\n"


def test_nothing_else_writes_csv():
    files = [path for name in (*PACKAGES, "studyapp", "touchstone") for path in (ROOT / name).rglob("*.py")]
    writes = re.compile(r"csv\.(writer|DictWriter)\(|\.to_csv\(")
    names = {str(path.relative_to(ROOT)) for path in files if writes.search(path.read_text())}
    assert names == WRITERS
    assert all("escape_formula" in (ROOT / name).read_text() for name in names)


def test_a_participants_formula_is_a_text_in_a_bundle(tmp_path: Path):
    columns = [
        Column("remark", "string", "What they wrote."),  # words: allow - test data
        Column("score", "number", "Points."),
    ]
    rows = [{"remark": FORMULA, "score": -1.5}, {"remark": f"'{FORMULA}", "score": None}]
    path = tmp_path / "trials.csv"
    write_table(path, columns, rows, public=False)
    assert path.read_text().splitlines()[1].startswith("\"'=HYPERLINK")
    read = read_table(path, [TextColumn("remark", "text"), TextColumn("score", "number")]).frame
    assert list(read["remark"]) == [FORMULA, f"'{FORMULA}"]
    assert read["score"][0] == -1.5
    described = [{"name": "remark", "type": "string"}, {"name": "score", "type": "number"}]
    person = {"participant_id": "p", "mode": "live", "excluded_by": None}
    of_person = [Column(name, "string", name) for name in person]
    write_table(tmp_path / "participants.csv", of_person, [person], public=False)
    tables = {"trials": described, "participants": [{"name": name, "type": "string"} for name in person]}
    codebook = {"tables": {name: {"columns": columns} for name, columns in tables.items()}}
    (tmp_path / "codebook.json").write_text(json.dumps(codebook))
    assert list(load(tmp_path, mode="all", exclusions="kept")["trials"]["remark"]) == [FORMULA, f"'{FORMULA}"]


def test_a_name_in_a_report_is_no_formula():
    assert format_csv(["system"], [[FORMULA]]).startswith("system\n\"'=HYPERLINK")

"""CSV for spreadsheet programs: no text is run as a formula."""

import io

import pytest

from foundation.spreadsheet import plain_cell, write_csv


@pytest.mark.parametrize("text", ["=1+1", "+49 30", "-cmd", "@SUM(A1)", "\tx", "\r=1"])
def test_texts_that_look_like_formulas_get_an_apostrophe(text):
    assert plain_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["Kolwen", "a=b", "", " =1", "'=1", -0.5, -3, 0, True, None])
def test_all_else_stays(value):
    assert plain_cell(value) == value


def test_a_file_of_header_and_rows():
    file = io.StringIO()
    assert write_csv(file, ["=name", "value"], [("=1", -1), ("a,b", None)]) == 2
    assert file.getvalue() == "'=name,value\n'=1,-1\n\"a,b\",\n"

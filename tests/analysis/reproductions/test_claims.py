"""The engine of reproductions: verdicts, differences, tables and JSON."""

import pytest

from analysis.report.page import Points, Text, render
from analysis.reproductions.claims import Claim, as_json, build_cell_claims, check, count_verdicts
from analysis.reproductions.published import Grid, Paper, load_paper
from analysis.reproductions.reproduction_page import build_page, make_slug, summarise_verdicts

GRID = Grid(place="Table 1", columns=("a", "b"), rows={"x": (0.71, 0.5), "y": (None, "3 × +")})
PAPER = Paper(title="T", citation="C", release="R", licence="L")


def claim(published, ours, **more):
    return Claim("Section 2", "value", published, None if ours is None else lambda data: ours, **more)


@pytest.mark.parametrize(
    ("published", "ours", "decimals", "verdict"),
    [
        (0.71, 0.714, 2, "same"),
        (0.71, 0.7151, 2, "differs"),
        (12.1, 12.10, 1, "same"),
        (12.1, 4.3, 1, "differs"),
        (40, 40, 0, "same"),
        ("yes", "yes", 0, "same"),
        ("3 × +", "2 × +", 0, "differs"),
        (0.71, None, 2, "not reproducible"),
        (None, 0.71, 2, "not in the paper"),
    ],
)
def test_verdicts_are_in_the_digits_of_the_paper(published, ours, decimals, verdict):
    (result,) = check([claim(published, ours, decimals=decimals)], None)
    assert result.verdict == verdict


def test_numbers_that_the_paper_rounded_have_a_tolerance_of_their_own():
    (result,) = check([claim(0.71, 0.718, tolerance=0.01)], None)
    assert result.verdict == "same"
    assert result.difference == pytest.approx(0.008)


def test_a_reason_belongs_to_values_that_differ_or_are_missing():
    same, other, missing = check(
        [
            claim(1, 1, reason="never shown"),
            claim(1, 2, reason=lambda data: f"because of {data}"),
            claim(1, None, reason="not released"),
        ],
        "this",
    )
    assert (same.reason, other.reason, missing.reason) == ("", "because of this", "not released")
    assert (missing.difference, other.difference) == (None, 1)


def test_each_filled_cell_of_a_table_is_a_claim():
    declared: list[Claim[None]] = build_cell_claims(
        GRID, lambda row, column: None, labels={"a": "first"}, reason=lambda row, column: column
    )
    assert [(cell.row, cell.column, cell.published, cell.reason) for cell in declared] == [
        ("x", "first", 0.71, "a"),
        ("x", "b", 0.5, "b"),
        ("y", "b", "3 × +", "b"),
    ]


def test_the_page_has_both_values_side_by_side():
    results = check(
        [*build_cell_claims(GRID, lambda row, column: lambda data: 0.7), claim(1, None, reason="why")], None
    )
    page = build_page(PAPER, results, ["A finding."], {"Figure 1": [Points(["drawn"])]}, {"file": "0" * 64})
    assert [section.title for section in page.sections] == [
        "In short", "Section 2", "Table 1", "Figure 1", "To reproduce this",
    ]  # fmt: skip
    html = render(page)
    assert "paper 0.71" in html
    assert "0.70\u00a0≠" in html
    files = dict(page.files())
    assert "Table 1,x,a,0.71,0.7," in files["tables/table_1_cells.csv"].decode()
    assert "why" in files["tables/section_2.csv"].decode()
    assert not any(
        isinstance(block, Text) and not block.text for section in page.sections for block in section.blocks
    )


def test_json_has_every_result_and_their_counts():
    results = check([claim(1, 1), claim(1, None), claim(None, 3)], None)
    assert as_json(results)["counts"] == {
        "same": 1, "differs": 0, "not reproducible": 1, "not in the paper": 1,
    }  # fmt: skip
    assert len(as_json(results)["results"]) == 3
    assert summarise_verdicts(results) == "3 values: 1 same, 1 not reproducible, 1 not in the paper."
    assert sum(count_verdicts(results).values()) == 3
    assert make_slug("Appendix H, proposed scores") == "appendix_h_proposed_scores"


@pytest.mark.parametrize("name", ["schuff2020", "subramanian2020", "suhr2019"])
def test_published_tables_are_rectangular(name):
    for key, grid in load_paper(name).grids.items():
        assert {len(values) for values in grid.rows.values()} == {len(grid.columns)}, key

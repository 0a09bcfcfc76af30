"""Tables: the CSV and the page from one list of columns."""

from typing import NamedTuple

from analysis.report.tables import Cell, Column, Table


class Record(NamedTuple):
    who: str
    day: int
    value: float | None
    bounds: tuple[float, float] | None = None


RECORDS = [Record("a", 1, 0.25, (0.1, 0.4)), Record("a", 2, None), Record("b", 2, 0.5), Record("b", 3, 0.75)]


def crossed():
    columns = [
        *(Column("who"), Column("day")),
        Column("value", cell=lambda record: f"{record.value}" if record else Cell("–", "missing")),
        Column("low high", "bounds"),
    ]
    return Table.from_records(
        "crossed", "A table", RECORDS, columns,
        rows=["a", "b"], heads=[Column("", str.upper, "Name")], across={1: "Monday", 2: "Tuesday"},
        keys=lambda record: (record.who, record.day),
    )  # fmt: skip


def test_records_are_rows_of_the_csv_and_cells_of_the_page():
    table = crossed()
    assert table.csv() == "who,day,value,low,high\na,1,0.25,0.1,0.4\na,2,,,\nb,2,0.5,,\nb,3,0.75,,\n"
    assert table.header == ["Name", "Monday", "Tuesday"]
    assert [[cell.text for cell in row] for row in table.rows] == [["A", "0.25", "None"], ["B", "–", "0.5"]]


def test_without_names_the_csv_holds_what_the_page_shows():
    columns = [Column("", "who", "Name"), Column("", lambda row: row.day + 1, "Next day")]
    table = Table.from_columns("plain", "A table", RECORDS[:2], columns)
    assert table.csv() == "Name,Next day\na,2\na,3\n"


def test_a_name_in_a_tuple_may_hold_spaces():
    table = Table.from_columns("names", "A table", RECORDS[:1], [Column(("the first name",), "who", "Who")])
    assert table.csv() == "the first name\na\n"

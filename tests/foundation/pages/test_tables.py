"""Tables: the order of an address, its heads, and rows without a value."""

from types import SimpleNamespace

import pytest
from django.db.models import F
from django.http import QueryDict

from foundation.pages.tables import Column, Table

TABLE = Table(
    (
        Column("name", "Name", lambda row: row.name),
        Column("size", "Size", lambda row: row.size, is_number=True),
        Column("note", "Note"),
    ),
    "name",
)
ROWS = [SimpleNamespace(name=name, size=size) for name, size in (("b", None), ("c", 3), ("a", 1))]


def names(query: str) -> str:
    return "".join(row.name for row in TABLE.of(QueryDict(query)).rows(ROWS))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "abc"),
        ("sort=-name", "cba"),
        ("sort=size", "acb"),
        ("sort=-size", "cab"),  # without a value: last in both directions
        ("sort=note", "abc"),
        ("sort=password", "abc"),
        ("sort=--name", "abc"),
    ],
)
def test_rows_come_in_the_order_of_the_address(query, expected):
    assert names(query) == expected


def test_heads_turn_the_order_and_keep_filters():
    name, size, note = TABLE.of(QueryDict("q=a%26b&page=3&sort=name")).heads
    assert (name.direction, name.address) == ("ascending", "?q=a%26b&sort=-name")
    assert (size.direction, size.address) == ("", "?q=a%26b&sort=-size")  # the largest first
    assert (note.direction, note.address) == ("", "")


@pytest.mark.parametrize("page", ["0", "-1", "x", "9" * 5000, "²", ""])
def test_a_page_that_is_no_number_is_the_first(page):
    assert TABLE.of(QueryDict(f"page={page}")).number == 1


def test_orders_of_the_database_end_with_the_key():
    table = Table((Column("at", "At", ("at",)), Column("left", "Left", (F("end"),))), "-at")
    assert table.of(QueryDict()).order() == ["-at", "-pk"]
    left, key = table.of(QueryDict("sort=-left")).order()
    assert (left.descending, left.nulls_last, key) == (True, True, "-pk")


def test_a_form_of_filters_keeps_another_order_only():
    assert TABLE.of(QueryDict("sort=name")).asked == {}
    assert TABLE.of(QueryDict("sort=-size")).asked == {"sort": "-size"}
    assert TABLE.of(QueryDict("sort=note")).asked == {}


def test_a_table_without_a_column_cannot_sort_by_it():
    assert not TABLE.of(QueryDict("sort=-size"), without=("size",)).asked

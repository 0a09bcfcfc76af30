"""Tables of pages: columns declared once, heads that sort by links.

A page declares its `Table`, gives it the query of the address, and shows the heads with the tag
``{% table_head table %}``. The order is a parameter of the address (``sort=name`` or ``sort=-name``), so it
works without scripts, and stays with filters and downloads.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from django.db.models import Expression, F, Model, QuerySet
from django.http import QueryDict
from django.utils.functional import Promise

from foundation.pages.whole_numbers import parse_whole_number

T = TypeVar("T")
M = TypeVar("M", bound=Model)
PAGING = ("page", "after", "before")  # in an address; another order makes them meaningless
_PAGE_DIGITS = 9  # of the number of a page


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: The value of the order in the address.
        label: The text of its head.
        key: The fields of the database, or a function of a row, by which it sorts; None if it does not.
        is_number: Figures stand at the right, and the largest comes first.
        is_silent: The head is only read aloud, as over buttons.
    """

    name: str
    label: str | Promise
    key: Sequence[str | Expression | F] | Callable[[Any], Any] | None = None
    is_number: bool = False
    is_silent: bool = False


@dataclass(frozen=True)
class Head:
    """The head of a column on a page: the address that sorts, and the order."""

    column: Column
    address: str
    direction: str


@dataclass(frozen=True)
class Page(Generic[M]):
    """Rows of a long list, and the addresses of its neighbours, "" at an end."""

    rows: list[M]
    previous: str
    next: str


@dataclass(frozen=True)
class Table:
    """The columns of a table, and its order if the address names none.

    Attributes:
        columns: The columns from left to right.
        default: The order, such as ``-created``.
        parameter: Its name in the address; two tables of a page have two.
    """

    columns: tuple[Column, ...]
    default: str = ""
    parameter: str = "sort"

    def of(self, query: QueryDict, *, without: Collection[str] = ()) -> "SortedTable":
        """Return the table in the order of a query, without some columns."""
        return SortedTable(self, query, without)

    def drop_sort_links(self) -> "Table":
        """Return the table without links that sort.

        For a page that answers a form sent to another address.
        """
        return replace(self, columns=tuple(replace(column, key=None) for column in self.columns))


class SortedTable:
    """A table in the order that the query of a page asks for."""

    def __init__(self, table: Table, query: QueryDict, without: Collection[str]) -> None:
        self._query = query.copy()
        for name in PAGING:
            self._query.pop(name, None)
        self._parameter = table.parameter
        self._columns = [column for column in table.columns if column.name not in without]
        sortable = {column.name: column for column in self._columns if column.key is not None}
        asked = query.get(table.parameter, "")
        order = asked if asked.removeprefix("-") in sortable else table.default
        self._column = sortable.get(order.removeprefix("-"))
        self._descends = order.startswith("-")
        self.is_default = order == table.default
        self.number = max(1, parse_whole_number(query.get("page", ""), _PAGE_DIGITS) or 1)

    @property
    def asked(self) -> dict[str, str]:
        """The parameters of another order than the default, for a form of filters."""
        return {} if self.is_default else {self._parameter: str(self._query[self._parameter])}

    @property
    def query(self) -> str:
        """The query of the page without its place in the list."""
        return self._query.urlencode()

    @property
    def can_sort(self) -> bool:
        """True if a column sorts."""
        return any(column.key is not None for column in self._columns)

    @property
    def heads(self) -> list[Head]:
        """The heads of the columns."""
        return [self._head(column) for column in self._columns]

    def _head(self, column: Column) -> Head:
        if column.key is None:
            return Head(column, "", "")
        is_current = column is self._column
        descends = not self._descends if is_current else column.is_number
        direction = "descending" if self._descends else "ascending"
        order = f"-{column.name}" if descends else column.name
        return Head(column, self.address(**{self._parameter: order}), direction if is_current else "")

    def address(self, **parameters: Any) -> str:
        """Return the address of the page with other parameters."""
        query = self._query.copy()
        for name, value in parameters.items():
            query[name] = str(value)
        return f"?{query.urlencode()}"

    def rows(self, rows: Iterable[T]) -> list[T]:
        """Return rows in order; those without a value come last."""
        key = self._column.key if self._column is not None else None
        if not callable(key):
            return list(rows)
        valued = [(key(row), row) for row in rows]
        with_value = [pair for pair in valued if pair[0] is not None]
        with_value.sort(key=lambda pair: pair[0], reverse=self._descends)
        return [row for _value, row in with_value] + [row for value, row in valued if value is None]

    def page(
        self, rows: QuerySet[M], size: int, *, key: str = "pk", after: int | None, before: int | None
    ) -> Page[M]:
        """Return the rows after a key, or the last ones before one.

        A page begins at a key, so the last one costs as much as the first. In an order of their own the rows
        come by the number of the page, from 1.
        """
        if not self.is_default:
            start = (self.number - 1) * size
            # First the keys alone: PostgreSQL would compute annotations of every row before the page.
            keys = list(rows.order_by(*self.order()).values_list("pk", flat=True)[start : start + size + 1])
            shown = list(rows.filter(pk__in=keys[:size]).order_by(*self.order()))
            return Page(
                shown,
                self.address(page=self.number - 1) if self.number > 1 else "",
                self.address(page=self.number + 1) if len(keys) > size else "",
            )
        if before is not None:
            some = list(rows.filter(**{f"{key}__lt": before}).order_by(f"-{key}")[: size + 1])
            shown, is_first, is_last = some[:size][::-1], len(some) <= size, False
        else:
            some = list(rows.filter(**{f"{key}__gt": after or 0}).order_by(key)[: size + 1])
            shown, is_first, is_last = some[:size], not after, len(some) <= size
        return Page(
            shown,
            self.address(before=getattr(shown[0], key)) if shown and not is_first else "",
            self.address(after=getattr(shown[-1], key)) if shown and not is_last else "",
        )

    def order(self) -> list[Any]:
        """Return the fields for ``order_by``; equal rows come in order of keys."""
        key = self._column.key if self._column is not None else None
        fields = [] if key is None or callable(key) else list(key)
        return [self._order_field(field) for field in [*fields, "pk"]]

    def _order_field(self, field: str | Expression | F) -> Any:
        if isinstance(field, str):
            return f"-{field}" if self._descends else field
        return field.desc(nulls_last=True) if self._descends else field.asc(nulls_last=True)

"""Queries whose SQL is built once, for very frequent requests.

Django builds the SQL of a queryset each time, which takes several times as long as SQLite needs to run
it (docs/adr/0010-prepared-queries.md). Here the values that differ from run to run are slots::

    NAMED = Prepared(lambda: User.objects.filter(username=slot("name", User, "username")))
    user = NAMED.first(name="ada")

The SQL is still Django's own, and so are the objects it returns. A query is built on its first run, once for
each connection. With ``select_for_update`` every run, the first included, needs a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.models.expressions import Expression
from django.db.models.query import get_related_populators
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row", bound=models.Model)


class Slot(Expression):
    """A placeholder for a value given when the query runs; see `slot`."""

    def __init__(self, name: str, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, Any]:
        """Return a placeholder, with the slot itself among the parameters."""
        return "%s", [self]  # replaced by the value when the query runs


def make_slot(name: str, model: type[models.Model], field: str = "id") -> Slot:
    """Return a slot for a value of a model's field, which is never None."""
    column = model._meta.get_field(field)
    assert isinstance(column, models.Field)
    return Slot(name, column.target_field if isinstance(column, models.ForeignKey) else column)


# The types of values that these fields, and not their subclasses, give to the driver as they are.
_AS_THEY_ARE: dict[type[Any], frozenset[type[Any]]] = {
    int: frozenset(
        {
            *(models.SmallIntegerField, models.IntegerField, models.BigIntegerField, models.BigAutoField),
            *(models.PositiveSmallIntegerField, models.PositiveIntegerField),
        }
    ),
    str: frozenset({models.CharField, models.SlugField, models.TextField}),
    bool: frozenset({models.BooleanField}),
}


def _convert_for_driver(field: Any, value: Any, here: Any) -> Any:
    """Return a value as the driver takes it."""
    if type(field) in _AS_THEY_ARE.get(type(value), ()):
        return value
    return field.get_db_prep_save(value, here)


class _Statement(NamedTuple):
    """SQL with parameters and slots; ``read`` turns rows into objects."""

    sql: str
    params: Sequence[Any]
    read: Callable[[Iterable[Any]], Iterator[Any]] = iter


class _Kept:
    """A statement built on first use and cached with its connection.

    Each thread and each database has its own, which lives as long as the connection.
    """

    def __init__(self, build: Callable[[], _Statement]) -> None:
        self._build = build

    def bound(self, here: Any, values: dict[str, Any]) -> tuple[_Statement, list[Any]]:
        """Return the statement on a connection and its parameters.

        An empty slot is a KeyError.
        """
        kept = here.__dict__.setdefault("prepared", {})
        statement = kept.get(self) or kept.setdefault(self, self._build())
        return statement, [
            _convert_for_driver(param.output_field, values[param.name], here)
            if isinstance(param, Slot)
            else param
            for param in statement.params
        ]


class Prepared(Generic[Row]):
    """A query for objects; ``only``, ``select_related``, ``annotate`` work."""

    def __init__(self, build: Callable[[], models.QuerySet[Row]]) -> None:
        self._kept = _Kept(lambda: _select(build()))

    def all(self, **values: Any) -> list[Row]:
        """Return the rows for these values, with at most one query."""
        statement, rows = self._run(values)
        return list(statement.read(rows)) if statement else []

    def first(self, **values: Any) -> Row | None:
        """Return the first row or None; slice a query that matches many."""
        return next(iter(self.all(**values)), None)

    def exists(self, **values: Any) -> bool:
        """Return whether there is a row; the same query, without an object."""
        return bool(self._run(values)[1])

    def _run(self, values: dict[str, Any]) -> tuple[_Statement | None, Sequence[Any]]:
        if _is_out_of_range(values):
            return None, ()
        here = _get_connection()
        statement, params = self._kept.bound(here, values)
        cursor = here.prepared_cursor()
        cursor.execute(statement.sql, params)
        return statement, cursor.fetchall()


class PreparedUpdate:
    """A conditional update; ``build`` returns the rows and the new values."""

    def __init__(self, build: Callable[[], tuple[models.QuerySet[Any], dict[str, Any]]]) -> None:
        self._kept = _Kept(lambda: _update(*build()))

    def __call__(self, **values: Any) -> int:
        """Update the rows and return their number."""
        if _is_out_of_range(values):
            return 0
        here = _get_connection()
        statement, params = self._kept.bound(here, values)
        cursor = here.prepared_cursor()
        cursor.execute(statement.sql, params)
        return int(cursor.rowcount)


def _get_connection() -> Any:
    """Return the connection itself: its proxy looks it up again at every use."""
    return connections[DEFAULT_DB_ALIAS]


def _is_out_of_range(values: dict[str, Any]) -> bool:
    """Return whether a number fits no column."""
    # Django's own queries match nothing then.
    return any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values.values())


def insert(*rows: models.Model) -> None:
    """Insert new rows of one model as ``save()`` would, and set their ids.

    One statement inserts as many rows as the database takes at once. Call it in a transaction if there may be
    more rows than that.
    """
    sql, row_sql, returning, fields = _build_insertion(type(rows[0]))
    here = _get_connection()
    size = here.ops.bulk_batch_size(fields, rows) if len(rows) > 1 else 1
    # A statement of many rows is not worth keeping, and may have more values than go apart from its text.
    cursor = here.prepared_cursor() if len(rows) == 1 else here.cursor()
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        values = [
            _convert_for_driver(field, field.pre_save(row, True), here) for row in part for field in fields
        ]
        cursor.execute(f"{sql} {', '.join([row_sql] * len(part))} {returning}", values)
        # Ids come in the order of the rows, as Django's own bulk_create expects them to.
        for row, (pk,) in zip(part, cursor.fetchall(), strict=True):
            row.pk, row._state.adding, row._state.db = pk, False, here.alias


def _select(queryset: models.QuerySet[Any]) -> _Statement:
    compiler = queryset.query.get_compiler(connection=connection)
    sql, params = compiler.as_sql()
    return _Statement(sql, params, _build_reader(compiler))


def _build_reader(compiler: SQLCompiler) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function from rows to objects, like Django's ``ModelIterable``.

    Everything that is the same for each run is computed beforehand.
    """
    select, info = compiler.select, compiler.klass_info
    assert select is not None
    assert info is not None
    model, own = info["model"], info["select_fields"]
    names = {column[0].target.attname for column in select[own[0] : own[-1] + 1]}
    populators = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]  # Django 5
    converters = compiler.get_converters([column[0] for column in select])
    annotations = list((compiler.annotation_col_map or {}).items())

    def read(rows: Iterable[Any]) -> Iterator[Any]:
        for row in compiler.apply_converters(rows, converters) if converters else rows:
            instance = model.from_db(connection.alias, names, row[own[0] : own[-1] + 1])
            for populator in populators:
                populator.populate(row, instance)
            for name, position in annotations:
                setattr(instance, name, row[position])
            yield instance

    return read


def _update(queryset: models.QuerySet[Any], values: dict[str, Any]) -> _Statement:
    query: Any = queryset.query.chain(UpdateQuery)
    query.add_update_values(values)
    return _Statement(*query.get_compiler(connection=connection).as_sql())


@cache
def _build_insertion(model: type[models.Model]) -> tuple[str, str, str, list[models.Field[Any, Any]]]:
    """Return the SQL before, of and after a row, and the columns."""
    quote = connection.ops.quote_name
    fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]
    names = ", ".join(quote(field.column or "") for field in fields)
    # Table and columns are the model's own names, quoted; the values are parameters.
    into = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES"
    returning, _params = connection.ops.return_insert_columns([model._meta.pk])  # type: ignore[attr-defined]
    return into, f"({', '.join(['%s'] * len(fields))})", returning, fields

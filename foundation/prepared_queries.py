"""Queries whose SQL is built once and run often: for requests that come many times a second.

Django builds the SQL of a queryset anew each time, which takes several times as long as SQLite needs to run
it (docs/adr/0010-prepared-queries.md). Here the values that differ from run to run are slots::

    NAMED = Prepared(lambda: User.objects.filter(username=slot("name", User, "username")))
    user = NAMED.first(name="ada")

The SQL is still Django's own, and so are the objects that come of it. A query is built on its first run, once
for each connection; ``select_for_update`` wants that run, as every run, inside a transaction.
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
    """The place of a value that is given when the query runs. Make one with `slot`."""

    def __init__(self, name: str, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, Any]:
        return "%s", [self]  # it stands among the parameters until the value comes


def slot(name: str, model: type[models.Model], field: str = "id") -> Slot:
    """A slot for a value of a model's field, which is never None."""
    found = model._meta.get_field(field)
    assert isinstance(found, models.Field)
    return Slot(name, found.target_field if isinstance(found, models.ForeignKey) else found)


class _Statement(NamedTuple):
    """SQL, its parameters with slots among them, and how rows become objects (of a SELECT)."""

    sql: str
    params: Sequence[Any]
    read: Callable[[Iterable[Any]], Iterator[Any]] = iter


class _Kept:
    """A statement that is built when it is first wanted, and kept with the connection it was built for: each
    thread and each database has its own, and it goes with it."""

    def __init__(self, build: Callable[[], _Statement]) -> None:
        self._build = build

    def bound(self, values: dict[str, Any]) -> tuple[_Statement, list[Any]]:
        """The statement, and its parameters. Raises KeyError for a slot that has no value."""
        kept = connections[DEFAULT_DB_ALIAS].__dict__.setdefault("prepared", {})
        statement = kept.get(self) or kept.setdefault(self, self._build())
        return statement, [
            one.output_field.get_db_prep_value(values[one.name], connection) if isinstance(one, Slot) else one
            for one in statement.params
        ]


class Prepared(Generic[Row]):
    """A query for whole objects, or parts of them: ``only``, ``select_related``, ``annotate`` work."""

    def __init__(self, build: Callable[[], models.QuerySet[Row]]) -> None:
        self._kept = _Kept(lambda: _select(build()))

    def all(self, **values: Any) -> list[Row]:
        """The rows that there are for these values. One query, or none for a number that no column holds."""
        if _beyond(values):
            return []
        statement, params = self._kept.bound(values)
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, params)
            rows = cursor.fetchall()
        return list(statement.read(rows))

    def first(self, **values: Any) -> Row | None:
        """The first of them, or None. A query that can find many should be built with ``[:1]``."""
        return next(iter(self.all(**values)), None)


class PreparedUpdate:
    """A conditional update. ``build`` gives the rows, and the columns with their new values."""

    def __init__(self, build: Callable[[], tuple[models.QuerySet[Any], dict[str, Any]]]) -> None:
        self._kept = _Kept(lambda: _update(*build()))

    def __call__(self, **values: Any) -> int:
        """Update, and return how many rows it were."""
        if _beyond(values):
            return 0
        statement, params = self._kept.bound(values)
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, params)
            return int(cursor.rowcount)


def _beyond(values: dict[str, Any]) -> bool:
    """Whether a value is a number that no column holds: a query of Django's own finds nothing then."""
    return any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values.values())


def insert(*rows: models.Model) -> None:
    """Insert new rows of one model as ``save()`` would, and give them their ids.

    One statement for as many rows as the database takes at once. Belongs into a transaction if that may be
    fewer than there are.
    """
    sql, place, fields = _insertion(type(rows[0]))
    returning, _params = connection.ops.return_insert_columns([rows[0]._meta.pk])  # type: ignore[attr-defined]
    size = connection.ops.bulk_batch_size(fields, rows)
    with connection.cursor() as cursor:
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            values = [
                field.get_db_prep_save(field.pre_save(row, True), connection)
                for row in part
                for field in fields
            ]
            cursor.execute(f"{sql} {', '.join([place] * len(part))} {returning}", values)
            # Ids come in the order of the rows, as Django's own bulk_create expects them to.
            for row, (pk,) in zip(part, cursor.fetchall(), strict=True):
                row.pk, row._state.adding, row._state.db = pk, False, connection.alias


def _select(queryset: models.QuerySet[Any]) -> _Statement:
    compiler = queryset.query.get_compiler(connection=connection)
    sql, params = compiler.as_sql()
    return _Statement(sql, params, _reader(compiler))


def _reader(compiler: SQLCompiler) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Rows to objects, as Django's own ``ModelIterable`` does it, with all that is the same for every run
    found out beforehand."""
    select, info = compiler.select, compiler.klass_info
    assert select is not None
    assert info is not None
    model, own = info["model"], info["select_fields"]
    names = [column[0].target.attname for column in select[own[0] : own[-1] + 1]]
    populators = get_related_populators(info, select, connection.alias)  # type: ignore[call-arg]  # Django 5
    converters = compiler.get_converters([column[0] for column in select])
    annotations = list((compiler.annotation_col_map or {}).items())

    def read(rows: Iterable[Any]) -> Iterator[Any]:
        for row in compiler.apply_converters(rows, converters) if converters else rows:
            found = model.from_db(connection.alias, names, row[own[0] : own[-1] + 1])
            for populator in populators:
                populator.populate(row, found)
            for name, place in annotations:
                setattr(found, name, row[place])
            yield found

    return read


def _update(queryset: models.QuerySet[Any], values: dict[str, Any]) -> _Statement:
    query: Any = queryset.query.chain(UpdateQuery)
    query.add_update_values(values)
    return _Statement(*query.get_compiler(connection=connection).as_sql())


@cache
def _insertion(model: type[models.Model]) -> tuple[str, str, list[models.Field[Any, Any]]]:
    """The SQL of an insertion up to the first row, the SQL of a row, and its columns in order."""
    quote = connection.ops.quote_name
    fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]
    names = ", ".join(quote(field.column or "") for field in fields)
    # Table and columns are the model's own names, quoted; the values are parameters.
    into = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES"
    return into, f"({', '.join(['%s'] * len(fields))})", fields

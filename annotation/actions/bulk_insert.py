"""Rows by the ten thousands: inserted as the driver takes them, past the objects of the ORM.

An import makes up to five rows an item. Making, preparing and compiling an object for each takes several
times as long as the database needs to store it (benchmarks/annotation_import.py). Constraints hold as ever.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, models

from annotation.errors import Conflict

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON texts write it


def insert(model: type[models.Model], names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows of all columns of a model but its id, in the order of ``names``.

    JSON columns take text (`as_json`), times what `as_time` gives, foreign keys ids. Called inside a
    transaction. Raises ValueError where ``names`` are not the model's columns: none has a default here.
    """
    columns = {field.attname: field.column or "" for field in model._meta.local_concrete_fields[1:]}
    if sorted(names) != sorted(columns):
        raise ValueError(f"the columns of {model.__name__} are {', '.join(columns)}")
    quote = connection.ops.quote_name
    into = f"{quote(model._meta.db_table)} ({', '.join(quote(columns[name]) for name in names)})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            # Table and columns are the model's own names, quoted; the values are parameters.
            places = ", ".join(["%s"] * len(names))
            cursor.executemany(f"INSERT INTO {into} VALUES ({places})", list(rows))  # noqa: S608


def as_json(value: object, where: str = "a value") -> str:
    """A value of a JSON column as text. Raises Conflict, which says where, for a number that is none."""
    try:
        return _encode(value)
    except ValueError as error:
        raise Conflict(f"{where}: holds NaN or an infinite number, which cannot be stored") from error


def as_time(moment: datetime | None) -> Any:
    """A time as the driver takes it."""
    return connection.ops.adapt_datetimefield_value(moment)


def check_storable(name: str, texts: Sequence[str], json_texts: Sequence[str]) -> None:
    """Whether both databases can store these texts. Raises Conflict, which names the item."""
    together = "".join(json_texts)
    if any("\0" in text for text in texts) or ("\\u0000" in together and _NUL.search(together)):
        raise Conflict(f"{name}: holds the character NUL, which cannot be stored")
    try:
        together.encode()
    except UnicodeEncodeError as error:
        raise Conflict(f"{name}: holds half of a surrogate pair, which is no character") from error

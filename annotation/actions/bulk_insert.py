"""Insert tens of thousands of rows through the driver, past the ORM.

An import makes up to five rows an item. Making, preparing and compiling an object for each takes several
times as long as the database needs to store it (benchmarks/annotation/importing.py). Constraints still apply.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, models

from annotation.errors import conflict_at
from foundation.messages import value_error

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it


def insert(model: type[models.Model], names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows of all columns of a model but its ID.

    Call it in a transaction.

    Args:
        model: The model.
        names: Its columns; none has a default here.
        rows: Values in the order of ``names``: text (`as_json`) for JSON columns, `as_time` for times, IDs
            for foreign keys.

    Raises:
        ValueError: ``names`` are not the model's columns.
    """
    columns = {field.attname: field.column or "" for field in model._meta.local_concrete_fields[1:]}
    if sorted(names) != sorted(columns):
        raise value_error(
            "the columns of %(name)s are %(names)s", name=model.__name__, names=", ".join(columns)
        )
    quote = connection.ops.quote_name
    into = f"{quote(model._meta.db_table)} ({', '.join(quote(columns[name]) for name in names)})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            # Table and columns are the model's own names, quoted; the values are parameters.
            placeholders = ", ".join(["%s"] * len(names))
            cursor.executemany(f"INSERT INTO {into} VALUES ({placeholders})", list(rows))  # noqa: S608


def as_json(value: object, where: str = "a value") -> str:
    """Encode the value of a JSON column.

    Raises:
        Conflict: It holds NaN or an infinite number.
    """
    try:
        return _encode(value)
    except ValueError as error:
        raise conflict_at(where, "holds NaN or an infinite number, which cannot be stored") from error


def as_time(moment: datetime | None) -> Any:
    """Return a time as the driver takes it."""
    return connection.ops.adapt_datetimefield_value(moment)


def check_storable(name: str, texts: Sequence[str], json_texts: Sequence[str]) -> None:
    """Check that both databases can store these texts.

    Raises:
        Conflict: Names the item.
    """
    together = "".join(json_texts)
    if any("\0" in text for text in texts) or ("\\u0000" in together and _NUL.search(together)):
        raise conflict_at(name, "holds the character NUL, which cannot be stored")
    try:
        "".join((*texts, together)).encode()
    except UnicodeEncodeError as error:
        raise conflict_at(name, "holds half of a surrogate pair, which is not a character") from error

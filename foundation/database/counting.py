"""Counts of rows in the query of another table."""

from typing import Any

from django.db.models import Count, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce


def build_count_column(rows: QuerySet[Any]) -> Coalesce:
    """Return the number of rows, which refer to the outer query, as a column.

    A join would read every row of both tables where an index counts these. No column is counted, because
    PostgreSQL would have to read the rows for it.
    """
    counted = rows.order_by().annotate(everything=Value(1)).values("everything").annotate(n=Count("*"))
    return Coalesce(Subquery(counted.values("n")), 0)

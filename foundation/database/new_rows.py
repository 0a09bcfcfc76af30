"""Store a new row whose name another request may store at the same moment."""

from django.db import IntegrityError, models, transaction


def store_new(row: models.Model) -> None:
    """Validate a new row and store it, within a transaction.

    Two requests can find the same name free. The database then refuses the second, and the check, which now
    sees the row of the first, says which field is wrong.

    Raises:
        ValidationError: Names the field that is wrong.
    """
    row.full_clean()
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        row.full_clean()
        raise

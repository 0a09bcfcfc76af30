"""An index for the search of questions, where the database has one.

PostgreSQL finds parts of words by their trigrams. SQLite reads the texts of a dataset one after the other.
"""

from django.db import DatabaseError, migrations, transaction

# The expression is that of Django's `icontains`, so that the planner recognises it.
COLUMNS = ("text", "answer")


def create(apps, schema_editor):
    """Create the indexes; without the extension, the search works and is slower."""
    if schema_editor.connection.vendor != "postgresql":
        return
    try:
        with transaction.atomic(schema_editor.connection.alias):
            schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            for column in COLUMNS:
                schema_editor.execute(
                    f"CREATE INDEX question_{column}_trigrams ON predictions_question "
                    f'USING gin (UPPER("{column}"::text) gin_trgm_ops)'
                )
    except DatabaseError:  # the user of the database may create no extension, or the server has none
        return


def drop(apps, schema_editor):
    """Drop the indexes; the extension stays, others may use it."""
    if schema_editor.connection.vendor == "postgresql":
        for column in COLUMNS:
            schema_editor.execute(f"DROP INDEX IF EXISTS question_{column}_trigrams")


class Migration(migrations.Migration):
    dependencies = [("predictions", "0004_data_pages")]

    operations = [migrations.RunPython(create, drop)]

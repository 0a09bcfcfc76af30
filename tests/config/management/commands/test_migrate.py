"""A migration and its record are one."""

import pytest
from django.core.management.commands import migrate
from django.db import connection, migrations, models
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from config.management.commands.migrate import WholeMigrations

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


class Ended(Exception):
    """The process would be gone here."""


def test_a_migration_that_ends_before_its_record_begins_anew(monkeypatch: pytest.MonkeyPatch):
    migration = migrations.Migration("0001_initial", "toys")
    migration.operations = [
        migrations.CreateModel("Toy", [("id", models.AutoField(primary_key=True))]),
        migrations.CreateModel("Part", [("toy", models.ForeignKey("toys.Toy", models.CASCADE))]),
    ]
    executor = WholeMigrations(connection)

    def killed(*_: object) -> None:
        raise Ended

    with monkeypatch.context() as patched:
        patched.setattr(MigrationRecorder, "record_applied", killed)
        with pytest.raises(Ended):
            executor.apply_migration(ProjectState(), migration)
    assert "toys_toy" not in connection.introspection.table_names()
    executor.apply_migration(ProjectState(), migration)
    assert ("toys", "0001_initial") in executor.recorder.applied_migrations()
    executor.unapply_migration(ProjectState(), migration)
    assert "toys_toy" not in connection.introspection.table_names()
    with connection.cursor() as cursor:
        assert connection.vendor != "sqlite" or cursor.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_the_command_uses_it():
    assert migrate.MigrationExecutor is WholeMigrations  # type: ignore[attr-defined]

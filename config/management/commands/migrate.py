"""Apply migrations, each in one transaction with its record."""

from contextlib import nullcontext
from typing import Any

from django.core.management.commands import migrate
from django.db import transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState


class WholeMigrations(MigrationExecutor):
    """Record a migration in its own transaction.

    Django commits the tables first. Killed before the record, the next start would make them again and fail.
    """

    def apply_migration(
        self, state: ProjectState, migration: Migration, *args: Any, **options: Any
    ) -> ProjectState:
        with (
            self.connection.constraint_checks_disabled(),  # SQLite cannot do it within a transaction
            transaction.atomic(self.connection.alias) if migration.atomic else nullcontext(),
        ):
            return super().apply_migration(state, migration, *args, **options)


# The command has no other way to name one.
migrate.MigrationExecutor = WholeMigrations  # type: ignore[attr-defined]


class Command(migrate.Command):
    help = "Apply migrations, each in one transaction with its record."

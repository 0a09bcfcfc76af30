"""Update the database and the static files in one process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections

LOCK = 0x70756368  # any number that nothing else locks


class Command(BaseCommand):
    help = "Apply migrations and collect static files, before a new version starts."

    def handle(self, *args: Any, **options: Any) -> None:
        # For this user alone: it holds secrets and people's data.
        Path(settings.VAR_DIR).mkdir(mode=0o700, parents=True, exist_ok=True)
        database = "direct" if "direct" in connections else "default"
        with hold_migration_lock(database):
            call_command("migrate", database=database, verbosity=0, interactive=False, skip_checks=False)
        call_command("collectstatic", verbosity=0, interactive=False)


@contextmanager
def hold_migration_lock(database: str) -> Iterator[None]:
    """Wait for other machines that migrate the same PostgreSQL database.

    Two that apply a migration at once would both begin, and one of them would fail.
    """
    if connections[database].vendor != "postgresql":
        yield
        return
    # A connection of its own, because some migrations end transactions of theirs.
    holder = connections[database].copy()
    try:
        with holder.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        yield
    finally:
        holder.close()  # which releases the lock

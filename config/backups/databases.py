"""Consistent copies of the database, and their restore in one transaction.

SQLite is copied by its backup API and PostgreSQL by pg_dump, both from one snapshot while people work.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.backups.manifest import Engine
from foundation.errors import RunFailed

FILES: dict[Engine, str] = {"sqlite": "database.sqlite3", "postgresql": "database.pgdump"}
OUR_APPS = ("accounts", "jobs", "predictions", "studyapp", "annotation")
MADE_BY_MIGRATIONS = ("accounts.Workspace",)
_CLEAR = "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"


def detect_engine() -> Engine:
    """Return the kind of the site's database."""
    return "postgresql" if connection.vendor == "postgresql" else "sqlite"


def list_applied_migrations() -> list[str]:
    """Return the migrations that the database has, as ``app.name``."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def list_shipped_migrations() -> set[str]:
    """Return the migrations that this version has, as ``app.name``."""
    loader = MigrationLoader(None)
    names = {
        *loader.disk_migrations,
        *(key for migration in loader.disk_migrations.values() for key in migration.replaces),
    }
    return {f"{app}.{name}" for app, name in names}


def is_empty() -> bool:
    """Return True if nobody has worked on the site yet."""
    tables = set(connection.introspection.table_names())
    models = [model for app in OUR_APPS for model in apps.get_app_config(app).get_models()]
    return not any(
        model._default_manager.exists()
        for model in models
        if model._meta.db_table in tables and model._meta.label not in MADE_BY_MIGRATIONS
    )


def dump(target: Path) -> None:
    """Copy the database into a file. Raises RunFailed."""
    if detect_engine() == "postgresql":
        _run("pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file", str(target))
        return
    with (
        closing(sqlite3.connect(_read_sqlite_path(), timeout=60)) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(copy)


def load(source: Path) -> None:
    """Replace the database by a copy, whole or not at all.

    Raises:
        RunFailed: The copy is damaged, or the database is in use.
    """
    connection.close()
    if detect_engine() == "postgresql":
        _load_postgres(source)
        return
    try:
        with (
            closing(sqlite3.connect(source)) as copy,
            closing(sqlite3.connect(_read_sqlite_path(), timeout=20)) as target,
        ):
            (state,) = copy.execute("PRAGMA quick_check").fetchone()
            if state != "ok":
                raise RunFailed(f"The copy of the database is damaged: {state}.")
            copy.backup(target)
    except sqlite3.Error as error:
        raise RunFailed(f"The database was not restored: {error}. Stop the site first.") from error


def _load_postgres(source: Path) -> None:
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        script = Path(folder) / "restore.sql"
        _run("pg_restore", "--no-owner", "--no-privileges", "--file", str(script), str(source))
        _run(
            "psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set", "ON_ERROR_STOP=1",
            "--output", os.devnull, "--command", _CLEAR, "--file", str(script),
        )  # fmt: skip


def _read_sqlite_path() -> str:
    return str(settings.DATABASES["default"]["NAME"])


def _run(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL; the password is in no list of processes."""
    # Not by way of a pooler, where the settings of these programs would outlive them.
    given = connections["direct" if "direct" in connections else "default"].get_connection_params()
    names = {"dbname": "DATABASE", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    names |= {"sslmode": "SSLMODE", "sslrootcert": "SSLROOTCERT"}
    env = {f"PG{names[name]}": str(value) for name, value in given.items() if name in names and value}
    # A site that still runs would hold the restore up for ever.
    env |= {"PGOPTIONS": "-c lock_timeout=20000 -c client_min_messages=warning"}
    try:
        done = subprocess.run(
            [program, *arguments], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        message = f"{program} is not installed: install PostgreSQL's client programs, as new as the server."
        raise RunFailed(message) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise RunFailed(f"{program} failed: {lines[0]}")

"""The databases, by the addresses in the environment."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.environment.variables import env, read_address, read_choice, read_secret


def _read_database(name: str, url: str, *, var_dir: Path, is_pooler: bool = False) -> dict[str, Any]:
    """Return the database; SQLite needs IMMEDIATE transactions.

    With deferred ones most concurrent writes fail (docs/adr/0003).

    Raises:
        ImproperlyConfigured: The setting of this name is not the address of SQLite or PostgreSQL.
    """
    schemes = ("sqlite", "postgres", "postgresql", "psql", "pgsql")
    example = "postgres://USER:PASSWORD@HOST:5432/NAME or sqlite:////FOLDER/touchstone.sqlite3"
    config = read_address(name, url, schemes, env.db_url_config, example)
    config["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=60)
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["ENGINE"] = "foundation.database.sqlite"
        # With NORMAL, answers that were acknowledged just before a power cut may be gone.
        synchronous = read_choice("SQLITE_SYNCHRONOUS", ("FULL", "NORMAL"), default="FULL")
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; "
            "PRAGMA foreign_keys=ON;",
        }
        # Tests run on a file too: an in-memory database has other locks, and threads cannot share it.
        config["TEST"] = {"NAME": str(var_dir / "test.sqlite3")}
    else:
        config["ENGINE"] = "foundation.database.postgresql"
        config["CONN_HEALTH_CHECKS"] = True
        options = config.setdefault("OPTIONS", {})
        # Without it, a request to a machine that is away waits for minutes.
        options.setdefault("connect_timeout", 5)
        config["DISABLE_SERVER_SIDE_CURSORS"] = is_pooler
        if not is_pooler:
            options["prepare_threshold"] = 0
    return config


def read_databases(var_dir: Path) -> dict[str, dict[str, Any]]:
    """Return the database, and with a pooler also the way around it.

    A pooler of transactions gives each transaction another connection. Cursors on the server and prepared
    statements, which outlive transactions, therefore do not work; and `pg_dump` would leave its own settings
    behind, so backups and migrations connect directly.

    Raises:
        ImproperlyConfigured: There is a pooler and no PostgreSQL behind it.
    """
    url = read_secret("DATABASE_URL", f"sqlite:///{var_dir / 'touchstone.sqlite3'}")
    direct = _read_database("DATABASE_URL", url, var_dir=var_dir)
    pooler = read_secret("DATABASE_POOL_URL")
    if not pooler:
        return {"default": direct}
    pooled = _read_database("DATABASE_POOL_URL", pooler, var_dir=var_dir, is_pooler=True)
    if not pooled["ENGINE"] == direct["ENGINE"] == "foundation.database.postgresql":
        raise ImproperlyConfigured(
            "DATABASE_POOL_URL is the address of PgBouncer; set DATABASE_URL to the PostgreSQL server "
            "behind it."
        )
    return {"default": pooled, "direct": direct}

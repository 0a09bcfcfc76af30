"""Set up a site in this process, to count its processor time alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ORIGIN = "http://127.0.0.1:8000"


@contextmanager
def set_up_site(database: str = "") -> Iterator[Path]:
    """Set Django up on an empty database; yield the site's folder.

    Args:
        database: The URL of an empty database; without it SQLite is used.

    Yields:
        The folder of the site's data, which is deleted afterwards.
    """
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as folder:
        os.environ |= {
            "VAR_DIR": folder, "SECRET_KEY": "only-for-benchmarks", "DEBUG": "false", "SITE_URL": ORIGIN,
            "DATABASE_URL": database or f"sqlite:///{folder}/touchstone.sqlite3", "LOG_LEVEL": "ERROR",
            "RATE_LIMITS": "false", "DJANGO_SETTINGS_MODULE": "config.settings",
        }  # fmt: skip
        # Only once Django is set up can what stands on it be imported.
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
        call_command("prepare_site", verbosity=0)
        yield Path(folder)

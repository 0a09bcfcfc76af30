"""The content of a backup: versions, settings, and a digest of each file."""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict

Engine = Literal["sqlite", "postgresql"]


class FileEntry(BaseModel):
    """A file: its size (bytes) and its SHA-256 in hexadecimal digits."""

    model_config = ConfigDict(extra="forbid")

    size: int
    sha256: str


class Manifest(BaseModel):
    """The manifest, which is the last file of an archive.

    Attributes:
        format: The version of this form.
        version: That of Touchstone.
        made_at: When the copy of the database was made.
        database: The kind of the database.
        migrations: The migrations that the database has, as ``app.name``.
        secret_key_check: Differs for sites with another SECRET_KEY, and tells nothing about it.
        settings: The environment variables that were set and are no secrets.
        files: All other files of the archive.
    """

    model_config = ConfigDict(extra="forbid")

    format: Literal[1] = 1
    version: str
    made_at: datetime
    database: Engine
    migrations: list[str]
    secret_key_check: str
    settings: dict[str, str]
    files: dict[str, FileEntry]


def compute_secret_key_check() -> str:
    """Return the check of this site's SECRET_KEY."""
    return hmac.new(settings.SECRET_KEY.encode(), b"touchstone backup", "sha256").hexdigest()[:16]

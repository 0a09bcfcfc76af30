"""Write a backup of the whole site while people work.

The database is copied first. Images are named by their content and never change, so those that are copied
after it hold all that it names, and perhaps some more.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.files.storage import Storage, storages

from analysis import __version__
from config.backups import databases
from config.backups.archive import PART, ArchiveWriter, write_archive
from config.backups.manifest import Manifest, compute_secret_key_check
from config.environment.variables import SETTINGS_READ, SETTINGS_SECRET
from foundation.errors import BadFile, RunFailed
from modelserver.wire.redaction import redact_logins

NAME = "touchstone-*.backup"
A_DAY = 86_400  # seconds


def back_up(folder: Path, *, key: bytes | None = None, weights: Path | None = None) -> tuple[Path, Manifest]:
    """Write an archive into a folder; return its path and manifest.

    Args:
        folder: The folder of the backups; it is made if needed.
        key: Encrypts the archive.
        weights: A folder of weights of systems to store as well.

    Raises:
        BadFile: The archive cannot be written, or a file of the site cannot be read.
        RunFailed: The database is not that of a site, or cannot be copied.
    """
    if not databases.list_applied_migrations():
        raise RunFailed("this database has no tables of a site; look at VAR_DIR and DATABASE_URL")
    if weights is not None and not weights.is_dir():
        raise BadFile(weights, "is not a folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(folder, f"cannot be made: {error.strerror}") from error
    # The copy of the database is not encrypted yet, so it stays where the database is.
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=settings.VAR_DIR) as stage:
        copy = Path(stage) / databases.FILES[databases.detect_engine()]
        # Before the copy: migrations that come in between make it an older backup, not an unreadable one.
        migrations, made_at = databases.list_applied_migrations(), datetime.now(tz=UTC)
        path = folder / NAME.replace("*", f"{made_at:%Y%m%dT%H%M%S.%f}Z")
        databases.dump(copy)
        with write_archive(path, key) as archive:
            archive.add_path(copy.name, copy)
            _add_images(archive)
            _add_folder(archive, "jobs", Path(settings.JOB_FOLDER))
            _add_folder(archive, "reports", Path(settings.REPORT_FOLDER))
            if weights is not None:
                _add_folder(archive, "weights", weights)
            manifest = Manifest(
                version=__version__, made_at=made_at, database=databases.detect_engine(),
                migrations=migrations,
                secret_key_check=compute_secret_key_check(), settings=_read_settings(), files=archive.files,
            )  # fmt: skip
            archive.finish(manifest)
    return path, manifest


def delete_older(folder: Path, keep: int) -> list[Path]:
    """Delete all but the newest backups of a folder; return the deleted.

    Parts of backups that were killed are deleted after a day.

    Raises:
        RunFailed: Nobody has worked on this site yet: the older backups may be of the real one.
    """
    older = sorted(folder.glob(NAME))[:-keep]
    if older and databases.is_empty():
        raise RunFailed(
            "nobody has worked on this site yet, so no older backup was deleted; look at VAR_DIR and "
            "DATABASE_URL"
        )
    for path in older:
        path.unlink(missing_ok=True)
    for part in folder.glob(f"{PART}*"):
        if time.time() - part.stat().st_mtime > A_DAY:
            part.unlink(missing_ok=True)
    return older


def _add_images(archive: ArchiveWriter) -> None:
    storage = storages["images"]
    for name in _list_image_names(storage, ""):
        try:
            file = storage.open(name)
        except FileNotFoundError:  # deleted meanwhile, by retention
            continue
        with file:
            archive.add(f"images/{name}", file, file.size)


def _list_image_names(storage: Storage, folder: str) -> Iterator[str]:
    """Yield the names of all images, folder by folder."""
    try:
        folders, files = storage.listdir(folder)
    except FileNotFoundError:
        return
    for name in sorted(files):
        if not name.startswith("."):
            yield f"{folder}/{name}" if folder else name
    for name in sorted(folders):
        if not name.startswith("."):  # an image that is being written
            yield from _list_image_names(storage, f"{folder}/{name}" if folder else name)


def _add_folder(archive: ArchiveWriter, name: str, folder: Path) -> None:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(parent) / file
            if path.is_file() and not path.is_symlink():
                archive.add_path(f"{name}/{path.relative_to(folder).as_posix()}", path)


def _read_settings() -> dict[str, str]:
    """Return the variables that are set and are not secrets."""
    names = SETTINGS_READ - SETTINGS_SECRET
    return {name: redact_logins(os.environ[name]) for name in sorted(names) if name in os.environ}

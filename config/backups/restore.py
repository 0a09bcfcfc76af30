"""Put a backup in place: checked first, files staged, the database last."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import storages
from django.core.management import call_command

from analysis import __version__
from analysis.io.whole_files import replace_file
from config.backups import databases
from config.backups.archive import MANIFEST, Hashing, read_archive, verify_archive
from config.backups.manifest import Manifest, compute_secret_key_check
from foundation.errors import BadFile, Conflict

SETTINGS_FILE = "settings-of-backup.env"


@dataclass(frozen=True)
class Restored:
    """The result of a restore: the manifest, and remarks for people."""

    manifest: Manifest
    remarks: list[str] = field(default_factory=list)


def restore(path: Path, *, key: bytes | None, replace: bool = False, weights: Path | None = None) -> Restored:
    """Restore a backup, and migrate it to this version.

    Args:
        path: The archive.
        key: The key of an encrypted archive.
        replace: Replace what a site holds that people have used.
        weights: The folder for the weights; without it they stay in the archive.

    Raises:
        BadFile: The archive is damaged, of a newer version, or of another kind of database.
        Conflict: The site is not empty.
        RunFailed: The database cannot be replaced; it is as before.
    """
    if not replace and not databases.is_empty():
        raise Conflict(
            "This site is not empty. Restore into an empty one, or use --replace to delete what it holds."
        )
    manifest = verify_archive(path, key)
    _check_fits(path, manifest)
    Path(settings.VAR_DIR).mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.VAR_DIR) as folder:
        stage = Path(folder)
        _extract_files(path, key, manifest, stage)
        databases.load(stage / databases.FILES[manifest.database])
        _swap(stage / "jobs", Path(settings.JOB_FOLDER))
        _swap(stage / "reports", Path(settings.REPORT_FOLDER))
        remarks = _restore_weights(stage / "weights", weights)
    call_command("migrate", verbosity=0, interactive=False)
    return Restored(manifest, [*remarks, *_store_settings(manifest)])


def _check_fits(path: Path, manifest: Manifest) -> None:
    unknown = sorted(set(manifest.migrations) - databases.list_shipped_migrations())
    if unknown:
        raise BadFile(
            path,
            f"is of version {manifest.version}, which is newer than this one, {__version__} "
            f"(its database has {unknown[0]}); install that version first",
        )
    if manifest.database != databases.detect_engine():
        raise BadFile(
            path, f"has a database of {manifest.database}, and this site uses {databases.detect_engine()}: "
            "set DATABASE_URL to a database of the same kind",
        )  # fmt: skip


def _extract_files(path: Path, key: bytes | None, manifest: Manifest, stage: Path) -> None:
    """Extract all files into a folder, and images into their storage."""
    with read_archive(path, key) as files:
        for name, content in files:
            if name == MANIFEST:
                continue
            target = stage / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                shutil.copyfileobj(content, out, 1 << 20)
            _check_unchanged(path, name, content, manifest)
            if name.startswith("images/"):
                _store_image(name.removeprefix("images/"), target)
                target.unlink()


def _check_unchanged(path: Path, name: str, content: Hashing, manifest: Manifest) -> None:
    """Raise BadFile if the archive was changed after it was checked."""
    if manifest.files.get(name) != content.entry:
        raise BadFile(path, f"changed while it was restored: {name}")


def _store_image(name: str, source: Path) -> None:
    storage = storages["images"]
    if storage.exists(name):
        with storage.open(name) as stored, source.open("rb") as given:
            if (
                hashlib.file_digest(stored, "sha256").digest()
                == hashlib.file_digest(given, "sha256").digest()
            ):
                return
    with source.open("rb") as given:
        storage.save(name, File(given))


def _swap(staged: Path, target: Path) -> None:
    """Replace a folder; what it held goes with the stage."""
    if target.exists():
        shutil.move(target, staged.with_name(f"former-{target.name}"))
    if staged.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(staged, target)


def _restore_weights(staged: Path, wanted: Path | None) -> list[str]:
    if not staged.exists():
        return ["The backup holds no weights."] if wanted else []
    if wanted is None:
        return ["The backup holds weights; --weights FOLDER restores them."]
    shutil.copytree(staged, wanted, dirs_exist_ok=True)
    return []


def _store_settings(manifest: Manifest) -> list[str]:
    """Store the settings beside the data, and compare the secret key."""
    out = Path(settings.VAR_DIR) / SETTINGS_FILE
    replace_file(out, "".join(f"{name}={value}\n" for name, value in manifest.settings.items()))
    remarks = [f"The settings of the backup, without secrets, are in {out}."]
    if manifest.secret_key_check != compute_secret_key_check():
        remarks.append(
            "SECRET_KEY differs from that of the backup: sessions, personal links and second factors of then "
            "do not work. Set the former key, or add it to SECRET_KEY_FALLBACKS."
        )
    return remarks

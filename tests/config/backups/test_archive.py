"""Archives are whole and for their owner alone.

The site refuses a damaged one before it restores anything.
"""

import io
import stat
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from config.backups import databases
from config.backups.archive import read_archive, verify_archive, write_archive
from config.backups.backup import delete_older
from config.backups.manifest import FileEntry, Manifest
from foundation.errors import BadFile

KEY = b"k" * 32
FILES = {"database.sqlite3": b"rows", "images/ab/1.png": b"p" * 3_000_000}


def written(path: Path, key: bytes | None = None, **wrong: FileEntry) -> Path:
    with write_archive(path, key) as archive:
        for name, content in FILES.items():
            archive.add(name, io.BytesIO(content), len(content))
        archive.finish(
            Manifest(
                version="1", made_at=datetime.now(tz=UTC), database="sqlite", migrations=["a.0001"],
                secret_key_check="x", settings={}, files=archive.files | wrong,
            )
        )  # fmt: skip
    return path


@pytest.mark.parametrize("key", [None, KEY])
def test_it_works(tmp_path: Path, key: bytes | None):
    path = written(tmp_path / "a", key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert verify_archive(path, key).files.keys() == FILES.keys()
    with read_archive(path, key) as files:
        assert {name: content.read() for name, content in files if name in FILES} == FILES
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
    assert (b"rows" in path.read_bytes()) is False


def test_the_key_has_to_fit(tmp_path: Path):
    with pytest.raises(BadFile, match="is encrypted: give --key-file"):
        verify_archive(written(tmp_path / "a", KEY), None)
    with pytest.raises(BadFile, match="is not encrypted: omit --key-file"):
        verify_archive(written(tmp_path / "b"), KEY)
    with pytest.raises(BadFile, match="encrypted with another key"):
        verify_archive(tmp_path / "a", b"o" * 32)


@pytest.mark.parametrize("at", [0.001, 0.3, 0.9])
@pytest.mark.parametrize("key", [None, KEY])
def test_damage_is_found(tmp_path: Path, at: float, key: bytes | None):
    path = written(tmp_path / "a", key)
    content = bytearray(path.read_bytes())
    spot = int(at * len(content)) + 64
    content[spot] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BadFile, match=r"damaged|decrypted|cannot be read|its end is missing"):
        verify_archive(path, key)
    path.write_bytes(content[:spot])
    with pytest.raises(BadFile, match=r"damaged|decrypted|cannot be read|its end is missing"):
        verify_archive(path, key)


def test_a_digest_that_differs_names_the_file(tmp_path: Path):
    path = written(tmp_path / "a", None, **{"database.sqlite3": FileEntry(size=4, sha256="0" * 64)})
    with pytest.raises(BadFile, match=r"is damaged: database\.sqlite3 is not what was backed up"):
        verify_archive(path, None)
    path = written(tmp_path / "b", None, **{"images/zz": FileEntry(size=4, sha256="0" * 64)})
    with pytest.raises(BadFile, match="is damaged: images/zz"):
        verify_archive(path, None)


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "images/../../x"])
def test_no_file_leads_out_of_the_folder(tmp_path: Path, name: str):
    with tarfile.open(tmp_path / "a", "w:gz") as tar:
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(BadFile, match="which no backup of Touchstone does"):
        verify_archive(tmp_path / "a", None)


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b"])
def test_another_file_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(BadFile):
        verify_archive(tmp_path / "a", None)


def test_a_failure_leaves_nothing_behind(tmp_path: Path):
    with pytest.raises(BadFile, match="was not written"), write_archive(tmp_path / "a", KEY) as archive:
        archive.add("jobs/1", io.BytesIO(b"short"), 100)
    assert list(tmp_path.iterdir()) == []


def test_the_newest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(databases, "is_empty", lambda: False)
    for day in ("03", "01", "02"):
        (tmp_path / f"touchstone-202601{day}T000000.0Z.backup").write_bytes(b"")
    (tmp_path / "notes.txt").write_bytes(b"")
    assert [path.name for path in delete_older(tmp_path, 2)] == ["touchstone-20260101T000000.0Z.backup"]
    assert len(list(tmp_path.iterdir())) == 3

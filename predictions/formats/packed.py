"""Unpack an uploaded zip or gzip file that holds one file."""

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

from foundation.errors import BadFile

MOST_BYTES = 4 << 30  # unpacked: a small archive can hold far more than the disk
BLOCK = 1 << 20


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the one file in a zip or gzip file, or the file itself.

    The content decides, not the name. The unpacked file lies beside it until the block ends.

    Raises:
        BadFile: The archive is broken, too large, or holds more than one file.
    """
    with path.open("rb") as file:
        start = file.read(4)
    if not start.startswith((b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06")):
        yield path
        return
    with TemporaryDirectory(dir=path.parent) as folder:
        yield _unpack(path, Path(folder), is_zip=start.startswith(b"PK"))


def _unpack(path: Path, folder: Path, *, is_zip: bool) -> Path:
    try:
        if not is_zip:
            with gzip.open(path) as packed:
                return _copied(cast("IO[bytes]", packed), folder / path.name.removesuffix(".gz"), path)
        with zipfile.ZipFile(path) as archive:
            member = _only_member(archive, path)
            with archive.open(member) as packed:
                return _copied(packed, folder / Path(member.filename).name, path)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise BadFile(path, f"cannot be unpacked: {error}") from error


def _only_member(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """Return the only file; folders and the notes of macOS do not count."""
    files = [each for each in archive.infolist() if not each.is_dir() and "__MACOSX" not in each.filename]
    if len(files) != 1:
        raise BadFile(path, f"must hold exactly one file, and holds {len(files)}")
    return files[0]


def _copied(packed: IO[bytes], target: Path, path: Path) -> Path:
    size = 0
    with target.open("wb") as file:
        while block := packed.read(BLOCK):
            size += len(block)
            if size > MOST_BYTES:
                raise BadFile(path, f"unpacks to more than {MOST_BYTES:,} bytes")
            file.write(block)
    return target

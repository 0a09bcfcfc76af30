"""An archive of named files: tar in gzip, encrypted if a key is given.

Files are written and read as streams, so that an archive may be larger than the memory.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from pydantic import ValidationError

from analysis.io.errors import describe_os_error
from config.backups.encryption import MAGIC, DecryptingReader, EncryptingWriter
from config.backups.manifest import FileEntry, Manifest
from foundation.errors import BadFile

MANIFEST = "manifest.json"
PART = ".part-"  # begins the name of an archive that is not whole yet
LARGEST_MANIFEST = 1 << 30  # bytes


class Hashing(io.RawIOBase):
    """A file that takes the digest of what is read from another one."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source, self._digest, self.size = source, hashlib.sha256(), 0

    def read(self, size: int = -1) -> bytes:
        """Read bytes, and count them."""
        data = self._source.read(size)
        self._digest.update(data)
        self.size += len(data)
        return data

    @property
    def entry(self) -> FileEntry:
        """Size and digest of what was read."""
        return FileEntry(size=self.size, sha256=self._digest.hexdigest())


class ArchiveWriter:
    """The archive that is being written; ``files`` is what it holds."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.files: dict[str, FileEntry] = {}

    def add(self, name: str, source: IO[bytes], size: int) -> None:
        """Add so many bytes of a file. Raises OSError if it has fewer."""
        hashing = Hashing(source)
        self._tar.addfile(_build_member(name, size), cast("IO[bytes]", hashing))
        self.files[name] = hashing.entry

    def add_path(self, name: str, path: Path) -> None:
        """Add a file; one that is gone by now is left out."""
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return
        with source:
            self.add(name, source, os.fstat(source.fileno()).st_size)

    def finish(self, manifest: Manifest) -> None:
        """Add the manifest, the last file."""
        content = manifest.model_dump_json(indent=1).encode()
        self._tar.addfile(_build_member(MANIFEST, len(content)), io.BytesIO(content))


def _build_member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


@contextmanager
def write_archive(path: Path, key: bytes | None) -> Iterator[ArchiveWriter]:
    """Write an archive, whole or not at all.

    Raises:
        BadFile: The archive cannot be written, or a file of the site cannot be read.
    """
    try:
        descriptor, part = tempfile.mkstemp(prefix=PART, dir=path.parent)  # for its owner alone
        try:
            with ExitStack() as open_files:
                out: Any = open_files.enter_context(open(descriptor, "wb"))
                open_files.callback(lambda: os.fsync(out.fileno()))
                open_files.callback(out.flush)
                inner = open_files.enter_context(EncryptingWriter(out, key)) if key else out
                packed = open_files.enter_context(
                    gzip.GzipFile(fileobj=inner, mode="wb", compresslevel=1, filename="")
                )
                tar = open_files.enter_context(
                    tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT)
                )
                yield ArchiveWriter(tar)
            os.replace(part, path)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as error:
        raise BadFile(path, f"was not written: {error}") from error


@contextmanager
def read_archive(path: Path, key: bytes | None) -> Iterator[Iterator[tuple[str, Hashing]]]:
    """Read the files of an archive in their order: names and contents.

    Raises:
        BadFile: It is no backup, is damaged, or needs another key.
    """
    try:
        with path.open("rb") as source:
            is_encrypted = source.read(len(MAGIC)) == MAGIC
            if is_encrypted != bool(key):
                needs = (
                    "is encrypted: give --key-file" if is_encrypted else "is not encrypted: omit --key-file"
                )
                raise BadFile(path, needs)
            if not is_encrypted:
                source.seek(0)
            plain: Any = io.BufferedReader(DecryptingReader(source, key, path)) if key else source
            with gzip.GzipFile(fileobj=plain) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
                yield _read_files(tar, path)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadFile(path, f"is damaged, or is not a backup of Touchstone: {error}") from error
    except OSError as error:
        raise BadFile(path, describe_os_error(error)) from error


def _read_files(tar: tarfile.TarFile, path: Path) -> Iterator[tuple[str, Hashing]]:
    for member in tar:
        content = tar.extractfile(member) if member.isfile() else None
        pieces = PurePosixPath(member.name).parts
        if content is None or not pieces or pieces[0] == "/" or ".." in pieces:
            raise BadFile(path, f"holds {member.name!r}, which no backup of Touchstone does")
        yield member.name, Hashing(content)


def verify_archive(path: Path, key: bytes | None) -> Manifest:
    """Read the whole archive once, and compare every digest.

    Raises:
        BadFile: It is no backup, or a file of it differs from the manifest.
    """
    digests: dict[str, FileEntry] = {}
    manifest: Manifest | None = None
    with read_archive(path, key) as files:
        for name, content in files:
            if name == MANIFEST:
                manifest = _parse_manifest(content.read(LARGEST_MANIFEST), path)
                continue
            while content.read(1 << 20):
                pass
            digests[name] = content.entry
    if manifest is None:
        raise BadFile(path, "has no manifest: it is not a backup of Touchstone, or its end is missing")
    names = digests.keys() | manifest.files.keys()
    differing = sorted(name for name in names if digests.get(name) != manifest.files.get(name))
    if differing:
        raise BadFile(path, f"is damaged: {differing[0]} is not what was backed up")
    return manifest


def _parse_manifest(content: bytes, path: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        message = "has a manifest that this version cannot read; restore it with the version that made it"
        raise BadFile(path, message) from error

"""Unpack uploaded zip and gzip files: within bounds and their folder."""

import gzip
import shutil
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from foundation.errors import BadFile
from foundation.imports.dataset_rows import find_dataset_folder
from foundation.messages import extract_message, say

MOST_FILES = 250_000
MOST_BYTES = 8 * 2**30  # of all files together, unpacked
MOST_RATIO = 200  # of unpacked to packed size: text packs to a twentieth, a bomb to a thousandth
ANY_RATIO_BYTES = 64 * 2**20  # so small that no ratio does harm
MOST_PATH, MOST_PART = 500, 255  # characters of a path, and bytes of one of its names
BLOCK = 1 << 20

ZIP, GZIP = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"  # the first bytes
BROKEN_ZIP_ERRORS = (
    BadZipFile, EOFError, NotImplementedError, OSError, OverflowError, RuntimeError, UnicodeError, ValueError,
    struct.error, zlib.error,
)  # fmt: skip

OnBytes = Callable[[int, int], None]
OnError = Callable[[BadFile], None]


def is_zip(path: Path) -> bool:
    """Return True if a file is a zip file by its content."""
    return _start(path).startswith(ZIP)


def unpack_file(path: Path, folder: Path) -> Path:
    """Return the one file in a zip or gzip file, or the file itself.

    Of a zip file of a dataset that the Hugging Face library saved, return its folder. The content decides,
    not the name. Arguments as `unpack`.

    Raises:
        BadFile: As `unpack`, or it holds more than one file.
    """
    if not _start(path).startswith((GZIP, *ZIP)):
        return path
    files = unpack(path, folder) if is_zip(path) else _unpack_gzip(path, folder)
    if (saved := find_dataset_folder(files)) is not None:
        return saved
    if len(files) != 1:
        raise BadFile(path, say("must hold exactly one file, and holds %(number)s", number=len(files)))
    return files[0]


def unpack_folder(path: Path, folder: Path) -> Path:
    """Return the folder in a zip file, packed with its name or without.

    Arguments as `unpack`.

    Raises:
        BadFile: As `unpack`, or it is no zip file.
    """
    if not is_zip(path):
        raise BadFile(path, say("expected a zip file of a folder"))
    unpack(path, folder)
    inside = [*folder.iterdir()]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


@contextmanager
def delete_before_and_after(folder: Path) -> Iterator[None]:
    """Delete a folder before and after a block."""
    shutil.rmtree(folder, ignore_errors=True)  # of a worker that was ended
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unpack(
    path: Path, folder: Path, *, on_progress: OnBytes | None = None, on_error: OnError | None = None
) -> list[Path]:
    """Unpack a zip file into a new folder; return its files in their order.

    Folders, hidden files and what macOS adds are left out.

    Args:
        path: The zip file.
        folder: The folder, which does not exist yet.
        on_progress: Called with the number of unpacked bytes, and their total.
        on_error: Takes the error of a file inside, which is left out then.

    Raises:
        BadFile: It is broken, has a password, is too large, or has a file outside of the folder, a link, or
            two files of one name; names the file inside.
    """
    files, done = list[Path](), 0
    try:
        with ZipFile(path) as archive:
            entries = list[tuple[ZipInfo, str]]()
            for entry in archive.infolist():
                with _forward_errors(on_error):
                    if name := _check_entry_path(path, entry):
                        entries.append((entry, name))
            _check_sizes(path, [entry for entry, _name in entries])
            folder.mkdir(parents=True)
            total = sum(entry.file_size for entry, _name in entries)
            for entry, name in entries:
                with _forward_errors(on_error):
                    done = _unpack_entry(path, archive, entry, folder / name, done, total, on_progress)
                    files.append(folder / name)
    except BROKEN_ZIP_ERRORS as error:
        raise BadFile(
            path, say("is a broken zip file: %(problem)s; make it again", problem=extract_message(error))
        ) from error
    return files


@contextmanager
def _forward_errors(on_error: OnError | None) -> Iterator[None]:
    """Hand the error of one file inside on, and go on with the next."""
    try:
        yield
    except BadFile as error:
        if on_error is None:
            raise
        on_error(error)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _unpack_gzip(path: Path, folder: Path) -> list[Path]:
    folder.mkdir()
    target = folder / path.name.removesuffix(".gz")
    most, size = max(ANY_RATIO_BYTES, min(MOST_BYTES, MOST_RATIO * path.stat().st_size)), 0
    try:
        with gzip.open(path) as packed, target.open("wb") as file:
            while block := cast("IO[bytes]", packed).read(BLOCK):
                size += len(block)
                if size > most:
                    raise BadFile(
                        path,
                        say(
                            "unpacks to more than %(most)s bytes, which no ordinary file does",
                            most=f"{most:,}",
                        ),
                    )
                file.write(block)
    except BROKEN_ZIP_ERRORS as error:
        raise BadFile(
            path, say("is a broken gzip file: %(problem)s; make it again", problem=extract_message(error))
        ) from error
    return [target]


def _check_entry_path(path: Path, entry: ZipInfo) -> str:
    """Return the path of an entry below the folder; empty to leave it out."""
    name = entry.filename.replace("\\", "/")  # as some programs of Windows write it
    parts = name.split("/")
    if entry.is_dir() or "__MACOSX" in parts or parts[-1].startswith(".") or parts[-1] == "Thumbs.db":
        return ""
    problem = ""
    if name.startswith("/") or ".." in parts or ":" in parts[0]:
        problem = say("lies outside of the zip file's folder; make the zip file from inside the folder")
    elif len(name) > MOST_PATH or any(len(_encode_part(part)) > MOST_PART for part in parts):
        problem = say(
            "the name has %(number)s characters; at most %(most)s fit, and %(part)s between two slashes",
            number=len(name),
            most=MOST_PATH,
            part=MOST_PART,
        )
    elif stat.S_ISLNK(entry.external_attr >> 16):
        problem = say("is a link to another file; put the file itself into the zip file")
    elif entry.flag_bits & 0x1:
        problem = say("has a password; make the zip file without one")
    if problem:
        shown = repr(name if len(name) <= 80 else f"{name[:80]}…")
        raise BadFile(path, problem, field=shown)
    return "/".join(part for part in parts if part not in ("", "."))


def _encode_part(part: str) -> bytes:
    return part.encode(errors="surrogatepass")


def _check_sizes(path: Path, entries: Sequence[ZipInfo]) -> None:
    """Check the sizes that a zip file declares; unpacking holds it to them."""
    problem, total = "", sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES:
        problem = say(
            "holds %(number)s files; at most %(most_files)s are unpacked",
            number=f"{len(entries):,}",
            most_files=f"{MOST_FILES:,}",
        )
    elif total > MOST_BYTES:
        problem = say(
            "holds %(size)s GiB unpacked; at most %(most)s GiB fit",
            size=f"{total / 2**30:.1f}",
            most=MOST_BYTES >> 30,
        )
    elif total > max(ANY_RATIO_BYTES, MOST_RATIO * path.stat().st_size):
        problem = say(
            "unpacks to more than %(most_ratio)s times its size, which no ordinary file does",
            most_ratio=MOST_RATIO,
        )
    if problem:
        raise BadFile(path, problem)


def _unpack_entry(
    path: Path, archive: ZipFile, entry: ZipInfo, target: Path, done: int, total: int, note: OnBytes | None
) -> int:
    """Unpack one file; return the number of bytes so far."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A file of a zip file ends at its declared size, whatever its packed data hold.
        with archive.open(entry) as packed, target.open("xb") as file:
            while block := packed.read(BLOCK):
                file.write(block)
                done += len(block)
                if note is not None:
                    note(done, total)
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise BadFile(
            path, say("the name comes twice; rename one of the files"), field=repr(entry.filename)
        ) from error
    except BROKEN_ZIP_ERRORS as error:
        reason = say(
            "cannot be unpacked: %(problem)s; make the zip file again", problem=extract_message(error)
        )
        raise BadFile(path, reason, field=repr(entry.filename)) from error
    return done

"""Unpack uploaded zip files: within bounds, and within their folder."""

import stat
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from foundation.errors import BadFile

MOST_FILES = 250_000
MOST_BYTES = 8 * 2**30  # of all files together, unpacked
MOST_RATIO = 200  # of unpacked to packed size: text packs to a twentieth, a bomb to a thousandth
ANY_RATIO_BYTES = 64 * 2**20  # so small that no ratio does harm
MOST_PATH, MOST_PART = 500, 255  # characters of a path, and bytes of one of its names
BLOCK = 1 << 20

OnBytes = Callable[[int, int], None]


def is_zip(path: Path) -> bool:
    """Return True if a file is a zip file by its content."""
    return zipfile.is_zipfile(path)


def unpack(path: Path, folder: Path, *, on_progress: OnBytes | None = None) -> list[Path]:
    """Unpack a zip file into a new folder; return its files in their order.

    Folders, hidden files and what macOS adds are left out.

    Args:
        path: The zip file.
        folder: The folder, which does not exist yet.
        on_progress: Called with the number of unpacked bytes, and their total.

    Raises:
        BadFile: It is broken, has a password, is too large, or has a file outside of the folder, a link, or
            two files of one name; names the file inside.
    """
    try:
        with ZipFile(path) as archive:
            entries = [(entry, name) for entry in archive.infolist() if (name := _checked_name(path, entry))]
            _check_sizes(path, [entry for entry, _name in entries])
            folder.mkdir(parents=True)
            done, total = 0, sum(entry.file_size for entry, _name in entries)
            for entry, name in entries:
                done = _copy(path, archive, entry, folder / name, done, total, on_progress)
            return [folder / name for _entry, name in entries]
    except BadZipFile as error:
        raise BadFile(path, f"is a broken zip file: {error}") from error


def _checked_name(path: Path, entry: ZipInfo) -> str:
    """Return the path of an entry below the folder; empty to leave it out."""
    name = entry.filename.replace("\\", "/")  # as some programs of Windows write it
    parts = name.split("/")
    if entry.is_dir() or "__MACOSX" in parts or parts[-1].startswith(".") or parts[-1] == "Thumbs.db":
        return ""
    shown = repr(name if len(name) <= 80 else f"{name[:80]}…")
    if name.startswith("/") or ".." in parts or ":" in parts[0]:
        raise BadFile(path, f"{shown}: lies outside of the zip file's folder")
    if len(name) > MOST_PATH or any(len(part.encode()) > MOST_PART for part in parts):
        most = f"at most {MOST_PATH} fit, and {MOST_PART} between two slashes"
        raise BadFile(path, f"{shown}: the name has {len(name)} characters; {most}")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise BadFile(path, f"{shown}: is a link to another file; put the file itself into the zip file")
    if entry.flag_bits & 0x1:
        raise BadFile(path, f"{shown}: has a password; make the zip file without one")
    return "/".join(part for part in parts if part not in ("", "."))


def _check_sizes(path: Path, entries: Sequence[ZipInfo]) -> None:
    """Check the sizes that a zip file declares; unpacking holds it to them."""
    if len(entries) > MOST_FILES:
        raise BadFile(path, f"holds {len(entries):,} files; at most {MOST_FILES:,} are unpacked")
    total = sum(entry.file_size for entry in entries)
    if total > MOST_BYTES:
        raise BadFile(path, f"holds {total / 2**30:.1f} GiB unpacked; at most {MOST_BYTES >> 30} GiB fit")
    if total > max(ANY_RATIO_BYTES, MOST_RATIO * path.stat().st_size):
        raise BadFile(path, f"unpacks to more than {MOST_RATIO} times its size, which no ordinary file does")


def _copy(
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
    except (FileExistsError, NotADirectoryError) as error:
        raise BadFile(path, f"{entry.filename!r}: the name comes twice") from error
    except (BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise BadFile(path, f"{entry.filename!r}: cannot be unpacked: {error}") from error
    except OSError as error:
        raise BadFile(path, f"{entry.filename!r}: {error.strerror or error}") from error
    return done

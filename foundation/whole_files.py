"""Writing a result to a file: whole or not at all, and refused before the work where it cannot be."""

import os
import tempfile
from pathlib import Path

from foundation.errors import BadFile


def require_folder(out: Path | None) -> None:
    """Refuse a file that could not be written before an hour is spent on computing it. Raises BadFile."""
    if out is not None and (out.is_dir() or not os.access(out.parent, os.W_OK)):
        raise BadFile(out, "cannot be written: a folder, or no writable folder around it")


def write_whole(out: Path, text: str) -> None:
    """Write the file whole or not at all."""
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        part = Path(folder) / out.name
        part.write_text(text, encoding="utf-8")
        part.replace(out)

"""Write a result file whole or not at all, and check the path first."""

import os
import tempfile
from pathlib import Path

from foundation.errors import BadFile


def require_folder(out: Path | None) -> None:
    """Raise BadFile if a file could not be written, before the work begins."""
    if out is not None and (out.is_dir() or not os.access(out.parent, os.W_OK)):
        raise BadFile(out, "cannot be written: it is a folder, or its folder is not writable")


def write_whole(out: Path, content: str | bytes) -> None:
    """Replace a file with this content, whole or not at all.

    Several processes may write the same file at once: the last one to end leaves its content.
    """
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        part = Path(folder) / out.name
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(out)

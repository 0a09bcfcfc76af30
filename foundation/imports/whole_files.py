"""Check the path of a result file before the work begins."""

import os
from pathlib import Path

from foundation.errors import BadFile


def require_folder(out: Path | None) -> None:
    """Raise BadFile if a file could not be written, before the work begins."""
    if out is not None and (out.is_dir() or not os.access(out.parent, os.W_OK)):
        raise BadFile(out, "cannot be written: it is a folder, or its folder is not writable")

"""Where the bytes of images lie: below one folder of the site, named by what they hold."""

import hashlib
import shutil
from pathlib import Path

from django.conf import settings


def folder() -> Path:
    """The folder of all images."""
    return Path(settings.VAR_DIR) / "images"


def keep(source: Path) -> str:
    """Copy an image file into the folder, once, and return its path below it."""
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = f"{digest[:2]}/{digest}{source.suffix.lower()}"
    target = folder() / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.part")
        shutil.copyfile(source, draft)
        draft.replace(target)
    return name

"""Image files of the site, in one folder and named by their content."""

import hashlib
import shutil
from pathlib import Path

from django.conf import settings


def image_folder() -> Path:
    """Return the folder of all images."""
    return Path(settings.VAR_DIR) / "images"


def store_image(source: Path) -> str:
    """Copy an image file into the folder, once, and return its path below it."""
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = f"{digest[:2]}/{digest}{source.suffix.lower()}"
    target = image_folder() / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.part")
        shutil.copyfile(source, draft)
        draft.replace(target)
    return name

"""The storage of images in a folder of this machine."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import FileSystemStorage

from analysis.io.whole_files import replace_file


def get_image_folder() -> Path:
    """Return the folder of all images."""
    return Path(settings.VAR_DIR) / "images"


class FolderStorage(FileSystemStorage):
    """Images in a folder. A name is a hash, so the same name is one image."""

    @property
    def location(self) -> str:
        """The folder as an absolute path."""
        return os.path.abspath(get_image_folder())

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """Return the name itself."""
        return name

    def _save(self, name: str, content: Any) -> str:
        path = Path(self.path(name))
        replace_file(path, content.read())
        return name

    def is_available(self) -> bool:
        """Return True if images can be stored and read."""
        folder = self.location if os.path.isdir(self.location) else settings.VAR_DIR
        return os.access(folder, os.R_OK | os.W_OK | os.X_OK)

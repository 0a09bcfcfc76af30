"""Find image files below a folder, and the size at which they are shown."""

from __future__ import annotations

import struct
from pathlib import Path
from urllib.parse import unquote, urlsplit

import PIL.Image

from analysis.io.errors import describe_os_error
from annotation.content.schemas import MOST_NAME, Image
from foundation.errors import BadFile
from foundation.images.image_cleaning import FORMATS, MOST_PIXELS, read_orientation
from foundation.messages import extract_message, say, value_error

_SIDEWAYS_ORIENTATIONS = {5, 6, 7, 8}  # EXIF orientations that swap width and height


def read_image_size(path: Path) -> tuple[int, int]:
    """Return width and height as shown after EXIF, without decoding.

    Raises:
        BadFile: The file is missing, is not a JPEG, PNG, WebP, GIF or BMP image, or has more than
            MOST_PIXELS pixels (a small file can claim to hold billions).
    """
    try:
        with PIL.Image.open(path, formats=FORMATS) as image:
            (width, height), turn = image.size, read_orientation(image)
    except PIL.UnidentifiedImageError as error:
        raise BadFile(
            path, say("is not an image in a format that browsers show (%(names)s)", names=", ".join(FORMATS))
        ) from error
    except (PIL.Image.DecompressionBombError, PIL.Image.DecompressionBombWarning) as error:
        raise BadFile(
            path, say("has more than %(most_pixels)s pixels", most_pixels=f"{MOST_PIXELS:,}")
        ) from error
    except OSError as error:
        raise BadFile(
            path,
            say(describe_os_error(error))
            if error.strerror
            else say("is a broken image: %(problem)s", problem=str(error)),
        ) from error
    except (SyntaxError, ValueError, struct.error) as error:
        raise BadFile(path, say("is a broken image: %(problem)s", problem=extract_message(error))) from error
    if width * height > MOST_PIXELS:
        raise BadFile(
            path,
            say(
                "has %(width)s × %(height)s pixels; at most %(most_pixels)s can be shown",
                width=width,
                height=height,
                most_pixels=f"{MOST_PIXELS:,}",
            ),
        )
    return (height, width) if turn in _SIDEWAYS_ORIENTATIONS else (width, height)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (
        OSError,
        ValueError,
    ):  # a part of the name is too long for the system, or holds NUL
        return False


class ImageFolder:
    """The images of an import, below one folder, named by relative path."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise BadFile(root, say("is not a folder"))
        self.root = root.resolve()
        self._by_name: dict[str, list[Path]] | None = None

    def find(self, name: str) -> Image:
        """Return the image of a path, or else of a unique file name.

        ``name`` may be a ``file:`` URL.

        Raises:
            ValueError: There is none, more than one, or one outside the folder.
            BadFile: The file is not an image.
        """
        if len(name) > MOST_NAME:
            raise value_error(
                "the name of an image has %(number)s characters; at most %(most_name)s fit",
                number=len(name),
                most_name=MOST_NAME,
            )
        path = self._path(unquote(urlsplit(name).path) if name.startswith("file:") else name)
        width, height = read_image_size(path)
        return Image(name=path.relative_to(self.root).as_posix(), width=width, height=height)

    def _path(self, name: str) -> Path:
        direct = (self.root / name).resolve()
        if _is_file(direct):
            if not direct.is_relative_to(self.root):
                raise value_error(
                    "the image %(name)r lies outside the folder of the images; copy it there", name=name
                )
            return direct
        matches = self._below().get(Path(name).name, [])
        if not matches:
            raise value_error(
                "the image %(name)r is not among the files; add it, or correct its name", name=name
            )
        if len(matches) > 1:
            raise value_error(
                "%(number)s images are called %(name)r; name the one with its folders",
                number=len(matches),
                name=Path(name).name,
            )
        return matches[0]

    def _below(self) -> dict[str, list[Path]]:
        """Return all files by name, listed at the first call."""
        if self._by_name is None:
            self._by_name = {}
            for path in sorted(self.root.rglob("*")):
                if path.is_file() and path.resolve().is_relative_to(self.root):
                    self._by_name.setdefault(path.name, []).append(path)
        return self._by_name

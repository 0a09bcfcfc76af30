"""Find items, programs and images in an uploaded file or zip file."""

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import copy

from annotation.formats.images import ImageFolder
from annotation.formats.registry import READ_FOLDERS
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.dataset_rows import SUFFIXES, find_dataset_folder
from foundation.imports.findings import Findings
from foundation.imports.zip_files import OnBytes, is_zip, unpack
from foundation.messages import say

PICTURES = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"}
LISTS, TABLE = {".json", ".jsonl"}, ".tsv"

UNREAD_FILE = "file of another kind in the zip file, left out"


def prepare_source(
    name: str, upload: Path, folder: Path, *, findings: Findings, on_progress: OnBytes | None = None
) -> Source:
    """Return the source of the items of an upload.

    Images that come alone, one or a zip file of them, are an item each in the format ``plain``. Any other zip
    file holds one file of items and the images; the programs stand in a ``.tsv`` file. faithful-nmn has its
    boxes in a ``.csv`` file, and its sentences in files ending in ``.json`` or ``.jsonl``. Formats of
    `registry.READ_FOLDERS` may have any number of files.

    Args:
        name: The format, a key of `registry.READERS`.
        upload: The file.
        folder: The folder to unpack a zip file into, which does not exist yet.
        findings: Collects what is left out.
        on_progress: Called while a zip file is unpacked.

    Raises:
        BadFile: The zip file is not safe to unpack, or lacks a file.
    """
    if name == "plain" and upload.suffix.lower() in PICTURES:
        folder.mkdir()
        return _list_images([Path(copy(upload, folder))], folder, findings)
    if not is_zip(upload):
        return Source(path=upload, findings=findings)
    if name in READ_FOLDERS:
        return _unpack_folder(name, upload, folder / upload.name, findings, on_progress)
    files = unpack(upload, folder, on_progress=on_progress, on_error=findings.on_error)
    if name == "plain" and (saved := find_dataset_folder(files)) is not None:
        return Source(path=saved, images=find_image_folder(files, folder), findings=findings)
    items = {"faithful-nmn": {".csv"}, "plain": {*LISTS, *SUFFIXES, ".csv"}}.get(name, LISTS)
    if name == "plain" and files and {file.suffix.lower() for file in files} <= PICTURES:
        return _list_images(files, folder, findings)
    examples = LISTS if name == "faithful-nmn" else set()
    for file in files:
        if file.suffix.lower() not in PICTURES | {TABLE} | items | examples:
            findings.note_repair(UNREAD_FILE, str(file.relative_to(folder)))
    return Source(
        path=_find_only_file(upload, files, items),
        images=find_image_folder(files, folder),
        programs=_find_program_table(upload, files),
        examples=[file for file in files if file.suffix.lower() in examples],
        findings=findings,
    )


def _list_images(files: Sequence[Path], folder: Path, findings: Findings) -> Source:
    """Write the list of items for images that come without one."""
    names = sorted(str(file.relative_to(folder)) for file in files)
    path = folder / "images.jsonl"
    path.write_text("".join(json.dumps({"id": name, "image": name}) + "\n" for name in names), "utf-8")
    return Source(path=path, images=ImageFolder(folder), findings=findings)


def _unpack_folder(
    name: str, upload: Path, folder: Path, findings: Findings, on_progress: OnBytes | None
) -> Source:
    """Unpack files into a folder with the name of the upload, for messages."""
    files = unpack(upload, folder, on_progress=on_progress, on_error=findings.on_error)
    suffixes = READ_FOLDERS[name]
    for file in files:
        if suffixes and file.suffix.lower() not in PICTURES | suffixes:
            findings.note_repair(UNREAD_FILE, str(file.relative_to(folder)))
    return Source(path=folder, images=find_image_folder(files, folder), findings=findings)


def find_image_folder(files: Sequence[Path], folder: Path) -> ImageFolder | None:
    """Return the folder of the images, or None if there are none."""
    has_pictures = any(file.suffix.lower() in PICTURES for file in files)
    return ImageFolder(folder) if has_pictures else None


def _find_only_file(upload: Path, files: Sequence[Path], suffixes: set[str]) -> Path:
    """Return the only file of a kind."""
    fitting = [file for file in files if file.suffix.lower() in suffixes]
    if len(fitting) == 1:
        return fitting[0]
    kinds = " or ".join(sorted(suffixes))
    if not fitting:
        raise BadFile(upload, say("holds no file of items, which ends in %(kinds)s", kinds=kinds))
    names = ", ".join(file.name for file in fitting[:5])
    raise BadFile(
        upload,
        say(
            "holds %(number)s files that end in %(kinds)s, not one: %(names)s",
            number=len(fitting),
            kinds=kinds,
            names=names,
        ),
    )


def _find_program_table(upload: Path, files: Sequence[Path]) -> Path | None:
    tables = [file for file in files if file.suffix.lower() == TABLE]
    if len(tables) > 1:
        raise BadFile(upload, say("holds %(number)s tables of programs (.tsv), not one", number=len(tables)))
    return tables[0] if tables else None

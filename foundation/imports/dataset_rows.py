"""Read the rows of Parquet and Arrow files like elements of JSON.

Datasets of the Hugging Face hub are Parquet files, and its library saves them as a folder of Arrow files with
``state.json``. Both name the classes of a column of numbers.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from foundation.errors import BadFile
from foundation.imports.json_elements import Element
from foundation.messages import say

MAGIC = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")  # first bytes of Parquet, Arrow files and streams
SUFFIXES = {".parquet", ".arrow"}
STATE, SPLITS = "state.json", "dataset_dict.json"  # of a saved dataset, and of a folder of several

OnProgress = Callable[[int], None]


def has_rows(path: Path) -> bool:
    """Return True for Parquet or Arrow by content, or a folder of a dataset."""
    if path.is_dir():
        return bool(_list_row_files(path))
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(6).startswith(MAGIC)


def find_dataset_folder(files: Sequence[Path]) -> Path | None:
    """Return the folder of the saved dataset among these files, if any.

    Raises:
        BadFile: It holds several splits.
    """
    for file in files:
        if file.name == SPLITS:
            names = ", ".join(sorted(state.parent.name for state in files if state.name == STATE))
            raise BadFile(file, say("holds several splits (%(names)s); use the folder of one", names=names))
    folders = [file.parent for file in files if file.name == STATE]
    return folders[0] if len(folders) == 1 else None


def measure_size(path: Path) -> int:
    """Return the bytes of a file, or of the files of a folder with rows."""
    return (
        sum(file.stat().st_size for file in _list_row_files(path)) if path.is_dir() else path.stat().st_size
    )


def read_rows(path: Path, *, on_progress: OnProgress | None = None) -> Iterator[Element]:
    """Yield each row; its line is its number, counted from 1.

    Args:
        path: The file, or the folder of a dataset.
        on_progress: Called after each batch with the number of bytes read, about.

    Raises:
        BadFile: The file is damaged.
    """
    from foundation.imports.arrow_batches import read_batches  # pyarrow is large, and few files need it

    done = number = 0
    for file in _list_row_files(path) if path.is_dir() else [path]:
        size = file.stat().st_size
        for share, rows in read_batches(file):
            for row in rows:
                number += 1
                yield Element(number, row, json.dumps(row, default=str))
            if on_progress is not None:
                on_progress(done + int(size * share))
        done += size


def _list_row_files(folder: Path) -> list[Path]:
    """Return the files of rows in a folder: those of its state, or all."""
    try:
        names = [entry["filename"] for entry in json.loads((folder / STATE).read_bytes())["_data_files"]]
        files = [folder / Path(str(name)).name for name in names]
    except OSError:
        files = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES)
    except (KeyError, TypeError, ValueError) as error:
        raise BadFile(folder / STATE, say("does not name the files of the dataset")) from error
    if missing := [file for file in files if not file.is_file()]:
        raise BadFile(folder / STATE, say("names %(name)s, which is missing", name=missing[0].name))
    return files

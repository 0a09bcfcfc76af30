"""Write generated annotation items, one a line; shared arguments."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from modelserver.wire.errors import UnreadableData
from modelserver.world.names import SPLITS


def add_arguments(parser: argparse.ArgumentParser, defaults: tuple[int, int, int]) -> None:
    """Add where to write, the seed, and the number of examples of each split."""
    files = ", ".join(f"{split}.jsonl" for split in SPLITS)
    parser.add_argument("--out", type=Path, required=True, help=f"folder for {files}")
    parser.add_argument("--seed", type=int, default=1, help="seed of the world (default 1)")
    for split, default in zip(SPLITS, defaults, strict=True):
        parser.add_argument(f"--{split}", type=_count, default=default, help=f"examples (default {default})")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return int(text)


def write_items(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object a line; the file appears whole or not at all."""
    with whole(path) as partial, partial.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a partial path to write to, and rename it if that succeeds.

    Raises `UnreadableData`.
    """
    partial = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise UnreadableData(f"{error.filename or path}: {error.strerror}") from error

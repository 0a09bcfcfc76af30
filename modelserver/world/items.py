"""Write generated annotation items, one a line; shared arguments."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, validators

from analysis.io import whole_files
from modelserver.wire.errors import UnreadableData
from modelserver.world.names import SPLITS, Split

Number = Annotated[int, Parameter(validator=validators.Number(gte=0))]


@Parameter(name="*")
@dataclass(frozen=True)
class SplitOptions:
    """Folder, seed and numbers of generated examples.

    Attributes:
        out: Folder for one file of each split.
        world_seed: Seed of the generated examples.
        train: Number of training examples.
        dev: Number of dev examples.
        test: Number of test examples.
    """

    out: Path
    world_seed: int = 1
    train: Number = 2000
    dev: Number = 200
    test: Number = 200

    def write(self, write_split: Callable[[Path, Split, int, int], None], suffix: str = "jsonl") -> None:
        """Write the three splits with a function, and print what was written."""
        for split in SPLITS:
            n = getattr(self, split)
            write_split(self.out, split, n, self.world_seed)
            print(self.out / f"{split}.{suffix}", n, "examples")  # noqa: T201


def write_items(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object a line; the file appears whole or not at all."""
    with write_whole(path) as partial, partial.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a partial path to write to, and rename it if that succeeds.

    Raises `UnreadableData`.
    """
    try:
        with whole_files.write_whole(path) as partial:
            yield partial
    except OSError as error:
        raise UnreadableData(f"{error.filename or path}: {error.strerror}") from error

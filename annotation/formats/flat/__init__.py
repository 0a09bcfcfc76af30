"""Write formats that list statements: W3C Web Annotations, brat, Parquet."""

from collections.abc import Iterable
from pathlib import Path

from annotation.content.schemas import ItemRecord
from annotation.formats.flat.brat import write_brat
from annotation.formats.flat.w3c import write_w3c

__all__ = ["write_brat", "write_parquet", "write_w3c"]


def write_parquet(records: Iterable[ItemRecord], path: Path) -> None:
    """Write the table of objects; only this needs pyarrow, which is large."""
    from annotation.formats.flat.parquet import write_parquet as write

    write(records, path)

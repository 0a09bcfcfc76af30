"""Write formats that list statements: W3C Web Annotations, brat, Parquet."""

from annotation.formats.flat.brat import write_brat
from annotation.formats.flat.parquet import write_parquet
from annotation.formats.flat.w3c import write_w3c

__all__ = ["write_brat", "write_parquet", "write_w3c"]

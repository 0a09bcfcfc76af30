"""DROP: questions about passages, and released outputs of modules."""

from annotation.formats.drop.passages import read_drop, write_drop

__all__ = ["read_drop", "write_drop"]

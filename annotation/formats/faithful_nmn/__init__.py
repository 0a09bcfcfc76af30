"""The released files of Subramanian et al. 2020: gold boxes and programs."""

from annotation.formats.faithful_nmn.reader import read_faithful_nmn
from annotation.formats.faithful_nmn.writer import write_faithful_nmn

__all__ = ["read_faithful_nmn", "write_faithful_nmn"]

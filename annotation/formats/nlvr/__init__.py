"""NLVR and NLVR2: sentences about drawings, and about image pairs."""

from annotation.formats.nlvr.nlvr import read_nlvr
from annotation.formats.nlvr.nlvr2 import read_nlvr2

__all__ = ["read_nlvr", "read_nlvr2"]

"""Plain tasks in the files of other tools.

A reader yields one `entries.Entry` after another, in the words of its file. `items.read_labelled` makes
items of them: with the label configuration of their project, or with one that has the labels of the file.
"""

from annotation.formats.labelled.items import read_labelled
from annotation.formats.labelled.tools import LABELLED_READERS, LABELLED_WRITERS

__all__ = ["LABELLED_READERS", "LABELLED_WRITERS", "read_labelled"]

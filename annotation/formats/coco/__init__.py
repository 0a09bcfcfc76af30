"""COCO: boxes in pixels of the images as they are shown, with categories.

``annotations`` holds the gold of all items, as every tool that reads COCO expects. ``works`` holds the
annotations of people and ``items`` the rest of each item: keys that those tools pass over. Files of other
tools become one item per image, whose program looks for each of its categories.
"""

from annotation.formats.coco.reader import read_coco
from annotation.formats.coco.writer import write_coco

__all__ = ["read_coco", "write_coco"]

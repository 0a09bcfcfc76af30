"""Names that the reader and the writer of COCO share."""

EXTRA = "coco"  # the part of an item's `extra` with all that an image needs to go out again

Id = int | str

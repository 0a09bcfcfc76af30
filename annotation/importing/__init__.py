"""Jobs that import items, images and outputs of modules."""

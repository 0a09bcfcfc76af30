"""Template tags of the pages of data and systems."""

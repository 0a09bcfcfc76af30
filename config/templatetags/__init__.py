"""Template tags of the frame around every page."""

"""The export bundle of a study: tables and JSON with a codebook.

See docs/reference/bundle.md.
"""

"""The export bundle of a study: plain tables and JSON with a codebook (docs/reference/bundle.md)."""

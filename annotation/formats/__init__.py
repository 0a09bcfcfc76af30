"""Read and write files of items, gold and annotations. No Django.

A reader yields one `annotation.content.schemas.ItemRecord` after another.
`foundation.imports.findings.Findings` takes what it repairs and what it refuses, with file, line and field.
A writer takes any iterable of records and leaves no half-written file behind.
"""

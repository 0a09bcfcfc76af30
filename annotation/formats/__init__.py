"""Files of others that hold items, gold and annotations: readers and writers. No Django here.

A reader yields one `annotation.schemas.ItemRecord` after another and raises BadFile, which names file, line
and field, at the first that is wrong. What it had to mend it says in a `report.Report`. A writer takes any
iterable of records and leaves no half-written file behind.
"""

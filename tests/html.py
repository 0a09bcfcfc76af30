"""Pages as texts that a test can search."""

import re


def join_lines(html: str) -> str:
    """Return HTML as if its template had it in one line.

    Only spaces within a line remain.
    """
    return re.sub(r"\s*\n\s*", " ", re.sub(r"(?<=>)\s*\n\s*|\s*\n\s*(?=<)", "", html))

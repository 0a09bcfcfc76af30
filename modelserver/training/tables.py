"""Tables of trained variants as files: JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from modelserver.world.items import whole


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, table: Any) -> None:
    """Write a table as JSON, whole or not at all."""
    write_text(path, json.dumps(table, indent=2) + "\n")


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)

"""Annotation projects: items, annotations, gold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .connection import LINES, Connection, address
from .rows import (
    AnnotationRow,
    GoldRow,
    ItemImport,
    ItemRow,
    ItemStatus,
    ProjectDetail,
    ProjectRow,
    Purpose,
)


class Projects:
    """The annotation projects that you see."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> Iterator[ProjectRow]:
        """Yield projects."""
        return self._connection.pages(_address(), {})

    def get(self, project: str) -> ProjectDetail:
        """Return a project with its progress."""
        row: ProjectDetail = self._connection.get(_address(project))
        return row

    def items(
        self, project: str, *, status: ItemStatus | None = None, external_id: str | None = None
    ) -> Iterator[ItemRow]:
        """Yield items."""
        query = {"status": status, "external_id": external_id}
        return self._connection.pages(_address(project, "items"), query)

    def add_items(
        self,
        project: str,
        items: Iterable[Mapping[str, Any]],
        *,
        purpose: Purpose = "ordinary",
        dry_run: bool = False,
    ) -> ItemImport:
        """Add items, all or none; the same items again change nothing.

        Args:
            project: The short name of the project.
            items: Items in the form of the JSON lines that the site imports, at most 16 MiB together.
            purpose: Their purpose.
            dry_run: Check the items, and store nothing.
        """
        body = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items).encode()
        query = {"purpose": purpose, "dry_run": dry_run}
        row: ItemImport = self._connection.upload(_address(project, "items"), body, LINES, query)
        return row

    def annotations(
        self,
        project: str,
        *,
        item: str | None = None,
        annotator: str | None = None,
        status: str | None = None,
    ) -> Iterator[AnnotationRow]:
        """Yield annotations with their documents."""
        query = {"item": item, "annotator": annotator, "status": status}
        return self._connection.pages(_address(project, "annotations"), query)

    def gold(self, project: str, *, item: str | None = None, versions: bool = False) -> Iterator[GoldRow]:
        """Yield current gold, or every version of it."""
        return self._connection.pages(_address(project, "gold"), {"item": item, "versions": versions})

    def set_gold(self, project: str, item: int, document: Mapping[str, Any]) -> GoldRow:
        """Give an item, named by its ID, a new version of its gold."""
        path = _address(project, "items", item, "gold")
        row: GoldRow = self._connection.send("POST", path, {"document": document}).json()
        return row


def _address(*parts: str | int) -> str:
    return address("projects", *parts, api="annotation")

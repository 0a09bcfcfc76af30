"""Only actions of the Django apps call functions that change rows."""

import ast
from collections.abc import Iterator

from tests.paths import ROOT

APPS = ("accounts", "annotation", "config", "jobs", "predictions", "studyapp")
WRITES = {"save", "delete", "bulk_create", "bulk_update", "get_or_create", "update_or_create", "force_insert"}
PREPARED = {"insert", "PreparedUpdate"}  # of `foundation.database.prepared_queries`
MANAGERS = {"objects", "_base_manager", "_default_manager"}
SHARED = {"studyapp/models/studies.py"}  # the base that keeps frozen rows frozen


def writes(path: str, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in PREPARED:
            yield f"{path}:{node.lineno} {node.func.id}"
        if not isinstance(node.func, ast.Attribute):
            continue
        name, owner = node.func.attr, node.func.value
        if isinstance(owner, ast.Name) and owner.id in ("cache", "storage"):
            continue  # not a row
        through_manager = any(
            isinstance(part, ast.Attribute) and part.attr in MANAGERS for part in ast.walk(owner)
        )
        if name in WRITES or (name in ("create", "update") and through_manager):
            yield f"{path}:{node.lineno} {name}"


def test_rows_are_written_by_actions_alone():
    calls = [
        call
        for app in APPS
        for file in sorted((ROOT / app).rglob("*.py"))
        if not {"actions", "migrations"} & set(file.parts)
        and (path := str(file.relative_to(ROOT))) not in SHARED
        for call in writes(path, ast.parse(file.read_text("utf-8")))
    ]
    assert calls == []

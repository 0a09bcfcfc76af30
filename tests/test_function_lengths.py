"""Functions of the product have at most 60 lines beside docstrings."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.paths import ROOT

PRODUCT = (
    "accounts", "analysis", "annotation", "config", "foundation", "jobs", "modelserver", "predictions",
    "studyapp", "touchstone",
)  # fmt: skip
MOST_LINES = 60
Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, Function):
            continue
        docstring = ast.get_docstring(node, clean=False)
        end = node.end_lineno or node.lineno
        lines = end - node.lineno + 1 - (len(docstring.splitlines()) if docstring else 0)
        if lines > MOST_LINES:
            yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines"


def test_functions_are_short():
    files = [file for package in PRODUCT for file in sorted((ROOT / package).rglob("*.py"))]
    assert [function for file in files for function in find_long_functions(file)] == []

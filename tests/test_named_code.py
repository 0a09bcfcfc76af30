"""Names in docstrings and comments of the product exist in its code."""

import ast
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from scripts.sites.processes import ROOT

PACKAGES = (
    "config", "studyapp", "annotation", "predictions", "jobs", "accounts", "foundation", "modelserver",
    "analysis", "touchstone", "scripts",
)  # fmt: skip
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
NAME = re.compile(r"(?<!`)(`{1,2})([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?\1(?!`)")
# Names in other libraries and their files, and placeholders.
OTHERS = {
    "Datafile", "Doc.to_json", "Image.getexif", "LocaleMiddleware", "ModelIterable", "answer_passage_spans",
    "balanced_dev.json", "contains", "draw_without_rendering", "hotpot_evaluate_v1", "icontains", "image1",
    "output_file", "ray.data.Dataset.map_batches", "solve_triangular", "unbalanced_dev.json",
    "KEY_CHOICE", "KEY_ROW", "X_n", "a__b", "answers__KEY", "can_x", "check_x", "preferred_KEY",
}  # fmt: skip


@cache
def read_code(path: Path) -> tuple[frozenset[str], tuple[tuple[int, str], ...]]:
    """Return the words of a file's code, and its texts with their lines.

    Texts are docstrings and comments.
    """
    words, texts = set(), dict[int, str]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                texts[node.lineno] = text
            case ast.Constant(str(text)) if " " not in text and node.lineno not in texts:
                words |= set(re.findall(r"\w+", text))  # a key, a column, a command
            case (
                ast.Name(id=name)
                | ast.Attribute(attr=name)
                | ast.arg(arg=name)
                | ast.keyword(arg=str(name))
                | ast.alias(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                words |= set(name.split("."))
    with tokenize.open(path) as file:
        comments = [
            token for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.COMMENT
        ]
    return frozenset(words), (*texts.items(), *((token.start[0], token.string) for token in comments))


@cache
def read_words() -> frozenset[str]:
    """Return every word of the product's code, and of the names of its files."""
    paths = [*FILES, *(ROOT / "templates").rglob("*.html")]
    named = {word for path in paths for word in re.findall(r"\w+", str(path.relative_to(ROOT)))}
    return frozenset(named.union(*(read_code(path)[0] for path in FILES)))


def has_name(name: str) -> bool:
    """Return whether the product has a name.

    A name that begins with a module has to be in that module.
    """
    parts = name.split(".")
    if parts[0] in PACKAGES:
        for at in range(len(parts), 1, -1):
            module = ROOT.joinpath(*parts[:at])
            for path in (module.with_suffix(".py"), module / "__init__.py"):
                if path.is_file():
                    return set(parts[at:]) <= read_code(path)[0]
    return set(parts) <= read_words()


def list_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each name between backticks."""
    for line, text in read_code(path)[1]:
        for match in NAME.finditer(text):
            yield line + text.count("\n", 0, match.start()), match[2]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_in_docstrings_and_comments_exist(package):
    named = [
        (path, line, name)
        for path in FILES
        if path.is_relative_to(ROOT / package)
        for line, name in list_names(path)
    ]
    assert named
    missing = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, line, name in named
        if name not in OTHERS and not has_name(name)
    ]
    assert missing == []


def test_each_exception_is_needed():
    named = {name for path in FILES for _, name in list_names(path)}
    assert {name for name in OTHERS if name not in named or has_name(name)} == set()


def test_a_name_that_does_not_exist_is_found():
    assert has_name("analysis.stats.bootstrap_sums.mean_tally")
    assert not has_name("analysis.stats.bootstrap_sums.mean_of")
    assert not has_name("analysis.stats.bootstrap_sums.agreement")  # exists elsewhere
    assert not has_name("no_such_name")

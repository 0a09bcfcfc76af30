"""Every public name exists, has documentation and is on the page.

The page has no other name.
"""

import dataclasses
import inspect
import json
import re
from importlib import import_module
from pkgutil import iter_modules

import pytest

from scripts.pages.api import (
    FOLDER,
    PACKAGES,
    PAGE,
    build_page,
    build_reference,
    find_reference,
    read_docstring,
)
from tests.paths import ROOT

PUBLIC = [(name, public) for name in PACKAGES for public in import_module(name).__all__]
CLASSES = {
    value for package, name in PUBLIC if inspect.isclass(value := getattr(import_module(package), name))
}
PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb"), ROOT / "README.md"]


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_a_public_name_exists_and_is_documented(package, name):
    summary = read_docstring(import_module(package), name).partition("\n")[0]
    assert summary, f"{package}.{name} has no first line"
    assert not summary.startswith(f"{name}("), f"{package}.{name} has only a generated docstring"


def read_section(docstring: str, title: str) -> str:
    """The lines below a title of a docstring, "" without it."""
    section = re.search(rf"^{title}:\n((?:[ \t]+.*(?:\n|$)|\n)+)", docstring, flags=re.MULTILINE)
    return section[1] if section else ""


def list_entries(docstring: str, title: str) -> set[str]:
    """The names that a section explains."""
    return set(re.findall(r"^    \*{0,2}(\w+): ", read_section(docstring, title), flags=re.MULTILINE))


def list_functions(value: object) -> list:
    """A public function itself, or the public methods of a class."""
    if not inspect.isclass(value):
        return [inspect.unwrap(value)] if inspect.isfunction(inspect.unwrap(value)) else []
    methods = [getattr(method, "__func__", method) for name, method in vars(value).items() if name[0] != "_"]
    return [method for method in methods if inspect.isfunction(method) and method.__name__ != "<lambda>"]


def list_fields(cls: type) -> set[str]:
    """The fields of a class that no public base explains."""
    names = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    names |= {*getattr(cls, "_fields", ()), *getattr(cls, "model_fields", ())}
    explained = {name for base in cls.__mro__[1:] if base in CLASSES for name in list_fields(base)}
    return {name for name in names - explained if not name.startswith("_")}


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_arguments_results_and_fields_are_explained(package, name):
    value = getattr(import_module(package), name)
    for function in list_functions(value):
        docstring, signature = inspect.getdoc(function) or "", inspect.signature(function)
        arguments = signature.parameters.keys() - {"self", "cls"}
        assert list_entries(docstring, "Args") == arguments, function.__qualname__
        if signature.return_annotation not in (None, "None"):
            result = read_section(docstring, "Returns") or read_section(docstring, "Yields")
            assert result, f"{function.__qualname__} has no Returns"
    if inspect.isclass(value):
        assert list_fields(value) <= list_entries(inspect.getdoc(value) or "", "Attributes")


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_references_that_are_cited_are_listed(package, name):
    value = getattr(import_module(package), name)
    functions = list_functions(value) if inspect.isclass(value) else []
    for docstring in (read_docstring(import_module(package), name), *map(inspect.getdoc, functions)):
        text = (docstring or "").partition("\nExamples:\n")[0]
        cited = re.findall(r"(?<!in )\[([1-9](?:, [^]]*)?)\]", text)  # not an interval
        numbers = {part for citation in cited for part in citation.split(", ") if part.isdecimal()}
        listed = re.findall(r"^    (\d+)\. ", read_section(docstring or "", "References"), flags=re.MULTILINE)
        assert numbers == set(listed)


def test_pages_import_public_names_from_their_package():
    imports = r"^\s*from (?:touchstone\.)?(analysis\b[\w.]*) import (?:\(([^)]*)\)|(.*))$"
    for page in PAGES:
        text = page.read_text("utf-8")
        if page.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        for package, block, line in re.findall(imports, text, flags=re.MULTILINE):
            assert package in PACKAGES, f"{page.name}: {package} is not a public package"
            names = {entry.split()[0] for entry in (block or line).split(",") if entry.strip()}
            unknown = names - set(import_module(package).__all__)
            assert not unknown, f"{page.name}: {package} has no public {', '.join(unknown)}"


def test_the_page_is_the_generated_one():
    assert PAGE.read_text("utf-8") == build_page(), "write it again: .venv/bin/python -m scripts.pages.api"


def test_each_package_has_its_generated_page():
    assert set(FOLDER.glob("*.md")) == {find_reference(name) for name in PACKAGES}
    for name in PACKAGES:
        text = find_reference(name).read_text("utf-8")
        assert text == build_reference(name), "write it again: .venv/bin/python -m scripts.pages.api"


def test_the_page_names_what_exists():
    sections = re.split(r"^## ([\w.]+)$", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    named = [
        (package if "." in package else f"analysis.{package}", name)
        for package, text in zip(sections[::2], sections[1::2], strict=True)
        for name in re.findall(r"^- `(\w+)`: ", text, flags=re.MULTILINE)
    ]
    assert named == PUBLIC


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_lists_each_name_once(package):
    names = import_module(package).__all__
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("package", ["analysis.io", "analysis.participants", "analysis.report"])
def test_a_name_that_is_imported_on_use_is_no_module(package):
    module = import_module(package)
    assert not {submodule.name for submodule in iter_modules(module.__path__)} & set(module.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="read_everything"):
        import_module("analysis.io").read_everything  # noqa: B018

"""Every public name exists, has documentation and is on the page.

The page has no other name.
"""

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

PUBLIC = [(name, public) for name in PACKAGES for public in import_module(name).__all__]


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_a_public_name_exists_and_is_documented(package, name):
    summary = read_docstring(import_module(package), name).partition("\n")[0]
    assert summary, f"{package}.{name} has no first line"
    assert not summary.startswith(f"{name}("), f"{package}.{name} has only a generated docstring"


def test_the_page_is_the_generated_one():
    assert PAGE.read_text("utf-8") == build_page(), "write it again: python -m scripts.pages.api"


def test_each_package_has_its_generated_page():
    assert set(FOLDER.glob("*.md")) == {find_reference(name) for name in PACKAGES}
    for name in PACKAGES:
        text = find_reference(name).read_text("utf-8")
        assert text == build_reference(name), "write it again: python -m scripts.pages.api"


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

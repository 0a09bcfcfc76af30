"""The import contracts hold what modules say about themselves."""

import ast
import re
import tomllib
from collections import Counter

from tests.paths import ROOT

MOST_MODULES = 20  # in a folder; a fuller one is split by subject (docs/adr/0014)


def test_modules_that_call_themselves_pure_are_in_the_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = (entry for entry in settings["contracts"] if "call themselves pure" in entry["name"])
    left_out = []
    for package in set(settings["root_packages"]) - {"analysis", "modelserver", "touchstone"}:
        for path in (ROOT / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            words = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            if re.search(r"\bPure\b|\b[Nn]o Django\b", words) and not any(
                f"{module}.".startswith(f"{source}.") for source in contract["source_modules"]
            ):
                left_out.append(module)
    assert left_out == []


def test_no_folder_is_a_flat_bag_of_modules():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    folders = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for package in (*settings["root_packages"], "benchmarks", "scripts")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "__init__.py"
    )
    assert {folder: n for folder, n in folders.items() if n > MOST_MODULES} == {}

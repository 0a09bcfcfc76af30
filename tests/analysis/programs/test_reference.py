"""The page about programs is made from their tables."""

import re

from analysis.programs import MODULES, execute, parse
from analysis.programs.reference import build_page
from tests.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "programs.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == build_page(), (
        "run: .venv/bin/python -m analysis.programs.reference > docs/reference/programs.md"
    )


def test_it_names_every_module():
    named = set(re.findall(r"^\| `([a-z-]+)` \|", build_page(), re.MULTILINE))
    assert named >= {name for kind in MODULES for name in MODULES[kind] if not name.isdecimal()}


def test_its_example_comes_out_as_it_says():
    code = re.search(r"```python\n(.*?)```", build_page(), re.DOTALL)[1]
    comments = re.findall(r"# (\(.*?\))", code)
    program = parse(re.search(r'parse\("(.*?)"', code)[1], kind="boxes")
    dog, puppy = (0, (0.1, 0.2, 0.4, 0.9)), (1, (0.5, 0.5, 0.8, 0.9))
    assert comments == [str(program.walk), str(execute(program, {2: [dog, puppy], 4: [puppy]}))]

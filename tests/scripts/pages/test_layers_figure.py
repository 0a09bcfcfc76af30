"""The table of packages in ADR 14 counts the entries that are there."""

import re

from scripts.pages.layers_figure import count_imports
from tests.paths import ROOT


def test_the_table_counts_the_entries_of_each_package():
    text = (ROOT / "docs/adr/0014-rooms-named-by-subject.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| (\d+) \|", text, re.MULTILINE)
    _, _, entries = count_imports()
    counted = {package: len(names) for package, names in entries.items()}
    assert {package: int(number) for package, number in rows} == counted, (
        "run .venv/bin/python -m scripts.pages.layers_figure, and put its table into the page"
    )

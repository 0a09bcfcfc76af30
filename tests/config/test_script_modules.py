"""No module of the scripts leads back to itself.

Collecting them under hashed names would not end otherwise.
"""

import re
from graphlib import TopologicalSorter
from pathlib import Path

from tests.paths import ROOT

SCRIPTS = ROOT / "static/js"
# Collecting follows imports of types in comments, too.
IMPORTED = re.compile(r"""(?:\bfrom\s*|\bimport\s*\(?\s*)["'](\.{1,2}/[^"']+\.js)["']""")


def test_no_module_leads_back_to_itself() -> None:
    imported: dict[Path, set[Path]] = {
        path: {(path.parent / name).resolve() for name in IMPORTED.findall(path.read_text(encoding="utf-8"))}
        for path in SCRIPTS.rglob("*.js")
    }
    assert any(imported.values())
    TopologicalSorter(imported).prepare()  # raises CycleError with the modules

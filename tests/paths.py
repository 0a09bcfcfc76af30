"""Folders that tests read from."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "docs" / "examples"
# Real data that is not part of the project; tests that need it skip where it is absent.
DATA = Path(os.environ.get("TOUCHSTONE_DATA") or ROOT.parent / "shared" / "data")

"""Check format, lint, words, types, contracts and docs: ``make check``.

It changes nothing that git tracks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.processes import ROOT

BIN = Path(sys.executable).parent

CHECKS = {
    "format": [str(BIN / "ruff"), "format", "--check", "."],
    "lint": [str(BIN / "ruff"), "check", "."],
    "spelling": [str(BIN / "codespell"), "."],
    "words": [sys.executable, "-m", "scripts.words"],
    "types": [str(BIN / "mypy"), "."],
    "import contracts": [str(BIN / "lint-imports")],
    "doctests": [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--doctest-modules",
        "analysis",
    ],
    "migrations": [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"],
    "docs": [sys.executable, "-m", "scripts.docs"],
    "system checks": [sys.executable, "manage.py", "check", "--fail-level", "WARNING"],
}


def main() -> int:
    """Run every check, also after a failure. Return 0 if all pass, else 1."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="touchstone-check-") as var:
        # Django's settings and the types made from them need a key; no data of the demo is touched.
        env = {**os.environ, "VAR_DIR": var, "SECRET_KEY": "only-for-checks", "DEBUG": "true"}
        env.pop("DATABASE_URL", None)
        for name, command in CHECKS.items():
            print(f"== {name}", flush=True)
            if subprocess.call(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL):
                failed.append(name)
    print(f"Failed: {', '.join(failed)}" if failed else "All checks passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Check format, lint, words, types, contracts and docs: ``make check``.

It changes nothing that git tracks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.sites.processes import ROOT

BIN = Path(sys.executable).parent
TSC = [str(BIN / "node"), "node_modules/typescript/bin/tsc", "--project"]


def list_files_with_examples() -> list[str]:
    """Return our modules that hold doctests: importing all would take longer."""
    command = ["git", "grep", "--untracked", "--files-with-matches", "^ *>>> ", "--", "*.py"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


CHECKS = {
    "format": [str(BIN / "ruff"), "format", "--check", "."],
    "lint": [str(BIN / "ruff"), "check", "."],
    "spelling": [str(BIN / "codespell"), "."],
    "words": [sys.executable, "-m", "scripts.words"],
    "types": [str(BIN / "mypy"), "."],
    "types of page scripts": [*TSC, "jsconfig.json"],
    "types of the editor": [*TSC, "jsconfig.editor.json"],
    "import contracts": [str(BIN / "lint-imports")],
    "doctests": [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules"),
        *list_files_with_examples(),
    ],
    "generated pages and rules of the code": [
        *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"),
        "tests/test_function_lengths.py",
        "tests/test_writes.py",
        "tests/analysis/test_public_api.py",
        "tests/scripts/pages/test_commands.py",
        "tests/scripts/pages/test_roles.py",
    ],
    "migrations": [sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"],
    "docs": [sys.executable, "-m", "scripts.docs"],
    "system checks": [sys.executable, "manage.py", "check", "--fail-level", "WARNING"],
}

LONGEST = ("types", "import contracts", "docs")
AT_ONCE = 2


def main() -> int:
    """Run every check, also after a failure. Return 0 if all pass, else 1."""
    failed = []
    with tempfile.TemporaryDirectory(prefix="touchstone-check-") as var, ThreadPoolExecutor(AT_ONCE) as pool:
        # Django's settings and the types made from them need a key; no data of the demo is touched.
        env = {**os.environ, "VAR_DIR": var, "SECRET_KEY": "only-for-checks", "DEBUG": "true"}
        env.pop("DATABASE_URL", None)
        # The longest first, so that the others fill the time beside it; each tells what it found in its turn.
        begun = {name: pool.submit(_run, CHECKS[name], env) for name in dict.fromkeys([*LONGEST, *CHECKS])}
        for name in CHECKS:
            done = begun[name].result()
            print(f"== {name}", done.stdout, sep="\n", end="", flush=True)
            if done.returncode:
                failed.append(name)
    print(f"Failed: {', '.join(failed)}" if failed else "All checks passed.")
    return 1 if failed else 0


def _run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

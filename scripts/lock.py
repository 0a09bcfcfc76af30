"""Compile the pinned requirements: ``make lock``."""

from __future__ import annotations

import re
import subprocess
import sys

from scripts.processes import ROOT

OPTIONS = ["--strip-extras", "--no-emit-index-url", "--no-emit-find-links", "--no-header", "--quiet"]
# A local build of torch calls itself 2.13.0+cpu, a version that no index offers.
LOCAL_VERSION = re.compile(r"^(torch==[^+\s]+)\+\S+", re.MULTILINE)


def main() -> int:
    """Compile both files. Return 0, or 1 when the requirements cannot be met."""
    for name in ("requirements", "requirements-dev"):
        command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, f"{name}.in", "-o", f"{name}.txt"]
        if subprocess.call(command, cwd=ROOT):
            return 1
        path = ROOT / f"{name}.txt"
        path.write_text(LOCAL_VERSION.sub(r"\1", path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

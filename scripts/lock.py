"""Compile the pinned requirements, and their hashes: ``make lock``."""

from __future__ import annotations

import re
import subprocess
import sys

from scripts.sites.processes import ROOT

OPTIONS = ["--strip-extras", "--no-emit-index-url", "--no-emit-find-links", "--no-header", "--quiet"]
# A local build of torch calls itself 2.13.0+cpu, a version that no index offers.
LOCAL_VERSION = re.compile(r"^(torch==[^+\s]+)\+\S+", re.MULTILINE)


# Each compiled file with its source and its options. The hashes are those of the same versions; setuptools,
# which torch names, has one too.
FILES = {
    "requirements.txt": ("requirements.in", []),
    "requirements-dev.txt": ("requirements-dev.in", []),
    "requirements-hashed.txt": (
        "requirements.in", ["--constraint", "requirements.txt", "--generate-hashes", "--allow-unsafe"]
    ),
}  # fmt: skip


def main() -> int:
    """Compile all files. Return 0, or 1 when the requirements cannot be met."""
    for name, (source, options) in FILES.items():
        command = [sys.executable, "-m", "piptools", "compile", *OPTIONS, *options, source, "-o", name]
        if subprocess.call(command, cwd=ROOT):
            return 1
        path = ROOT / name
        path.write_text(LOCAL_VERSION.sub(r"\1", path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

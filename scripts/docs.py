"""Build the docs site and fail on broken links: ``make docs``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.sites.processes import ROOT


def main() -> int:
    """Build into build/docs. Return 0, or 1 after a warning or an error."""
    command = [str(Path(sys.executable).parent / "zensical"), "build", "--clean", "--strict"]
    status = subprocess.call(command, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"})
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compare the pinned packages with known vulnerabilities.

Run it by ``make audit``.

pip-audit and npm ask the services of their registries, so this needs the network and is no part of `make
check`. pip-audit has an environment of its own, for Touchstone needs none of its packages. It is strict: a
package that the service does not know is a failure, and not a package without vulnerabilities.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.sites.processes import ROOT

NPM = str(Path(sys.executable).parent / "npm")


def main() -> int:
    """Run both audits. Return 0 if neither finds or fails, else 1."""
    with tempfile.TemporaryDirectory(prefix="touchstone-audit-") as folder:
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-qq", "pip-audit"], check=True)
        audit = [
            python,
            "-m",
            "pip_audit",
            "--progress-spinner",
            "off",
            "--strict",
            "--disable-pip",
            "--no-deps",
        ]
        statuses = [
            subprocess.call([*audit, "--requirement", name], cwd=ROOT)
            for name in ("requirements.txt", "requirements-dev.txt")
        ]
    statuses.append(subprocess.call([NPM, "audit", "--audit-level=low"], cwd=ROOT))
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())

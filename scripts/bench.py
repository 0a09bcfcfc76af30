"""Runs every benchmark in ``benchmarks/``, one after the other: ``make bench``."""

from __future__ import annotations

import os
import subprocess
import sys

from scripts.processes import ROOT


def main() -> int:
    """Run them all, also after one has failed. Return 0 when all reached their bars, else 1."""
    names = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
    failed = []
    for name in names:
        print(f"== benchmarks.{name}", flush=True)
        if subprocess.call([sys.executable, "-m", f"benchmarks.{name}"], cwd=ROOT, env=dict(os.environ)):
            failed.append(name)
    print(f"Failed: {', '.join(failed)}" if failed else f"{len(names)} benchmarks done.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

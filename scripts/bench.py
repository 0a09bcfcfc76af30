"""Run every benchmark in ``benchmarks/``: ``make bench``."""

from __future__ import annotations

import os
import subprocess
import sys

from scripts.sites.processes import ROOT


def main() -> int:
    """Run all benchmarks; return 0 if all reached their bars, else 1.

    The others run even after one has failed.
    """
    paths = sorted((ROOT / "benchmarks").glob("*/[!_]*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        if subprocess.call([sys.executable, "-m", name], cwd=ROOT, env=dict(os.environ)):
            failed.append(name)
    print(f"Failed: {', '.join(failed)}" if failed else f"{len(names)} benchmarks done.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

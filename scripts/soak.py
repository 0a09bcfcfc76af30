"""Run the suites of attacks and faults at full size: ``make soak``.

``python -m scripts.soak [SUITE ...] [--seed SEED] [--count N]`` runs single suites, or others sizes. Each
suite prints what it was given; the small part of each runs with every test run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import NamedTuple

from scripts.sites.processes import ROOT


class Suite(NamedTuple):
    """Tests, the size of a full run, and the unit of that size."""

    tests: list[str]
    size: int
    unit: str


SUITES = {
    "matrix": Suite(["tests/access"], 1, "every address, role, object and method"),
    "schemathesis": Suite(["tests/api/test_openapi.py"], 100, "requests of each operation"),
    "malformed": Suite(
        [
            "tests/soak/test_malformed_requests.py",
            "tests/imports",
            "tests/soak/test_malformed_definitions.py",
            "tests/soak/test_broken_http.py",
        ],
        20_000,
        "malformed inputs",
    ),
    "kills": Suite(["tests/soak/test_kills.py"], 100, "kills, half of them with PostgreSQL"),
    "scaled": Suite(["tests/deploy"], 28, "kills on a site of 18 programs, people during an upgrade"),
    "deployed": Suite(["tests/soak/test_clean_clone.py"], 1, "a clean clone, deployed and upgraded"),
    "walkthrough": Suite(["tests/soak/test_walkthrough.py"], 1, "a page's commands in a fresh environment"),
    "ray": Suite(["tests/soak/test_ray.py"], 24, "questions predicted, scored and served by Ray"),
    "variants": Suite(
        [
            *("tests/functional", "tests/load", "tests/modelserver/systems/language"),
            *("tests/test_trends.py", "tests/test_distribution.py"),
        ],
        1,
        "every width, theme, database, documented command and shipped model",
    ),
    "faults": Suite(
        ["tests/soak/test_faults.py", "tests/soak/test_lying_server.py", "tests/fault"], 100, "faults"
    ),
}


def main() -> int:
    """Run the suites; return 0 if all passed, else 1."""
    parser = argparse.ArgumentParser(prog="python -m scripts.soak", description="Attacks and faults.")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)} (default: all)")
    parser.add_argument(
        "--seed", type=int, default=int(time.strftime("%Y%m%d")), help="gives the same inputs again"
    )
    parser.add_argument("--count", type=int, help="how many inputs or events (default: those of a full run)")
    options = parser.parse_args()
    if unknown := set(options.suites) - SUITES.keys():
        parser.error(f"there is no suite {', '.join(sorted(unknown))}")
    results = {name: run(name, options.seed, options.count) for name in options.suites or SUITES}
    for name, (passed, seconds) in results.items():
        print(f"{name}: {'passed' if passed else 'FAILED'} in {seconds:.0f} s, seed {options.seed}")
    return 0 if all(passed for passed, _ in results.values()) else 1


def run(name: str, seed: int, count: int | None) -> tuple[bool, float]:
    """Run a suite; return whether it passed, and its seconds."""
    suite = SUITES[name]
    number = count or suite.size
    print(f"\n== {name}: {number} ({suite.unit}), seed {seed}", flush=True)
    env = {**os.environ, "SOAK_SEED": str(seed), "SOAK_COUNT": str(number)}
    begun = time.monotonic()
    # -s: the suites print what was killed and stored.
    status = subprocess.call([sys.executable, "-m", "pytest", "-q", "-s", *suite.tests], cwd=ROOT, env=env)
    return status == 0, time.monotonic() - begun


if __name__ == "__main__":
    sys.exit(main())

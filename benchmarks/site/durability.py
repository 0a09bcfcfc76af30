"""Measure what it costs that SQLite waits for the disk at each write.

Run ``python -m benchmarks.site.durability``.

Walks a study on the real web server with ``SQLITE_SYNCHRONOUS`` set to NORMAL and to FULL in turns, with
participants who answer as fast as they can. Only FULL keeps every acknowledged answer through a power cut.

Bar: with FULL, at least a third of the requests a second that NORMAL answers.
"""

from __future__ import annotations

import argparse
import json
import sys

from benchmarks.site.participants import load
from scripts.sites.example import load_example, make_link
from scripts.sites.site import run_site

USERS = (1, 10, 50)
LEAST_SHARE = 1 / 3
COLUMNS = ("requests_per_second", "p50_ms", "p95_ms")


def measure(mode: str, seconds: float) -> list[dict[str, object]]:
    """Return the rates and waiting times of one mode."""
    with run_site(
        worker=False, extra={"SQLITE_SYNCHRONOUS": mode, "RATE_LIMITS": "false"}, as_deployed=True
    ) as site:
        load_example(site)
        link = make_link(site)
        load(link, 4, 0.0, 1.0)  # the first requests of a process pay for its imports
        results = [load(link, users, 0.0, seconds) for users in USERS]
    return [
        {"mode": mode, "users": result["users"], **{name: result[name] for name in COLUMNS}}
        for result in results
    ]


def main() -> int:
    """Print one JSON line per mode, round and number of participants."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site.durability", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    rows = [
        row
        for _round in range(options.rounds)
        for mode in ("NORMAL", "FULL")
        for row in measure(mode, options.seconds)
    ]
    for row in rows:
        print(json.dumps(row))
    total = {
        mode: sum(float(str(row["requests_per_second"])) for row in rows if row["mode"] == mode)
        for mode in ("NORMAL", "FULL")
    }
    return int(total["FULL"] < LEAST_SHARE * total["NORMAL"])


if __name__ == "__main__":
    sys.exit(main())

"""Measure participants' requests a second and waiting times.

Run ``python -m benchmarks.site.participants``.

Walks a real study on the real web server with 1, 10, 50 and 200 participants at once: first as fast as they
can, then 200 who think about two seconds before each page. Server, database and load share the machine. Every
accepted answer is then looked for in the database: none may be missing or stored twice.

Bars: 200 requests a second, which is ten times what oTree 6.0.15 serves on two cores, from 10 participants
on; with thinking participants, 95 of 100 requests answered within 300 ms.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from scripts.sites import servers
from scripts.sites.example import load_example, make_link
from scripts.sites.processes import ROOT
from scripts.sites.site import Site, run_site

LEVELS = ((1, 0.0), (10, 0.0), (50, 0.0), (200, 0.0), (200, 2.0))
LEAST_RATE = 200.0
MOST_P95_MS = 300.0

COUNT = """
import json
from studyapp.models import Participant, Trial
answered = Trial.objects.filter(answers__isnull=False)
print(json.dumps({"participants": Participant.objects.count(), "answered": answered.count()}))
"""


def load(link: str, users: int, think: float, seconds: float) -> dict[str, float]:
    """Run the participants in another process; return the measurements."""
    command = [sys.executable, "-m", "scripts.load.walkers", link, "--users", str(users)]
    command += ["--seconds", str(seconds), "--think", str(think), "--seed", str(users)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{users} participants: {done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    return {"users": users, "think_s": think, **result}


def count_stored_rows(site: Site) -> dict[str, int]:
    """Return how many participants and answered trials the database holds."""
    return json.loads(site.manage("shell", "--no-imports", "--command", COUNT))


def measure(site: Site, seconds: float) -> list[dict[str, float]]:
    """Run every level on one site; SystemExit if an answer is lost."""
    load_example(site)
    link = make_link(site)
    load(link, 4, 0.0, 1.0)  # the first requests of a process pay for its imports
    results = []
    for users, think in LEVELS:
        before = count_stored_rows(site)
        result = load(link, users, think, seconds * (2 if think else 1))
        after = count_stored_rows(site)
        for name, key in (("participants", "consents"), ("answered", "items")):
            if after[name] - before[name] != result[key]:
                raise SystemExit(
                    f"{result[key]} {key} were accepted, {after[name] - before[name]} are stored"
                )
        results.append(result)
        print(format_line(result), flush=True)
    return results


def format_line(result: dict[str, float]) -> str:
    """Format a level as a line of the table."""
    pace = f"think {result['think_s']:.0f} s" if result["think_s"] else "flat out"
    return (
        f"{result['users']:>5.0f} {pace:>9} {result['requests_per_second']:>11.0f} {result['p50_ms']:>8.0f} "
        f"{result['p95_ms']:>8.0f} {result['max_ms']:>8.0f} {result['items']:>8.0f}"
    )


def list_missed_bars(results: list[dict[str, float]]) -> list[str]:
    """Return a sentence for each bar that was not reached."""
    sentences = []
    for result in results:
        if result["think_s"] and result["p95_ms"] > MOST_P95_MS:
            sentences.append(f"{result['users']} thinking participants: p95 {result['p95_ms']:.0f} ms")
        if not result["think_s"] and result["users"] >= 10 and result["requests_per_second"] < LEAST_RATE:
            rate = result["requests_per_second"]
            sentences.append(f"{result['users']} participants: {rate:.0f} requests/s")
    return sentences


def main() -> int:
    """Print a table, write the figures, return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.participants", description="Load of a study."
    )
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    parser.add_argument("--seconds", type=float, default=8.0, help="for each level; twice that when thinking")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the figures here too")
    options = parser.parse_args()
    database = "PostgreSQL" if options.postgres else "SQLite"
    print(f"{database}, granian with 2 processes")
    print("users      pace  requests/s   p50 ms   p95 ms   max ms  answers", flush=True)
    with ExitStack() as stack:
        url = stack.enter_context(servers.run_postgres()) if options.postgres else None
        results = measure(
            stack.enter_context(run_site(postgres=url, worker=False, as_deployed=True)), options.seconds
        )
    if options.out:
        options.out.write_text(json.dumps({"database": database, "levels": results}, indent=1) + "\n")
    sentences = list_missed_bars(results)
    print("\n".join([f"Missed: {sentence}" for sentence in sentences] or ["All bars reached."]))
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())

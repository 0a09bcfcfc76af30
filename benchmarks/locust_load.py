"""Load from Locust: participants and annotators, sustained and in a burst, on both databases.

Run ``python -m benchmarks.locust_load [--postgres] [--otree]``.

Locust runs in an environment of its own, which is made once in ``--environment``. Server, database and load
share the machine, so processor time of the web server a request says more than requests a second. With
``--otree`` a study of oTree with as many pages is served by as many processes in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._otree_study import OTREE, otree_study
from benchmarks.annotation_load import SEED
from scripts import servers
from scripts.annotators import processor_seconds
from scripts.example import load_example, new_link
from scripts.processes import ROOT
from scripts.site import Site, running_site

REQUIREMENTS = ROOT / "benchmarks/locust_requirements.txt"
SCENARIOS = ROOT / "benchmarks/_locust_scenarios.py"
ITEMS = 2_000  # of the annotators' project
SHAPES = ("sustained", "burst")


@dataclass(frozen=True)
class Figures:
    """What a run of Locust found."""

    name: str
    shape: str
    users: int
    requests: int
    failures: int
    seconds: float
    median_ms: float
    p95_ms: float
    processor_ms: float  # of the web server a request

    def row(self) -> str:
        """Return the figures as a row of Markdown."""
        return (
            f"| {self.name} | {self.shape} | {self.users} | {self.requests / self.seconds:.0f} "
            f"| {self.failures} | {self.median_ms:.0f} ms | {self.p95_ms:.0f} ms "
            f"| {self.processor_ms:.2f} ms |"
        )


HEAD = (
    "| | load | at once | requests/s | failed | median | 95 % within | web server's processor a request |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|"
)


def installed(folder: Path, *requirements: str) -> Path:
    """Make an environment with some packages unless it is there; return its folder of programs."""
    programs = folder / "bin"
    if not (folder / ".complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *requirements], check=True)
        (folder / ".complete").touch()
    return programs


def percentile(times: Mapping[int, int], share: float) -> float:
    """Return a percentile of times given as milliseconds and how often each was."""
    left = share * sum(times.values())
    for milliseconds, count in sorted(times.items()):
        left -= count
        if left <= 0:
            return milliseconds
    return 0.0


def run_locust(
    programs: Path, name: str, shape: str, users: int, seconds: float, url: str, leader: int, **env: str
) -> Figures:
    """Run Locust against a server; ``leader`` is its process group."""
    ours = next(path for path in sys.path if path.endswith("site-packages"))
    settings = {
        "LOAD_SHAPE": shape, "LOAD_USERS": str(users), "LOAD_SECONDS": str(seconds),
        "PYTHONPATH": f"{ROOT}:{ours}", **env,
    }  # fmt: skip
    busy = processor_seconds(leader)
    command = [programs / "locust", "-f", SCENARIOS, "--headless", "--json", "--host", url, "--only-summary"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600
    )
    busy = processor_seconds(leader) - busy
    if not done.stdout.strip().startswith("["):
        raise SystemExit(f"Locust: {done.stderr[-3000:]}")
    return figures(json.loads(done.stdout), name, shape, users, busy)


def figures(entries: list[dict[str, Any]], name: str, shape: str, users: int, busy: float) -> Figures:
    """Sum the kinds of requests up."""
    times: dict[int, int] = {}
    for entry in entries:
        for milliseconds, count in entry["response_times"].items():
            times[int(float(milliseconds))] = times.get(int(float(milliseconds)), 0) + count
    requests = sum(entry["num_requests"] for entry in entries)
    begun = min(entry["start_time"] for entry in entries)
    ended = max(entry["last_request_timestamp"] or begun for entry in entries)
    return Figures(
        name, shape, users, requests, sum(entry["num_failures"] for entry in entries), ended - begun,
        percentile(times, 0.5), percentile(times, 0.95), 1000 * busy / max(requests, 1),
    )  # fmt: skip


def ours(site: Site, programs: Path, options: argparse.Namespace) -> Iterator[Figures]:
    """Yield the figures of our site."""
    leader = site.parts.pids["web server"]
    load_example(site)
    link = new_link(site)
    for users in options.users:
        for shape in SHAPES:
            yield run_locust(
                programs, "participants", shape, users, options.seconds, site.url, leader, LOAD_LINK=link
            )
    most = max(options.users)
    for turn, shape in enumerate(SHAPES):
        code = SEED.format(items=ITEMS, people=most).replace('"load"', f'"load-{turn}"')
        path = site.var / "sessions.json"
        printed = site.manage("shell", "--no-imports", "--command", code)
        path.write_text(printed.splitlines()[-1], encoding="utf-8")
        yield run_locust(
            programs, "annotators", shape, most, options.seconds, site.url, leader,
            LOAD_SESSIONS=str(path), LOAD_PROJECT=f"load-{turn}",
        )  # fmt: skip


def main() -> int:
    """Print a table; return 1 if a request failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.locust_load", description="Load from Locust.")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    parser.add_argument("--users", type=int, nargs="+", default=[10, 50], help="at once")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run")
    parser.add_argument("--otree", action="store_true", help="measure oTree in the same run")
    parser.add_argument(
        "--environment", type=Path, default=Path(tempfile.gettempdir()) / "touchstone-locust",
        help="folder of the environments of Locust and oTree",
    )  # fmt: skip
    options = parser.parse_args()
    programs = installed(options.environment / "locust", "--requirement", str(REQUIREMENTS))
    print(f"{'PostgreSQL' if options.postgres else 'SQLite'}, two web processes\n{HEAD}", flush=True)
    failures = 0
    with ExitStack() as lasting:
        url = lasting.enter_context(servers.postgres()) if options.postgres else None
        extra = {"RATE_LIMITS": "false"}
        site = lasting.enter_context(running_site(postgres=url, worker=False, extra=extra))
        for found in ours(site, programs, options):
            failures += found.failures
            print(found.row(), flush=True)
    if options.otree:
        environment = installed(options.environment / "otree", OTREE)
        with (
            tempfile.TemporaryDirectory(prefix="touchstone-otree-") as folder,
            otree_study(environment, Path(folder)) as (link, leader),
        ):
            for users in options.users:
                found = run_locust(
                    programs, "oTree", "sustained", users, options.seconds, link, leader, LOAD_OTREE=link
                )
                print(found.row(), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

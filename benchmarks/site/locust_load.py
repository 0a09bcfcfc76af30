"""Load a site with participants and annotators by Locust.

Run ``python -m benchmarks.site.locust_load [--postgres] [--otree]
[--annotation-tools label-studio doccano potato]``.

The load is sustained or comes in a burst. Locust and oTree run in environments of their own, which are made
once. Server, database and load share the machine, so that the server's processor time of a request says more
than requests a second; that of PostgreSQL is not counted. With ``--otree`` a study of oTree with as many
items is served in the same run, and takes turns with ours: in memory, where oTree keeps all until it ends,
or with ``--postgres`` on the same server. Bars: 5 times the requests of oTree, and a quarter of its processor
time a request.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.site._annotation_tools import serve_doccano, serve_label_studio, serve_potato
from benchmarks.site._otree_study import serve_otree_study
from benchmarks.site.annotation_load import SEED
from benchmarks.site.participants import load as warm_up
from scripts.load.annotators import read_group_seconds
from scripts.sites import servers
from scripts.sites.environments import add_ours, install_environment
from scripts.sites.example import load_example, make_link
from scripts.sites.processes import ROOT, Supervisor, free_port
from scripts.sites.site import run_site

SCENARIOS = ROOT / "benchmarks/site/_locust_scenarios.py"
LOCUST, OTREE = ("locust==2.47.0",), ("otree==6.0.15", "psycopg2-binary==2.9.13")
TOOLS = {
    "label-studio": (("label-studio==1.23.2",), serve_label_studio),
    # With later numpy and marshmallow it does not start.
    "doccano": (("doccano==1.8.4", "numpy<2", "marshmallow<4"), serve_doccano),
    "potato": (("potato-annotation==2.12.1",), serve_potato),
}
LAST = {  # how the request ends that finishes an item
    "annotators": "/submit/", "label-studio": "/annotations/", "doccano": "/states",
    "potato": "/updateinstance",
}  # fmt: skip
ITEMS = 30_000  # of the annotators' project
LEAST_RATE, LEAST_COST = 5.0, 4.0  # times oTree's
HEAD = (
    "| | load | at once | requests/s | failed | median | 95 % within | server's processor a request "
    "| an item |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|--:|"
)


@dataclass
class Load:
    """A kind of load on a server, and its figures from all turns.

    ``leader`` is the server's process group; ``env`` are the settings of the scenarios.
    """

    name: str
    shape: str
    users: int
    url: str
    leader: int
    env: dict[str, str]
    times: Counter[float] = field(default_factory=Counter)  # of requests by milliseconds
    failures: int = 0
    items: int = 0  # that were annotated
    seconds: float = 0.0
    busy: float = 0.0  # processor seconds of the server

    def run(self, locust: Path, seconds: float) -> None:
        """Run Locust once and add its figures."""
        address = urlsplit(self.url)
        command = [str(locust), "-f", str(SCENARIOS), "--headless", "--only-summary", "--json"]
        command += ["--host", f"{address.scheme}://{address.netloc}"]
        settings = {"LOAD_SHAPE": self.shape, "LOAD_USERS": str(self.users), "LOAD_SECONDS": str(seconds)}
        busy = read_group_seconds(self.leader)
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | settings | self.env, capture_output=True, text=True
        )
        self.busy += read_group_seconds(self.leader) - busy
        if not done.stdout.startswith("["):
            raise SystemExit(f"Locust: {done.stderr[-3000:]}")
        self.seconds += seconds
        for entry in json.loads(done.stdout):
            self.failures += entry["num_failures"]
            if entry["name"].endswith(LAST.get(self.name, "\n")):
                self.items += entry["num_requests"] - entry["num_failures"]
            for milliseconds, count in entry["response_times"].items():
                self.times[float(milliseconds)] += count
        if not self.times or (self.name in LAST and not self.items):
            raise SystemExit(f"{self.name}: nothing was finished in {seconds:g} s. {done.stderr[-3000:]}")

    @property
    def rate(self) -> float:
        """Return requests a second."""
        return self.times.total() / self.seconds

    @property
    def cost_ms(self) -> float:
        """Return the server's processor milliseconds a request."""
        return 1000 * self.busy / self.times.total()

    def row(self) -> str:
        """Return the figures as a row of Markdown."""
        ordered = sorted(self.times.elements())
        an_item = f"{1000 * self.busy / self.items:.0f} ms" if self.items else ""
        return (
            f"| {self.name} | {self.shape} | {self.users} | {self.rate:.0f} | {self.failures} "
            f"| {ordered[len(ordered) // 2]:.0f} ms | {ordered[int(0.95 * len(ordered))]:.0f} ms "
            f"| {self.cost_ms:.2f} ms | {an_item} |"
        )


def prepare_loads(lasting: ExitStack, options: argparse.Namespace) -> list[Load]:
    """Start the servers; return the loads of a turn."""
    postgres = lasting.enter_context(_run_postgres()) if options.postgres else ""
    extra = {"RATE_LIMITS": "false"}
    site = lasting.enter_context(
        run_site(postgres=postgres or None, worker=False, extra=extra, as_deployed=True)
    )
    load_example(site)
    link, most = make_link(site), max(options.users)
    warm_up(link, 4, 0.0, 2.0)
    seed = SEED.format(items=ITEMS, people=most, task="")
    printed = site.manage("shell", "--no-imports", "--command", seed)
    sessions = site.var / "sessions.json"
    sessions.write_text(printed.splitlines()[-1], encoding="utf-8")
    leader = site.parts.pids["web server"]
    study, work = {"LOAD_LINK": link}, {"LOAD_SESSIONS": str(sessions)}
    sustained = [Load("participants", "sustained", users, link, leader, study) for users in options.users]
    if options.otree:
        programs = install_environment(options.environments / "otree", *OTREE)
        folder = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-otree-")))
        link, its = lasting.enter_context(serve_otree_study(programs, folder, postgres))
        other = {"LOAD_LINK": link, "LOAD_OTREE": "1"}
        sustained += [Load("oTree", "sustained", users, link, its, other) for users in options.users]
        sustained.sort(key=lambda load: load.users)
    return [
        *sustained,
        Load("participants", "burst", most, site.url, leader, study),
        Load("annotators", "sustained", most, site.url, leader, work),
        Load("annotators", "burst", most, site.url, leader, work),
        *start_other_annotators(lasting, options),
    ]


def start_other_annotators(lasting: ExitStack, options: argparse.Namespace) -> Iterator[Load]:
    """Start the other tools of annotation; yield their loads."""
    for tool in options.annotation_tools:
        requirements, serve = TOOLS[tool]
        programs, people = install_environment(options.environments / tool, *requirements), max(options.users)
        folder = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix=f"touchstone-{tool}-")))
        served = lasting.enter_context(serve(programs, folder, people))
        sessions = folder / "sessions.json"
        sessions.write_text(json.dumps(served.sessions), encoding="utf-8")
        env = {"LOAD_SESSIONS": str(sessions), "LOAD_TOOL": tool}
        yield Load(tool, "sustained", people, served.url, served.leader, env)


@contextmanager
def _run_postgres() -> Iterator[str]:
    """Run PostgreSQL, which waits for the disk as it does by default."""
    with tempfile.TemporaryDirectory(prefix="touchstone-pg-") as folder, Supervisor() as parts:
        port = free_port()
        parts.start(servers.create_killable_postgres(Path(folder), port))
        parts.wait_ready()
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"


def list_missed_bars(measured: list[Load]) -> list[str]:
    """Return a sentence for each bar that was not reached."""
    ours = [load for load in measured if load.name in ("participants", "annotators")]
    sentences = [f"{load.name}: {load.failures} requests failed" for load in ours if load.failures]
    by_name = {(load.name, load.shape, load.users): load for load in measured}
    for load in measured:
        if load.name == "oTree":
            own = by_name["participants", load.shape, load.users]
            rate, cost = own.rate / load.rate, load.cost_ms / own.cost_ms
            print(f"{load.users} at once: {rate:.1f} times oTree's requests, {cost:.1f} times less processor")
            if rate < LEAST_RATE or cost < LEAST_COST:
                sentences.append(f"{load.users} at once: the bars are {LEAST_RATE:g} and {LEAST_COST:g}")
    return sentences


def main() -> int:
    """Print a table; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.locust_load", description="Load from Locust."
    )
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    parser.add_argument("--otree", action="store_true", help="measure oTree in the same run")
    parser.add_argument("--annotation-tools", nargs="+", choices=TOOLS, default=[], help="to measure as well")
    parser.add_argument("--users", type=int, nargs="+", default=[10, 50], help="at once")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each load in a turn")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument(
        "--environments", type=Path, default=Path(tempfile.gettempdir()) / "touchstone-locust",
        help="folder of the environments of Locust and oTree",
    )  # fmt: skip
    options = parser.parse_args()
    locust = install_environment(options.environments / "locust", *LOCUST) / "locust"
    add_ours(locust.parent)  # the scenarios import them
    with ExitStack() as lasting:
        measured = prepare_loads(lasting, options)
        print(f"{'PostgreSQL' if options.postgres else 'SQLite'}, two web processes\n{HEAD}", flush=True)
        for turn in range(1, options.turns + 1):
            for load in measured:
                load.run(locust, options.seconds)
                print(load.row(), f"turns: {turn}, load average: {os.getloadavg()[0]:.1f}", flush=True)
    print("\n".join([HEAD, *(load.row() for load in measured)]))
    sentences = list_missed_bars(measured)
    print("\n".join([f"Missed: {sentence}" for sentence in sentences] or ["All bars reached."]))
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())

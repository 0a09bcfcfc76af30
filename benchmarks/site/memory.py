"""Memory of a running site at idle: ``python -m benchmarks.site.memory``.

Starts everything as the demo does, asks each part for something once, waits, and adds up the proportional set
size (PSS) of every process: memory that several processes share counts once. The resident set size (RSS)
beside it counts shared memory once for each process.

Bars: web server, worker and broker together under 400 MB; the model server with the small systems under
700 MB. 1 MB is 1,000,000 bytes.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import httpx

from scripts.sites.example import load_example
from scripts.sites.processes import ROOT
from scripts.sites.site import Site, run_site

MOST_SITE_MB = 400.0
MOST_MODEL_SERVER_MB = 700.0
SITE = ("web server", "worker", "broker")


def list_group_processes(leader: int) -> list[int]:
    """Return the process ids of a process group."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        if int(fields[2]) == leader:
            processes.append(int(folder.name))
    return processes


def read_megabytes(pid: int, name: str) -> float:
    """Return a line of a process's memory, such as Pss or Rss, in MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    match = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    if match is None:
        raise RuntimeError(f"the kernel says nothing of {name}")
    return int(match[1]) * 1024 / 1e6


def use(site: Site) -> None:
    """Have every part do something once, so that everything is loaded."""
    load_example(site, questions=30)
    for _number in range(20):  # both web processes
        httpx.get(site.url + "/accounts/login/").raise_for_status()
    for system in list_served_readers(site):
        site.manage("predict", "--dataset", "example", "--system", system, "--wait")


def list_served_readers(site: Site) -> list[str]:
    """Return the systems of the model server that answer questions."""
    answer = httpx.get(f"{site.stack.model_url}/v1/systems").raise_for_status().json()
    return [system["name"] for system in answer["systems"] if system["kind"] == "reader"]


def measure(site: Site, idle: float) -> dict[str, tuple[int, float, float]]:
    """Return processes, PSS and RSS (MB) of each part after a pause."""
    use(site)
    time.sleep(idle)
    sizes = {}
    for name, leader in site.parts.pids.items():
        pids = list_group_processes(leader)
        pss, rss = (sum(read_megabytes(pid, kind) for pid in pids) for kind in ("Pss", "Rss"))
        sizes[name] = (len(pids), pss, rss)
    return sizes


def main() -> int:
    """Print a table and return 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site.memory", description="Memory at idle.")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds to wait after the last request")
    options = parser.parse_args()
    if not (ROOT / "modelserver/weights").is_dir():
        raise SystemExit("modelserver/weights is missing: there are no systems to measure")
    with run_site(fake=(), as_deployed=True) as site:
        sizes = measure(site, options.idle)
        systems = ", ".join(list_served_readers(site))
    print(f"systems used: {systems}\n{'part':<14} {'processes':>9} {'PSS MB':>8} {'RSS MB':>8}")
    for name, (count, pss, rss) in sizes.items():
        print(f"{name:<14} {count:>9} {pss:>8.0f} {rss:>8.0f}")
    total = sum(sizes[name][1] for name in SITE)
    model = sizes["model server"][1]
    print(f"web server, worker and broker: {total:.0f} MB, bar {MOST_SITE_MB:.0f} MB")
    print(f"model server: {model:.0f} MB, bar {MOST_MODEL_SERVER_MB:.0f} MB")
    return 1 if total > MOST_SITE_MB or model > MOST_MODEL_SERVER_MB else 0


if __name__ == "__main__":
    sys.exit(main())

"""Run all tests with real servers: ``make test``.

As root it installs missing servers and Chromium from Debian. It starts the servers and runs all tests on
SQLite and, at the same time, those marked ``database`` on PostgreSQL. Arguments go to pytest. Tests whose
server is missing are skipped and counted; with TOUCHSTONE_REQUIRE_SERVICES=1 they fail instead.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO
from unittest.mock import patch

from scripts.debian import provide
from scripts.sites import servers
from scripts.sites.processes import ROOT, end, interrupt_on_signals

# Twice as many processes as cores: tests that start a site wait for most of their time. They come first, as
# tests/conftest.py orders them, and not last, as files with few tests would.
PARALLEL = ["-n", "4", "--dist", "loadfile", "--no-loadscope-reorder"]
ONE_PROCESS = ["-n", "1", *PARALLEL[2:]]
MEMORY = Path("/dev/shm")  # noqa: S108 - the folder below has a random name
ROOM = 6 << 30  # bytes; temporary files took up 1.5 GB at once
SLOWEST = 40  # files of tests named at the end of a run
SERVERS = {
    "TEST_POSTGRES_URL": servers.run_postgres,
    "TEST_VALKEY_URL": servers.run_valkey,
    "TEST_REDIS_URL": servers.run_redis,
}


def main() -> int:
    """Run both passes; return 0 if no test failed, else 1."""
    with interrupt_on_signals(), ExitStack() as stack:
        stack.enter_context(keep_files_in_memory())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-results-")))
        provide()
        prepared = stack.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-prepared-"))
        env = {**os.environ, **start_servers(stack), "TEST_PREPARED": prepared}
        env.pop("DATABASE_URL", None)
        try:
            passes = run_passes(env, folder, sys.argv[1:])
        except KeyboardInterrupt:
            print("\nStopped; the servers are ended.", file=sys.stderr)
            return 130
        return print_summary(passes)


@contextmanager
def keep_files_in_memory() -> Iterator[None]:
    """Put temporary files into a folder in memory, if that has room.

    Tests write, sync and delete many small files, and on a disk they wait for each.
    """
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="touchstone-", dir=MEMORY) as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user
        with patch.dict(os.environ, {"TMPDIR": folder}), patch.object(tempfile, "tempdir", folder):
            yield


def start_servers(stack: ExitStack) -> dict[str, str]:
    """Start the available servers; return their URLs by variable name."""
    urls = {}
    for variable, server in SERVERS.items():
        try:
            urls[variable] = stack.enter_context(server())
        except servers.NotAvailable as missing:
            print(missing, flush=True)
    return urls


def run_passes(env: Mapping[str, str], folder: Path, arguments: list[str]) -> dict[str, tuple[int, Path]]:
    """Run pytest on SQLite and beside it on PostgreSQL.

    The output of the pass on PostgreSQL comes afterwards. Return status and result file of each pass.
    """
    results = {name: folder / f"{name}.xml" for name in ("SQLite", "PostgreSQL")}
    done = {}
    with ExitStack() as stack:
        beside = None
        if "TEST_POSTGRES_URL" in env:
            log = stack.enter_context((folder / "PostgreSQL.log").open("w+", encoding="utf-8"))
            options = [*ONE_PROCESS, "-m", "database", f"--junit-xml={results['PostgreSQL']}", *arguments]
            beside = stack.enter_context(start_pytest(options, leave_for_postgres(env), log))
        print("\n== Tests on SQLite", flush=True)
        options = [*PARALLEL, f"--junit-xml={results['SQLite']}", *arguments]
        done["SQLite"] = stack.enter_context(start_pytest(options, env)).wait(), results["SQLite"]
        if beside is not None:
            done["PostgreSQL"] = beside.wait(), results["PostgreSQL"]
            log.seek(0)
            print(f"\n== Tests on PostgreSQL\n{log.read()}", flush=True)
    return done


def leave_for_postgres(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the pass on PostgreSQL.

    It starts its own Redis and Valkey. Databases of those are numbered by pytest's processes, and both passes
    count theirs from 0.
    """
    kept = {name: value for name, value in env.items() if name not in ("TEST_VALKEY_URL", "TEST_REDIS_URL")}
    return {**kept, "DATABASE_URL": env["TEST_POSTGRES_URL"]}


@contextmanager
def start_pytest(
    options: list[str], env: Mapping[str, str], output: IO[str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start pytest, with output into a file if given; end it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options], cwd=ROOT, env=dict(env), stdin=subprocess.DEVNULL,
        stdout=output, stderr=subprocess.STDOUT if output else None, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        # SIGINT makes pytest tear its fixtures down, and with them what they started.
        end(process, signal.SIGINT, 30.0)


def print_summary(passes: Mapping[str, tuple[int, Path]]) -> int:
    """Print why tests were skipped and how many passed and failed."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for _, results in passes.values():
        if results.exists():
            count_outcomes(results, counts, reasons)
    print()
    for reason, times in reasons.most_common():
        print(f"Skipped {times}: {reason}")
    # pytest's status 5 says that no test was chosen: fine for one pass, not for both.
    print_slowest(results for _, results in passes.values() if results.exists())
    failed = any(status not in (0, 5) for status, _ in passes.values())
    if failed and not counts["failed"]:
        print("pytest itself failed; its message is above.")
        counts["failed"] = 1
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if failed or not counts["passed"] else 0


def print_slowest(files: Iterable[Path]) -> None:
    """Print the test files that took longest, over all passes."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for results in files:
        for case in ElementTree.parse(results).iter("testcase"):  # noqa: S314 - pytest wrote it
            seconds[case.get("classname") or ""] += float(case.get("time") or 0)
    ordered = sorted(seconds, key=lambda name: -seconds[name])
    if len(ordered) > SLOWEST:
        slowest = ", ".join(f"{name} {seconds[name]:.0f} s" for name in ordered[:SLOWEST])
        print(f"Longest: {slowest}")


def count_outcomes(results: Path, counts: Counter[str], reasons: Counter[str]) -> None:
    """Add the outcomes of one pass and the reasons of its skips."""
    for case in ElementTree.parse(results).iter("testcase"):  # noqa: S314 - pytest wrote it
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
        elif skip is not None:
            counts["skipped"] += 1
            reasons[re.sub(r"^Skipped: ", "", skip.get("message") or "no reason given")] += 1
        else:
            counts["passed"] += 1


if __name__ == "__main__":
    sys.exit(main())

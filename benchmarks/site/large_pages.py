"""Measure the pages that list rows, with 100,000 rows of each kind.

Run ``python -m benchmarks.site.large_pages``, and again with ``--postgres``.

`benchmarks.site._large_data` fills a database and names the pages: the first, a middle and the last part of
each table, each filter, and searches for a common word and for one that nothing has. Each page is opened in
the site's own middleware, ``--times`` times in a process that has opened no page before (cold: it connects,
compiles templates and fills its caches), and as often in one that has just opened it (warm).

Bar: each page opens within 300 ms at the 95th percentile, cold and warm. "Busy" is the processor time of the
process and of its server process of PostgreSQL, 95 of 100 within; on a machine with other work it says what
the clock would say without.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from scripts.sites import servers
from scripts.sites.processes import ROOT

MOST_MS = 300.0


def percentile_95(times: list[float]) -> float:
    """Return the time within which 95 of 100 are."""
    return sorted(times)[min(len(times) - 1, int(0.95 * len(times)))]


def run_child(options: argparse.Namespace) -> None:
    """Fill the database, and print a line of JSON for each page."""
    import django

    django.setup()
    # Only once Django is set up can its models be imported.
    from django.db import connections

    from benchmarks.site import _large_data as large_data

    # The objects of millions of rows stay out of this process: its copies would pay for them with each page.
    _run_in_fork(lambda: str(large_data.find_large_data() or large_data.fill(options.rows)))
    large = large_data.find_large_data()
    assert large is not None
    addresses = large_data.list_pages(large)
    connections.close_all()  # a process that is forked must not share them
    _run_in_fork(lambda: [_open_pages(large.owner.pk, ["/accounts/login/"])])  # writes the compiled modules
    import_views()
    for name, address in addresses.items():
        if options.only in name:
            opened = partial(_open_pages, large.owner.pk)
            cold = [_run_in_fork(partial(opened, [address]))[0] for _turn in range(options.times)]
            warm = _run_in_fork(partial(opened, [address] * (options.times + 1)))[1:]
            print(json.dumps([name, cold, warm]), flush=True)


def import_views() -> None:
    """Import what a server imports when it starts."""
    from django.urls import get_resolver

    get_resolver().reverse_dict  # noqa: B018
    import config.wsgi  # noqa: F401


def _open_pages(owner: int, addresses: list[str]) -> list[dict[str, float]]:
    """Open pages; return the time and the number of queries of each."""
    from django.db import connection
    from django.test import Client

    from accounts.models import User

    client, figures = Client(SERVER_NAME="127.0.0.1"), []
    client.force_login(User.objects.get(pk=owner))
    connection.close()
    gc.collect()  # makes the memory that the first collection copies after a fork this process's own
    for address in addresses:
        count = [0]

        def count_query(execute: Callable[..., Any], *args: Any, count: list[int] = count) -> Any:
            count[0] += 1
            return execute(*args)

        before = 0 if connection.connection is None else read_busy_time(connection)
        with connection.execute_wrapper(count_query):
            begun = time.perf_counter(), time.process_time_ns()
            answer = client.get(address)
            seconds, own = time.perf_counter() - begun[0], time.process_time_ns() - begun[1]
        if answer.status_code != 200:
            raise RuntimeError(f"{address} answered {answer.status_code}")
        spent = (own + read_busy_time(connection) - before) / 1_000_000
        figures.append({"clock": 1000 * seconds, "busy": spent, "queries": count[0]})
    return figures


def read_busy_time(connection: Any) -> int:
    """Return the processor time of the server in nanoseconds (Linux)."""
    if connection.vendor != "postgresql":
        return 0  # SQLite works in this process
    process = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(process.read_text(encoding="ascii").split()[0])


def _run_in_fork(work: Callable[[], Any]) -> Any:
    """Return what a copy of this process computes."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(writer, json.dumps(work()).encode())
            status = 0
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    _pid, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError("a page could not be opened")
    return json.loads(text)


def measure(options: argparse.Namespace, url: str | None) -> list[list[Any]]:
    """Return the name, the cold and the warm figures of each page."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as name:
        env = {
            "DATABASE_URL": url or f"sqlite:///{name}/touchstone.sqlite3", **os.environ, "VAR_DIR": name,
            "SECRET_KEY": "only-for-benchmarks", "DEBUG": "true", "RATE_LIMITS": "false",
            "DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "ERROR",
        }  # fmt: skip
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, env=env, check=True)
        command = [sys.executable, "-m", "benchmarks.site.large_pages", "--child", *sys.argv[1:]]
        results = []
        with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                results.append(json.loads(line))
                print(_format_line(*results[-1]), flush=True)
        if process.returncode:
            raise SystemExit(process.returncode)
        return results


def _format_line(name: str, *both: list[dict[str, float]]) -> str:
    cells = []
    for figures in both:
        times = [request["clock"] for request in figures]
        cells += [statistics.median(times), percentile_95(times), max(times)]
        cells.append(percentile_95([request["busy"] for request in figures]))
    return f"{name:36}" + "".join(f"{cell:7.0f}" for cell in (*cells, both[0][0]["queries"]))


def list_missed_pages(results: list[list[Any]], figure: str) -> list[str]:
    """Return the pages that missed the bar, cold or warm."""
    return [
        name
        for name, *both in results
        if any(percentile_95([request[figure] for request in figures]) > MOST_MS for figures in both)
    ]


def main() -> int:
    """Print the time of each page; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site.large_pages", description=main.__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="of each kind (default: %(default)s)")
    parser.add_argument("--times", type=int, default=40, help="cold and warm (default: %(default)s)")
    parser.add_argument("--only", default="", help="pages whose name has this text")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options)
        return 0
    load = os.getloadavg()[0]
    print(f"{'PostgreSQL' if options.postgres else 'SQLite'}, {options.rows:,} rows, load {load:.1f}, ms")
    heads = ("cold", "95 %", "most", "busy", "warm", "95 %", "most", "busy", "queries")
    print(" " * 36 + "".join(f"{head:>{max(7, len(head) + 1)}}" for head in heads))
    with ExitStack() as stack:
        results = measure(options, stack.enter_context(servers.run_postgres()) if options.postgres else None)
    late = list_missed_pages(results, "clock")
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"Missed by the clock: {', '.join(late)}" if late else "All bars reached.")
    if late:
        print(f"Missed in processor time: {', '.join(list_missed_pages(results, 'busy')) or 'none'}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())

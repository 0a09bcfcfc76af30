"""Measure import and export of a project's items.

Run ``python -m benchmarks.annotation.importing``.

Plain passages, image pairs, and image pairs with gold, as JSON lines: read, checked and stored on SQLite,
then written out as JSON lines. Beside it what the database alone needs for the same rows, which is 1: one
statement a table, from a list in memory, past Django. Peak memory is that of the importing process with a
tenth of the items and with all of them: the same but for their ids, which the reader keeps to find doubles.

Bars: 10,000 plain items a second, 10,000 items out in 2 s. Both in processor time: the machine is shared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from annotation.formats.source import Source
from scripts.sites.processes import ROOT

ITEMS = 100_000
KINDS = ("spans", "boxes", "boxes with gold")
LEAST_RATE = 10_000
MOST_EXPORT_SECONDS = 2.0  # for 10,000 items
TABLES = ("annotation_item", "annotation_imagefile", "annotation_gold")
PASSAGE = "Ada kicked a 30-yard goal. Bo kicked a 40-yard goal."


def generate_lines(kind: str, count: int) -> Iterator[str]:
    """Yield items of one kind as JSON lines; image pairs share no images."""
    for number in range(count):
        yield json.dumps(_make_span_item(number) if kind == "spans" else _make_box_item(number, kind)) + "\n"


def _make_span_item(number: int) -> dict[str, Any]:
    tokens, start = [], 0
    for word in PASSAGE.split(" "):
        tokens.append([start, start + len(word)])
        start += len(word) + 1
    program = "count(filter[long](find[goals]))"
    return {
        "external_id": f"q{number}", "kind": "spans", "program": program, "text": f"How many? {number}",
        "passage": PASSAGE, "tokens": tokens, "answer": 1,
    }  # fmt: skip


def _make_box_item(number: int, kind: str) -> dict[str, Any]:
    images = [{"name": f"{number}-{side}.png", "width": 256, "height": 192} for side in ("left", "right")]
    item: dict[str, Any] = {
        "external_id": f"q{number}", "kind": "boxes", "text": f"There are two black dogs. {number}",
        "program": "equal(count(filter[black](find[dogs])), 2)", "images": images, "answer": True,
    }  # fmt: skip
    if kind == "boxes with gold":
        drawn = [{"id": name, "image": side, "box": [0.1, 0.1, 0.3, 0.5]} for side, name in enumerate("ab")]
        layer = {"state": "done", "objects": drawn}
        item["gold"] = {"layers": {"3": layer, "2": {"state": "done", "objects": [{"id": "c", "ref": "a"}]}}}
    return item


def run_child(path: Path, count: int) -> None:
    """Import and export in this process; print seconds and peak memory."""
    import django

    django.setup()
    # Only once Django is set up can its models be imported.
    from accounts.queries.workspaces import choose_workspace
    from annotation.actions.data import import_project
    from annotation.formats.jsonl import read_jsonl, write_jsonl
    from annotation.models import Project
    from annotation.queries.export import read_item_records

    started, cpu = time.perf_counter(), time.process_time()
    report = import_project(workspace=choose_workspace(None), slug="items", records=read_jsonl(Source(path)))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    assert report.added == count
    # Not getrusage: its peak begins with that of the process that started this one.
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    out = time.process_time()
    write_jsonl(read_item_records(Project.objects.get()), path.with_name("out.jsonl"))
    out = time.process_time() - out
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "out": out}))


def measure(kind: str, count: int) -> dict[str, float]:
    """Import items, and insert the same rows past Django for comparison."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as name:
        folder = Path(name)
        env = _build_environment(folder)
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, env=env, check=True)
        database, bare = folder / "touchstone.sqlite3", folder / "bare.sqlite3"
        shutil.copy(database, bare)
        path = folder / "items.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(generate_lines(kind, count))
        command = [
            sys.executable,
            "-m",
            "benchmarks.annotation.importing",
            "--child",
            str(path),
            "--items",
            str(count),
        ]
        done = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
        measured: dict[str, float] = json.loads(done.stdout)
        return {**measured, "bare": _measure_bare_inserts(database, bare)}


def _build_environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ, "VAR_DIR": str(folder), "SECRET_KEY": "only-for-benchmarks", "DEBUG": "false",
        "DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": f"sqlite:///{folder}/touchstone.sqlite3",
    }  # fmt: skip


def _measure_bare_inserts(source: Path, target: Path) -> float:
    """Return the database's own processor seconds for the imported rows."""
    seconds = 0.0
    with closing(sqlite3.connect(source)) as full, closing(sqlite3.connect(target)) as empty:
        empty.execute("PRAGMA foreign_keys=OFF")  # the project that they belong to is not there
        for table in TABLES:
            rows = full.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608  # names of our own
            if rows:
                placeholders = ", ".join("?" * len(rows[0]))
                started = time.process_time()
                with empty:
                    empty.executemany(f"INSERT INTO {table} VALUES ({placeholders})", rows)  # noqa: S608
                seconds += time.process_time() - started
    return seconds


def report_kind(kind: str, count: int) -> bool:
    """Measure one kind, print it, and say whether it reached the bars."""
    small, large = measure(kind, count // 10), measure(kind, count)
    rate, out = count / large["cpu"], large["out"] * 10_000 / count
    print(
        f"{kind:<16} {rate:8,.0f} items/s ({count / large['seconds']:,.0f} by the clock), "
        f"{large['cpu'] / large['bare']:4.1f} × the database alone, "
        f"peak {small['peak']:.0f} MB with {count // 10:,}, {large['peak']:.0f} MB with {count:,}; "
        f"10,000 items out in {out:.2f} s",
        flush=True,
    )
    plain = kind != "boxes with gold"
    return (rate >= LEAST_RATE or not plain) and out <= MOST_EXPORT_SECONDS


def main() -> int:
    """Measure every kind. Return 0 when all reached their bars, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options.child, options.items)
        return 0
    reached = [report_kind(kind, options.items) for kind in KINDS]  # all of them, also after one has failed
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Measure predictions and scores of a whole dataset.

Four systems and two workers: ``python -m benchmarks.site.runs``.

Generated questions, as many as HotpotQA's dev set has, go to four fake systems, so that what is measured is
the way from the command over the queue to the database and back, not the models. FaRM is part of the scores.
Largest memory is the peak resident set of each process. Nothing may be lost or doubled: counts are compared
in the database, and a second ``score`` has to give the same file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from benchmarks.site.memory import list_group_processes
from modelserver.world import generate
from scripts.sites.processes import ROOT
from scripts.sites.site import Site, run_site

SYSTEMS = ("fake-1", "fake-2", "fake-3", "fake-4")
DEV_SET = 7405


def run(site: Site, *arguments: str) -> float:
    """Run a management command, print its memory, return its seconds."""
    started = time.perf_counter()
    with subprocess.Popen(
        site.stack.manage(*arguments), cwd=ROOT, env=site.env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {output.strip()[-500:]}")
    seconds = time.perf_counter() - started
    print(f"  {arguments[0]:<15} {seconds:6.1f} s, peak {used.ru_maxrss * 1024 / 1e6:.0f} MB", flush=True)
    return seconds


def read_peak_memory(site: Site) -> dict[str, float]:
    """Return the largest peak of each part's processes, in MB."""
    seconds_by_step = {}
    for part, leader in site.parts.pids.items():
        texts = [
            Path(f"/proc/{pid}/status").read_text(encoding="utf-8") for pid in list_group_processes(leader)
        ]
        peaks = [int(match[1]) for text in texts if (match := re.search(r"VmHWM:\s+(\d+)", text))]
        seconds_by_step[part] = max(peaks) * 1024 / 1e6
    return seconds_by_step


def count_stored_rows(site: Site) -> dict[str, int]:
    """Count what the database holds: all rows, and those that are different."""
    queries = {
        "predictions": "SELECT count(*) FROM predictions_prediction",
        "different predictions": "SELECT count(*) FROM (SELECT DISTINCT run_id, question_id "
        "FROM predictions_prediction)",
        "failures": "SELECT count(*) FROM predictions_predictionfailure",
        "reduced answers": "SELECT count(*) FROM predictions_reducedanswer",
        "different reduced answers": "SELECT count(*) FROM (SELECT DISTINCT prediction_id, digest "
        "FROM predictions_reducedanswer)",
    }
    with closing(sqlite3.connect(site.var / "touchstone.sqlite3", timeout=20)) as database:
        return {name: int(database.execute(query).fetchone()[0]) for name, query in queries.items()}


def measure(questions: int) -> bool:
    """Run everything once; return if everything is there exactly once."""
    with run_site(fake=SYSTEMS, as_deployed=True) as site:
        site.parts.start(site.stack.worker(2))
        (site.var / "questions.json").write_text(json.dumps(list(generate("test", questions, 1))))
        run(site, "import_dataset", "hotpot", str(site.var / "questions.json"), "--name", "whole")
        started = time.perf_counter()
        for system in SYSTEMS:  # all are enqueued before the first is waited for
            run(site, "predict", "--dataset", "whole", "--system", system)
        for system in SYSTEMS:
            run(site, "predict", "--dataset", "whole", "--system", system, "--wait")
        predicted = time.perf_counter() - started
        files = [site.var / "first.json", site.var / "second.json"]
        scored, again = (run(site, "score", "--dataset", "whole", "--out", str(file)) for file in files)
        same = files[0].read_text("utf-8") == files[1].read_text("utf-8")
        counts, peaks = count_stored_rows(site), read_peak_memory(site)
    print(f"{questions} questions, {len(SYSTEMS)} systems, 2 workers")
    print(f"predictions {predicted:.0f} s, scores {scored:.0f} s, and once more {again:.0f} s")
    print("peak MB: " + ", ".join(f"{part} {peak:.0f}" for part, peak in peaks.items()))
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    whole = counts["predictions"] == counts["different predictions"] == questions * len(SYSTEMS)
    once = counts["reduced answers"] == counts["different reduced answers"]
    print(f"nothing lost or doubled: {whole and once}; the same scores again: {same}")
    return whole and once and same and not counts["failures"]


def main() -> int:
    """Print the durations; return 1 if anything was lost or doubled."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site.runs", description=main.__doc__)
    parser.add_argument("--questions", type=int, default=DEV_SET, help="(default: %(default)s)")
    return 0 if measure(parser.parse_args().questions) else 1


if __name__ == "__main__":
    sys.exit(main())

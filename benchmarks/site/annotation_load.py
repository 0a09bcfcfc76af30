"""Measure annotators' waiting times and saves a second.

Run ``python -m benchmarks.site.annotation_load``, with ``--plain`` for a task of labels instead of a program.

Annotators walk the real pages of a real web server, in a project of 100,000 passages: one alone at the near
end of the project and one at its far end, 20 as fast as they can, and 50 who think about two seconds before
each edit. Server, database and load share the machine. Every operation that was acknowledged is then looked
for in the database: none may be missing or stored twice, and no item may have two annotators.

One alone, and those who think, leave the editor after each item and ask for the next one: it is there when
that request and the one that opens it are answered. A save is one edit. The 20 save a whole item at once,
and hand it in with a request that answers with the next item: those two are a pair. Bars: an item within 30
ms and an edit within 15 ms in 95 of 100 cases for one annotator, at both ends; 100 pairs a second of 20
with 95 of 100 requests within 200 ms; and within 100 ms for 50 who think.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from scripts.sites import servers
from scripts.sites.processes import ROOT
from scripts.sites.site import Site, run_site

ITEMS = 100_000
FAR = 0.95  # of the items are done when the annotator at the far end comes
MOST_ITEM_MS, MOST_SAVE_MS = 30.0, 15.0
LEAST_PAIRS, MOST_CROWD_MS, MOST_THINKING_MS = 100.0, 200.0, 100.0

# The plain task: spans with labels, and a choice.
PLAIN = """
layers:
  - {type: spans, name: Entities, labels: [Person, Place]}
  - {type: choice, name: Topic, labels: [Science, Sport]}
"""

# A passage of 120 words, as long as a paragraph of the DROP data.
SEED = """
import json
from accounts.queries.workspaces import choose_workspace
from annotation.actions.bots import enlist_bots
from annotation.actions.data import import_items
from annotation.actions.projects import create_project
from annotation.formats.texts import tokenize
from annotation.content.labels import read_label_task
from annotation.content.schemas import ItemRecord
from benchmarks.site._bot_sessions import open_sessions

task = read_label_task({task!r}) if {task!r} else None
passage = " ".join(f"In week {{n}} Ada kicked a {{20 + n}}-yard field goal ." for n in range(1, 13))
first = ItemRecord(
    external_id="0", kind="spans", program=task.text if task else "count(filter[long](find[goals]))",
    text="How many long goals were kicked?", passage=passage, tokens=tokenize(passage),
    answer=None if task else 1,
)
project = create_project(
    workspace=choose_workspace(None), slug="load", title="Load", kind="spans", by=None, labels=task,
)
records = (first.model_copy(update={{"external_id": str(n)}}) for n in range({items}))
import_items(records=records, project=project)
names = [name for name, password in enlist_bots(project=project, n={people})]
print(json.dumps(open_sessions(names=names)))
"""

# Others have done all items up to a position: their works are copies of one that was really done.
FAR_AWAY = """
from django.db import connection
from django.utils import timezone
from annotation.models import Item, Membership, Annotation
project = Annotation.objects.filter(submitted_at__isnull=False).first().project
other = Membership.objects.filter(project=project).order_by("-pk").first().user
free = Item.objects.filter(project=project, assigned=0, position__lte={position})
annotations, now = [], timezone.now()
for pk in free.values_list("pk", flat=True).iterator():
    annotations.append(Annotation(
        item_id=pk, project=project, annotator=other, status="submitted", submitted_at=now))
Annotation.objects.bulk_create(annotations, batch_size=5000)
free.update(assigned=1, submitted=1)
"""

CHECK = """
import json, sys
from collections import Counter
from django.db.models import F
from annotation.models import Item, Operation, Annotation
told = json.load(open({path!r}))
stored = Operation.objects.values_list("annotation_id", "uid").iterator()
names = Counter((annotation, str(uid)) for annotation, uid in stored)
print(json.dumps({{
    "missing": sum(tuple(one) not in names for one in told["saved"]),
    "doubled": sum(times > 1 for times in names.values()),
    "not_submitted": len(told["submitted"]) - Annotation.objects.filter(
        pk__in=told["submitted"], status="submitted").count(),
    "overfull": Item.objects.filter(assigned__gt=F("annotators_wanted")).count(),
}}))
"""


class Benchmark:
    """The stages, on one site with one project."""

    def __init__(self, site: Site, items: int, seconds: float, task: str = "") -> None:
        self.site, self.seconds, self.items = site, seconds, items
        begun = time.monotonic()
        self.people: dict[str, str] = json.loads(
            self.shell(SEED.format(items=items, people=51, task=task)).splitlines()[-1]
        )
        print(f"{items:,} items imported in {time.monotonic() - begun:.0f} s", flush=True)
        self.load("warm-up", 2, seconds=1.0)

    def shell(self, code: str) -> str:
        """Run code in the site's shell and return its output."""
        return self.site.manage("shell", "--no-imports", "--command", code)

    def load(
        self,
        name: str,
        users: int,
        *,
        seconds: float | None = None,
        behaviour: str = "fast",
        think: float = 0.0,
    ) -> dict[str, Any]:
        """Run annotators in another process; SystemExit if anything is lost."""
        command = [sys.executable, "-m", "scripts.load.annotators", self.site.url, "load"]
        command += ["--seconds", str(seconds or self.seconds), "--think", str(think)]
        command += ["--behaviour", behaviour, "--server", str(self.site.parts.pids["web server"])]
        some = dict(list(self.people.items())[:users])
        done = subprocess.run(command, cwd=ROOT, input=json.dumps(some), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr}")
        result: dict[str, Any] = json.loads(done.stdout)
        self._check(name, result)
        return {"name": name, **result, "machine_load": os.getloadavg()[0]}

    def _check(self, name: str, result: dict[str, Any]) -> None:
        path = self.site.var / "told.json"
        path.write_text(json.dumps({key: result.pop(key) for key in ("saved", "submitted")}))
        stored = json.loads(self.shell(CHECK.format(path=str(path))))
        if any(stored.values()):
            raise SystemExit(f"{name}: {stored}")

    def stages(self) -> list[dict[str, Any]]:
        """Yield every stage, printed as it ends."""
        results = []
        for name, users, options in (
            ("one, near end", 1, {"behaviour": "careful"}),
            ("20 flat out", 20, {}),
            ("50 thinking", 50, {"behaviour": "careful", "think": 2.0, "seconds": 2 * self.seconds}),
            ("one, far end", 1, {"behaviour": "careful"}),
        ):
            if name.endswith("far end"):
                self.shell(FAR_AWAY.format(position=int(FAR * self.items)))
            result = self.load(name, users, **options)
            print(format_line(result), flush=True)
            results.append(result)
        return results


def format_line(result: dict[str, Any]) -> str:
    """Format a stage as a line of the table."""
    ms, took = result["ms"], result["seconds"]
    parts = [f"{act} {ms[act]['p50']:.1f}/{ms[act]['p95']:.1f}" for act in ("all", "item", "next", "open",
             "save", "submit") if act in ms]  # fmt: skip
    server_ms, load_ms = (1000 * result[part] / result["requests"] for part in ("server_cpu_s", "load_cpu_s"))
    return (
        f"{result['name']:>14}: {result['handed_in'] / took:6.1f} pairs/s, {result['requests'] / took:6.1f} "
        f"requests/s, {server_ms:.1f} ms of the server's processor each and {load_ms:.1f} ms of the load's; "
        f"ms p50/p95: {', '.join(parts)}; load {result['machine_load']:.1f}"
    )


def list_missed_bars(results: list[dict[str, Any]]) -> list[str]:
    """Return a sentence for each bar that was not reached."""
    sentences = []

    def check_at_most(result: dict[str, Any], act: str, bar: float) -> None:
        p95 = result["ms"][act]["p95"]
        if p95 > bar:
            sentences.append(f"{result['name']}: {act} p95 {p95:.1f} ms, bar {bar:.0f} ms")

    for result in results:
        if result["users"] == 1:
            check_at_most(result, "item", MOST_ITEM_MS)
            check_at_most(result, "save", MOST_SAVE_MS)
        elif result["think_s"]:
            check_at_most(result, "all", MOST_THINKING_MS)
        else:
            check_at_most(result, "all", MOST_CROWD_MS)
            rate = result["handed_in"] / result["seconds"]
            if rate < LEAST_PAIRS:
                sentences.append(f"{result['name']}: {rate:.0f} pairs/s, bar {LEAST_PAIRS:.0f}")
    return sentences


def main() -> int:
    """Print the stages, write the figures, return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.annotation_load", description="Annotators."
    )
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    parser.add_argument("--plain", action="store_true", help="a task of labels instead of a program")
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each stage; twice that when thinking")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the figures here too")
    options = parser.parse_args()
    database = "PostgreSQL" if options.postgres else "SQLite"
    print(f"{database}, granian with 2 processes", flush=True)
    with ExitStack() as stack:
        url = stack.enter_context(servers.run_postgres()) if options.postgres else None
        site = stack.enter_context(run_site(postgres=url, worker=False, as_deployed=True))
        task = PLAIN if options.plain else ""
        results = Benchmark(site, options.items, options.seconds, task).stages()
    if options.out:
        options.out.write_text(json.dumps({"database": database, "stages": results}, indent=1) + "\n")
    sentences = list_missed_bars(results)
    print("\n".join([f"Missed: {sentence}" for sentence in sentences] or ["All bars reached."]))
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())

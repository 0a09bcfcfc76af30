"""Measure what one request, one prediction and one row cost.

Run ``python -m benchmarks.unit_costs [--out benchmarks/unit_costs.json]``.

Participants walk through a study of 25 items, annotators save and submit items, and a worker stores
predictions: in this process, on the site's WSGI application and a PostgreSQL server of its own. Counted is
processor time alone, of this process and of its connection's process in PostgreSQL, so that other work on the
machine changes little. Row sizes include their indexes; what is written ahead (WAL) is counted apart.
`benchmarks.capacity` computes from these costs what a site of some size needs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.annotation_pair import ACTS, PEOPLE, WARM_UP, clients
from benchmarks.prepared_queries import participants
from scripts import servers
from scripts.processes import Supervisor, free_port
from scripts.stack import Stack

ORIGIN = "http://127.0.0.1:8000"
QUANTILES = 20  # steps in which the file holds the times of a request
PAGES = (
    (r"/join/", "link"),
    (r"/consent/$", "consent"),
    (r"/stage/", "page before the items"),
    (r"/item/\d+/$", "item"),
    (r"/survey/$", "survey"),
    (r"/done/$", "end"),
    (r"/study/[^/]+/$", "way to the current page"),
)
SIZES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


@dataclass
class Costs:
    """Milliseconds of processor time of each kind of work: here, and in PostgreSQL."""

    here: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    database: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def measure(self, kind: str, work: Callable[[], Any]) -> Any:
        """Do some work and note what it cost."""
        begun, of_database = time.process_time(), database_seconds()
        result = work()
        self.here[kind].append(1000 * (time.process_time() - begun))
        self.database[kind].append(1000 * (database_seconds() - of_database))
        return result

    def watched(self, application: Any, kind_of: Callable[[Any], str]) -> Any:
        """Return the application with each request measured."""

        def answer(environ: Any, start_response: Any) -> Any:
            return self.measure(kind_of(environ), lambda: application(environ, start_response))

        return answer

    def summary(self, most: float) -> dict[str, dict[str, Any]]:
        """Return the number and the quantiles of each kind; ``most`` is the share of requests to keep."""
        return {
            kind: {
                "n": len(times),
                "web_ms": quantiles(times[-max(1, int(len(times) * most)) :]),
                "database_ms": quantiles(self.database[kind][-max(1, int(len(times) * most)) :]),
            }
            for kind, times in self.here.items()
        }


def quantiles(times: list[float]) -> list[float]:
    """Return the times that divide the requests into equal parts."""
    points = statistics.quantiles(times, n=QUANTILES, method="inclusive") if len(times) > 1 else times
    return [round(value, 3) for value in points]


def database_seconds() -> float:
    """Return the processor seconds of the process that serves this connection."""
    from django.db import connection

    if connection.connection is None or connection.connection.closed:
        return 0.0
    # Nanoseconds, where the time in /proc/PID/stat is in hundredths of a second.
    text = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text(encoding="ascii")
    return int(text.split()[0]) / 1e9


def page_kind(environ: Any) -> str:
    """Return the kind of a participant's request."""
    path = environ["PATH_INFO"]
    name = next((name for pattern, name in PAGES if re.search(pattern, path)), path)
    return f"{name}, {'sent' if environ['REQUEST_METHOD'] == 'POST' else 'shown'}"


def measure_participants(costs: Costs, count: int, folder: Path) -> None:
    """Have participants walk through a study."""
    import config.wsgi

    application = config.wsgi.application
    config.wsgi.application = costs.watched(application, page_kind)
    try:
        participants(count, folder)
    finally:
        config.wsgi.application = application


def measure_annotators(costs: Costs, pairs: int) -> None:
    """Have annotators save and submit items."""
    everybody = clients(pairs)
    for client in everybody:
        for _time in range(WARM_UP):
            client.step()
    for client in everybody:
        client.application = costs.watched(client.application, _annotation_kind)
    for _round in range(-(-pairs // PEOPLE)):
        for client in everybody:
            for _act in ACTS:
                client.step()


def _annotation_kind(environ: Any) -> str:
    return "annotation submitted" if environ["PATH_INFO"].endswith("/submit/") else "annotation saved"


def measure_predictions(costs: Costs, questions: int, stack: Stack, slice_size: int = 32) -> None:
    """Have a worker ask a model server that answers at once, and store the answers."""
    from accounts.queries.workspaces import workspace_named
    from predictions.actions.predictions import RUNS, start_run
    from predictions.models import Dataset, Prediction, Question

    workspace = workspace_named(None)
    source = Dataset.objects.get(name="pages")
    dataset = Dataset.objects.create(
        workspace=workspace, name="asked", source_format="hotpot", question_count=questions
    )
    rows = list(source.questions.all())
    for number in range(questions):
        row = rows[number % len(rows)]
        row.pk, row.dataset, row.external_id = None, dataset, f"q{number}"
        Question.objects.bulk_create([row])
    from jobs.model_gateway import served_system

    run = start_run(dataset=dataset, system="fake", revision=served_system("fake").revision or "")
    keys = list(dataset.questions.order_by("pk").values_list("pk", flat=True))
    for at in range(0, len(keys), slice_size):
        part = keys[at : at + slice_size]
        costs.measure(
            "slice", lambda part=part: RUNS.compute_slice(run_id=run.pk, first=part[0], last=part[-1])
        )
    assert Prediction.objects.filter(run=run).count() == questions


def table_sizes() -> dict[str, int]:
    """Return the bytes of each table with its indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        return dict(cursor.fetchall())


def written_ahead() -> int:
    """Return how many bytes PostgreSQL has written ahead until now."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        return int(cursor.fetchone()[0])


def grown(before: dict[str, int], count: int) -> dict[str, int]:
    """Return the bytes for each of ``count`` by table, largest first."""
    now = table_sizes()
    bytes_each = {name: (size - before.get(name, 0)) // count for name, size in now.items()}
    return {name: size for name, size in sorted(bytes_each.items(), key=lambda pair: -pair[1]) if size > 0}


def measure(options: argparse.Namespace, folder: Path, stack: Stack) -> dict[str, Any]:
    """Measure everything on an empty migrated site."""
    people, others = Costs(), Costs()
    before, ahead = table_sizes(), written_ahead()
    measure_participants(people, options.participants, folder)
    result: dict[str, Any] = {
        "participants": options.participants,
        # The first third pays for imports, templates and prepared queries.
        "pages": people.summary(2 / 3),
        "bytes_a_participant": grown(before, options.participants),
        "wal_bytes_a_participant": (written_ahead() - ahead) // options.participants,
    }
    before = table_sizes()
    measure_annotators(others, options.pairs)
    measure_predictions(others, options.questions, stack)
    result["others"] = others.summary(2 / 3)
    result["predictions_a_slice"] = 32
    sizes = table_sizes()
    for name, table, count in (
        ("annotation", "annotation_annotation", options.pairs),
        ("operation", "annotation_operation", options.pairs),
        ("prediction", "predictions_prediction", options.questions),
    ):
        result[f"bytes_of_a_{name}"] = (sizes[table] - before.get(table, 0)) // count
    return result


def table(result: dict[str, Any]) -> str:
    """Format the costs as a table in Markdown."""
    lines = [
        "| request | times a participant | web, median ms | 95 % | database, median ms |",
        "|---|--:|--:|--:|--:|",
    ]
    for kind, cost in {**result["pages"], **result["others"]}.items():
        times = f"{cost['n'] / result['participants']:.1f}" if kind in result["pages"] else ""
        web, of_database = cost["web_ms"], cost["database_ms"]
        middle = len(web) // 2
        lines.append(f"| {kind} | {times} | {web[middle]:.2f} | {web[-1]:.2f} | {of_database[middle]:.2f} |")
    return "\n".join(lines)


def main() -> int:
    """Print the costs, and write them as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unit_costs", description="Unit costs.")
    parser.add_argument("--participants", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=400, help="items that annotators save and submit")
    parser.add_argument("--questions", type=int, default=640, help="questions to predict")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the costs here too")
    options = parser.parse_args()
    with ExitStack() as lasting:
        folder = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-bench-")))
        database = lasting.enter_context(servers.postgres())
        stack = Stack(folder, 8000, free_port(), {})
        parts = lasting.enter_context(Supervisor())
        parts.start(stack.model_server(fake=("fake",)))
        parts.wait_ready()
        os.environ |= {
            "VAR_DIR": str(folder), "SECRET_KEY": "only-for-benchmarks", "DEBUG": "false", "SITE_URL": ORIGIN,
            "DATABASE_URL": database, "LOG_LEVEL": "ERROR", "RATE_LIMITS": "false",
            "MODEL_SERVER_URL": stack.model_url, "DJANGO_SETTINGS_MODULE": "config.settings",
        }  # fmt: skip
        import django

        django.setup()
        from django.core.management import call_command

        call_command("prepare_site", verbosity=0)
        result = measure(options, folder, stack)
    print(table(result))
    print(json.dumps({name: value for name, value in result.items() if "bytes" in name}, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measure the processor time of a request and a participant's storage.

Run ``python -m benchmarks.site.unit_costs``.

Participants walk through a study of 25 items, and annotators save and submit items: in this process, on the
site's WSGI application and a PostgreSQL server of its own. Counted is processor time alone, of this process
and of its connection's process in PostgreSQL, so that other work on the machine changes little. The first
third of the requests of each kind does not count: it pays for imports and prepared queries.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.site._site_here import set_up_site
from benchmarks.site.annotation_pair import ACTS, PEOPLE, WARM_UP, create_clients
from benchmarks.site.prepared_queries import launch_generated_study, take_part
from scripts.sites import servers

PAGES = (
    (r"^/join/", "link"),
    (r"/consent/$", "consent"),
    (r"/item/\d+/$", "item"),
    (r"/survey/$", "survey"),
    (r"/done/$", "end"),
    (r"/submit/$", "annotation submitted"),
    (r"^/", "annotation saved"),
)
TABLES = ("participant", "trial", "event", "surveyresponse", "itemtime")  # rows of participants
SIZE = f"SELECT {' + '.join(f'pg_total_relation_size($$studyapp_{name}$$)' for name in TABLES)}"
WRITTEN_AHEAD = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"


@dataclass
class Costs:
    """The costs of each kind of request.

    Attributes:
        requests: Milliseconds of processor time of each request: of the site, and of PostgreSQL.
        participants: Number of participants.
        bytes_each: Bytes of the rows of a participant with their indexes.
        written_ahead_each: Bytes that PostgreSQL writes ahead (WAL) for a participant.
    """

    requests: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    participants: int = 0
    bytes_each: float = 0.0
    written_ahead_each: float = 0.0

    def watch_requests(self, application: Callable[..., Any]) -> Callable[..., Any]:
        """Return the application with each request measured."""

        def answer(environ: dict[str, Any], start_response: Any) -> Any:
            begun, of_database = time.process_time(), read_database_seconds()
            response = application(environ, start_response)
            took = time.process_time() - begun, read_database_seconds() - of_database
            self.requests[classify_request(environ)].append((1000 * took[0], 1000 * took[1]))
            return response

        return answer

    def list_costs(self, kind: str) -> list[tuple[float, float]]:
        """Return the costs of a kind without the first third."""
        costs = self.requests[kind]
        return costs[len(costs) // 3 :]


def classify_request(environ: dict[str, Any]) -> str:
    """Return the kind of a request."""
    name = next(name for pattern, name in PAGES if re.search(pattern, environ["PATH_INFO"]))
    if name.startswith("annotation"):
        return name
    return f"{name}, {'sent' if environ['REQUEST_METHOD'] == 'POST' else 'shown'}"


def read_database_seconds() -> float:
    """Return the processor seconds of the process that serves this connection."""
    from django.db import connection

    if connection.connection is None or connection.connection.closed:
        return 0.0
    # Nanoseconds, while /proc/PID/stat counts hundredths of a second.
    text = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text(encoding="ascii")
    return int(text.split()[0]) / 1e9


def query_number(statement: str) -> float:
    """Return the number that a query answers with."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement)
        return float(cursor.fetchone()[0])


def measure(participants: int = 60, pairs: int = 0) -> Costs:
    """Measure requests of participants and pairs of annotators' requests."""
    costs = Costs(participants=participants)
    with servers.run_postgres() as database, set_up_site(database) as folder:
        from config.wsgi import application

        study = launch_generated_study(folder)
        size, ahead = query_number(SIZE), query_number(WRITTEN_AHEAD)
        take_part(study, participants, costs.watch_requests(application))
        costs.bytes_each = (query_number(SIZE) - size) / participants
        costs.written_ahead_each = (query_number(WRITTEN_AHEAD) - ahead) / participants
        if pairs:
            annotate(pairs, costs)
    return costs


def annotate(pairs: int, costs: Costs) -> None:
    """Have annotators save and submit items."""
    everybody = create_clients(pairs)
    for client in everybody:
        for _request in range(WARM_UP):
            client.step()
        client.application = costs.watch_requests(client.application)
    for _round in range(-(-pairs // PEOPLE)):
        for client in everybody:
            for _act in ACTS:
                client.step()


def format_table(costs: Costs) -> str:
    """Format the costs as a table in Markdown."""
    lines = [
        "| request | times a participant | site, median ms | 95 % | PostgreSQL, median ms | 95 % |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for kind in costs.requests:
        times = len(costs.requests[kind]) / costs.participants
        row = [kind, "" if kind.startswith("annotation") else f"{times:.0f}"]
        for values in zip(*costs.list_costs(kind), strict=True):
            cuts = statistics.quantiles(values, n=20)
            row += [f"{cuts[9]:.1f}", f"{cuts[18]:.1f}"]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def main() -> int:
    """Print the costs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site.unit_costs", description="Unit costs.")
    parser.add_argument("--participants", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=400, help="items that annotators save and submit")
    options = parser.parse_args()
    costs = measure(options.participants, options.pairs)
    print(format_table(costs))
    print(f"\nA participant: {costs.bytes_each / 1000:.0f} KB in tables and indexes, "
          f"{costs.written_ahead_each / 1000:.0f} KB written ahead")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

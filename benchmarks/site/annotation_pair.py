"""Measure the processor time of a pair of requests.

Run ``python -m benchmarks.site.annotation_pair``.

An annotator saves a whole item with one request and hands it in with another, which answers with the next
one. Twenty take turns at that in this process, on the site's WSGI application and SQLite, without a web
server and a network: so nobody waits, and what is counted is processor time and queries of the site alone.
On a machine with other work the lowest time says more than the median.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from benchmarks.site._site_here import ORIGIN, set_up_site

PEOPLE, WARM_UP = 20, 6  # requests of each that do not count
ACTS = ("save", "submit")


def build_environ(ask: Any, cookies: str) -> dict[str, Any]:
    """Return the WSGI environment of a bot's request."""
    body, kind = b"", ""
    if ask.form is not None:
        body, kind = urlencode(ask.form).encode(), "application/x-www-form-urlencoded"
    elif ask.json is not None:
        body, kind = json.dumps(ask.json).encode(), "application/json"
    return {
        "REQUEST_METHOD": ask.method, "PATH_INFO": ask.path, "QUERY_STRING": "", "CONTENT_TYPE": kind,
        "CONTENT_LENGTH": str(len(body)), "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000",
        "HTTP_COOKIE": cookies, "HTTP_ORIGIN": ORIGIN, "HTTP_X_CSRFTOKEN": ask.token,
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr, "wsgi.multithread": False, "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }  # fmt: skip


class Client:
    """A bot on the application: its walk, and its cookies."""

    def __init__(self, application: Callable[..., Any], walk: Any, session: str) -> None:
        self.application, self.walk = application, walk
        self.answer: Any = None
        self.cookies = {"sessionid": session}

    def step(self) -> tuple[str, float]:
        """Send the next request; return its kind and processor seconds."""
        from annotation.bots import Answer  # only once Django is set up

        ask = self.walk.send(self.answer)
        environ = build_environ(ask, "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        statuses: list[Any] = []
        begun = time.process_time()
        response = self.application(environ, lambda status, fields: statuses.extend((status, fields)))
        body = b"".join(response)
        response.close()
        took = time.process_time() - begun
        fields = [(name.lower(), value) for name, value in statuses[1]]
        for name, value in fields:
            if name == "set-cookie":
                key, _, content = value.partition(";")[0].partition("=")
                self.cookies[key] = content
        self.answer = Answer(int(statuses[0].split()[0]), dict(fields).get("location", ""), body)
        return ask.act, took


def create_clients(pairs: int) -> list[Client]:
    """Log twenty annotators in to a new project with items for all."""
    # Only once Django is set up can its models be imported.
    from accounts.queries.workspaces import choose_workspace
    from annotation.actions.bots import enlist_bots
    from annotation.actions.data import import_items
    from annotation.actions.projects import create_project
    from annotation.bots import Plan, make_bots, walk
    from annotation.content.schemas import ItemRecord
    from annotation.formats.texts import tokenize
    from benchmarks.site._bot_sessions import open_sessions
    from config.wsgi import application

    passage = " ".join(f"In week {n} Ada kicked a {20 + n}-yard field goal ." for n in range(1, 13))
    first = ItemRecord(
        external_id="0", kind="spans", program="count(filter[long](find[goals]))",
        text="How many long goals were kicked?", passage=passage, tokens=tokenize(passage), answer=1,
    )  # fmt: skip
    project = create_project(
        workspace=choose_workspace(None), slug="pair", title="Pair", kind="spans", by=None
    )
    count = pairs + PEOPLE * (WARM_UP + 2)
    import_items(
        records=(first.model_copy(update={"external_id": str(n)}) for n in range(count)), project=project
    )
    people = enlist_bots(project=project, n=PEOPLE)
    sessions = open_sessions(names=[name for name, _password in people])
    bots = make_bots([(name, "") for name in sessions], {"fast": 1.0}, seed=1)
    for bot in bots:
        bot.session = sessions[bot.name]
    return [Client(application, walk(bot, Plan("pair")), bot.session) for bot in bots]


def measure(pairs: int) -> dict[str, tuple[list[float], int]]:
    """Return seconds of each request and the most queries, by act."""
    from django.db import connection

    seen: dict[str, list[float]] = defaultdict(list)
    queries: dict[str, int] = defaultdict(int)
    ran = 0

    def count(execute: Callable[..., Any], *args: Any) -> Any:
        nonlocal ran
        ran += 1
        return execute(*args)

    everybody = create_clients(pairs)
    for client in everybody:
        for _time in range(WARM_UP):
            client.step()
    with connection.execute_wrapper(count):
        for client in everybody:
            for _act in ACTS:
                ran = 0
                act, _took = client.step()
                queries[act] = max(queries[act], ran)
    while min(len(seen[act]) for act in ACTS) < pairs:
        for client in everybody:
            act, took = client.step()
            seen[act].append(took)
    return {act: (sorted(seen[act]), queries[act]) for act in ACTS}


def main() -> int:
    """Print processor time and queries of both requests, and of the pair."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.annotation_pair", description="One pair."
    )
    parser.add_argument("--pairs", type=int, default=400)
    options = parser.parse_args()
    with set_up_site():
        measured = measure(options.pairs)
    median, lowest = (
        {act: 1000 * seconds[pick(len(seconds))] for act, (seconds, _queries) in measured.items()}
        for pick in (lambda length: length // 2, lambda length: 0)
    )
    for act in ACTS:
        print(
            f"{act:>6}: {median[act]:5.2f} ms median, {lowest[act]:5.2f} lowest; {measured[act][1]} queries"
        )
    print(f"  pair: {sum(median.values()):5.2f} ms median, {sum(lowest.values()):5.2f} lowest")
    return 0


if __name__ == "__main__":
    sys.exit(main())

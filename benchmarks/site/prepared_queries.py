"""Measure what building SQL once is worth.

Run ``python -m benchmarks.site.prepared_queries``.

Participants walk through a study, and annotators save and submit items, in
this process, on the site's WSGI application and SQLite: what is counted is the
processor time of the site alone. Each way runs in a process of its own, in
turns: with prepared queries (docs/adr/0010), and with the same querysets built
again at every use and rows saved by the ORM. Connections persist in both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.site._site_here import ORIGIN, set_up_site
from scripts.sites.processes import ROOT

DEFINITION = """
study: pages
title: Pages
dataset: pages
conditions: [{ground_truth: true}, {ground_truth: true, name: second}]
items: {count: 25, seed: 1}
consent: I take part.
order_seed: 7
"""


def build_every_time() -> None:
    """Take the cache of prepared queries away."""
    from foundation.database import prepared_queries as prepared

    def bound(self: Any, here: Any, values: dict[str, Any]) -> Any:
        statement = self._build()
        return statement, [
            param.output_field.get_db_prep_value(values[param.name], here)
            if isinstance(param, prepared.Slot)
            else param
            for param in statement.params
        ]

    prepared._Kept.bound = bound  # type: ignore[method-assign]


def insert_plainly(*rows: Any) -> None:
    """Insert rows by the ORM."""
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    else:
        type(rows[0])._base_manager.bulk_create(rows)


def use_plain_inserts() -> None:
    """Replace `insert` wherever it was imported."""
    ours = ("annotation.", "studyapp.", "predictions.", "accounts.")
    for name, module in list(sys.modules.items()):
        function = getattr(module, "insert", None) if name.startswith(ours) else None
        if getattr(function, "__module__", "") == "foundation.database.prepared_queries":
            module.insert = insert_plainly  # type: ignore[attr-defined]


def launch_generated_study(folder: Path) -> Any:
    """Launch a study of 25 generated questions; return it."""
    from django.core.management import call_command

    from studyapp.models import Study

    world = [sys.executable, "-m", "modelserver", "world", "--out", str(folder), "--seed", "1"]
    world += ["--train", "0", "--dev", "0", "--test", "60"]
    subprocess.run(world, cwd=ROOT, check=True, capture_output=True)
    (folder / "study.yaml").write_text(DEFINITION, encoding="utf-8")
    with redirect_stdout(StringIO()):
        call_command("import_dataset", "hotpot", str(folder / "test.json"), name="pages", verbosity=0)
        call_command("create_study", str(folder / "study.yaml"), verbosity=0)
        call_command("launch_study", "pages", accept=[("rehearsal", "a benchmark")], verbosity=0)
    return Study.objects.get(slug="pages")


def take_part(study: Any, count: int, application: Any) -> None:
    """Have simulated participants walk through a study, one after the other."""
    import httpx

    from studyapp.actions.links import create_link
    from studyapp.models import Mode
    from studyapp.queries.bots import build_study_plan
    from studyapp.simulation.walk import Post, Think, make_bots, walk

    _link, token = create_link(study=study, by=None, label="bench", mode=Mode.BOT)
    for bot in make_bots(count, {"honest": 1.0}, seed=1):
        steps, response = walk(bot, f"{ORIGIN}/join/{token}/", build_study_plan(study)), None
        with httpx.Client(transport=httpx.WSGITransport(app=application), follow_redirects=True) as client:
            try:
                while True:
                    step = steps.send(response)
                    if isinstance(step, Think):
                        response = None
                    elif isinstance(step, Post):
                        response = client.post(step.url, data=step.form)
                    else:
                        response = client.get(step.url)
            except StopIteration:
                continue


def time_participants(count: int, folder: Path) -> list[float]:
    """Return processor seconds of each request of participants."""
    from config.wsgi import application

    seconds: list[float] = []

    def answer_and_time(environ: Any, start_response: Any) -> Any:
        begun = time.process_time()
        body = application(environ, start_response)
        seconds.append(time.process_time() - begun)
        return body

    take_part(launch_generated_study(folder), count, answer_and_time)
    return seconds[200:]  # the first requests of a process pay for its imports


def time_annotators(pairs: int) -> list[float]:
    """Return processor seconds of each pair of requests of annotators."""
    from benchmarks.site.annotation_pair import ACTS, measure

    measured = measure(pairs)
    return [sum(times) for times in zip(*(measured[act][0][:pairs] for act in ACTS), strict=True)]


def measure_here(way: str, count: int) -> None:
    """Measure one way in this process; print JSON."""
    with set_up_site() as folder:
        if way == "plain":
            import config.wsgi

            assert config.wsgi.application
            build_every_time()
            use_plain_inserts()
        pages = time_participants(count, folder)
        pairs = time_annotators(10 * count)
    figures = {"participants": pages, "annotators": pairs}
    json.dump({name: [1000 * value for value in values] for name, values in figures.items()}, sys.stdout)


def main() -> int:
    """Print milliseconds of processor time of both ways, and their ratio."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.prepared_queries", description="Prepared queries."
    )
    parser.add_argument("--turns", type=int, default=3, help="of each way")
    parser.add_argument("--count", type=int, default=20, help="participants; ten times as many pairs")
    parser.add_argument("--way", choices=("prepared", "plain"), help="measure one way in this process")
    options = parser.parse_args()
    if options.way:
        measure_here(options.way, options.count)
        return 0
    figures: dict[tuple[str, str], list[float]] = {}
    for _turn in range(options.turns):
        for way in ("prepared", "plain"):
            command = [sys.executable, "-m", "benchmarks.site.prepared_queries", "--way", way]
            done = subprocess.run(
                [*command, "--count", str(options.count)], cwd=ROOT, stdout=subprocess.PIPE, check=True
            )
            for name, values in json.loads(done.stdout.splitlines()[-1]).items():
                figures.setdefault((name, way), []).extend(values)
    for name, unit in (("participants", "request"), ("annotators", "pair")):
        prepared, plain = (statistics.median(figures[name, way]) for way in ("prepared", "plain"))
        print(
            f"{name}: {prepared:.2f} ms a {unit} prepared, {plain:.2f} ms built again, "
            f"{plain / prepared:.2f} times"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

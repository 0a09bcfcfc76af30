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
from collections.abc import Collection, Container, Iterable, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.site._site_here import ORIGIN, set_up_site
from scripts.sites.processes import ROOT

LAYER = "foundation.database.prepared_queries"
APPS = ("accounts", "predictions", "annotation", "studyapp")
DEFINITION = """
study: pages
title: Pages
dataset: pages
conditions: [{ground_truth: true}, {ground_truth: true, name: second}]
items: {count: 25, seed: 1}
consent: I take part.
order_seed: 7
"""


def build_every_time(modules: Container[str]) -> None:
    """Build the queries of these modules again at every use."""
    from foundation.database import prepared_queries as prepared

    first, bound = prepared._Kept.__init__, prepared._Kept.bound

    def note_module(self: Any, build: Any) -> None:
        first(self, build)
        self.module = sys._getframe(2).f_globals["__name__"]  # which makes a query of this statement

    def build_again(self: Any, here: Any, values: dict[str, Any]) -> Any:
        if self.module not in modules:
            return bound(self, here, values)
        statement = self._build()
        return statement, [
            param.output_field.get_db_prep_value(values[param.name], here)
            if isinstance(param, prepared.Slot)
            else param
            for param in statement.params
        ]

    prepared._Kept.__init__ = note_module  # type: ignore[method-assign]
    prepared._Kept.bound = build_again  # type: ignore[method-assign]


def insert_plainly(*rows: Any) -> None:
    """Insert rows by the ORM."""
    if len(rows) == 1:
        rows[0].save(force_insert=True)
    else:
        type(rows[0])._base_manager.bulk_create(rows)


def use_plain_inserts(modules: Iterable[str]) -> None:
    """Replace `insert` in these modules, if they import it."""
    for name in modules:
        function = getattr(sys.modules.get(name), "insert", None)
        if getattr(function, "__module__", "") == LAYER:
            sys.modules[name].insert = insert_plainly  # type: ignore[attr-defined]


def list_modules() -> list[str]:
    """Return the modules of the site that use the layer."""
    paths = [path for app in APPS for path in (ROOT / app).rglob("*.py")]
    using = [path for path in paths if f"from {LAYER} import" in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in using)


def launch_generated_study(folder: Path) -> Any:
    """Launch a study of 25 generated questions; return it."""
    from django.core.management import call_command

    from studyapp.models import Study

    world = [sys.executable, "-m", "modelserver", "world", "--out", str(folder), "--world-seed", "1"]
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

    from foundation.simulated_people import Think
    from studyapp.actions.links import create_link
    from studyapp.models import Mode
    from studyapp.queries.bots import build_study_plan
    from studyapp.simulation.bots import make_bots
    from studyapp.simulation.page_requests import Post
    from studyapp.simulation.walk import walk

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


def measure_here(plain: Collection[str], count: int) -> None:
    """Measure in this process, without the layer in some modules; print JSON."""
    build_every_time(plain)
    with set_up_site() as folder:
        import config.wsgi

        assert config.wsgi.application
        use_plain_inserts(plain)
        pages = time_participants(count, folder)
        pairs = time_annotators(10 * count)
    figures = {"participants": pages, "annotators": pairs}
    json.dump({name: [1000 * value for value in values] for name, values in figures.items()}, sys.stdout)


def measure_ways(
    variants: Mapping[str, Collection[str]], turns: int, count: int
) -> dict[str, dict[str, float]]:
    """Return mean milliseconds of each way, measured in turns."""
    figures: dict[tuple[str, str], list[float]] = {}
    for _turn in range(turns):
        for variant, plain in variants.items():
            command = [sys.executable, "-m", "benchmarks.site.prepared_queries", "--count", str(count)]
            done = subprocess.run(
                [*command, "--here", "--plain", *plain], cwd=ROOT, stdout=subprocess.PIPE, check=True
            )
            for name, values in json.loads(done.stdout.splitlines()[-1]).items():
                figures.setdefault((variant, name), []).extend(values)
    return {
        variant: {name: statistics.fmean(figures[variant, name]) for name in ("participants", "annotators")}
        for variant in variants
    }


def main() -> int:
    """Print milliseconds of processor time of both ways, and their ratio."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.prepared_queries", description="Prepared queries."
    )
    parser.add_argument("--turns", type=int, default=3, help="of each way")
    parser.add_argument("--count", type=int, default=20, help="participants; ten times as many pairs")
    parser.add_argument(
        "--plain", nargs="*", default=(), metavar="MODULE", help="take the layer from these alone"
    )
    parser.add_argument("--here", action="store_true", help="measure one way in this process")
    options = parser.parse_args()
    if options.here:
        measure_here(options.plain, options.count)
        return 0
    variants = {"prepared": [], "plain": options.plain or list_modules()}
    measured = measure_ways(variants, options.turns, options.count)
    for name, unit in (("participants", "request"), ("annotators", "pair")):
        prepared, plain = (measured[variant][name] for variant in variants)
        print(
            f"{name}: {prepared:.2f} ms a {unit} prepared, {plain:.2f} ms built again, "
            f"{plain / prepared:.2f} times"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

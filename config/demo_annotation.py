"""The demo's annotation: two people, generated items with known gold, two bots' work to look at, and what
modular networks put out.

As all of the demo: what is there stays, what a person changed stays as it is.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.core.management import CommandError, call_command

from accounts.models import User
from annotation.actions.data import import_items
from annotation.actions.projects import create_project, set_member, write_guideline
from annotation.formats.jsonl import read_jsonl
from annotation.models import Project, Role
from jobs.model_gateway import served_names

ITEMS = 24
SEED = 20
PEOPLE = {"annotator": Role.ANNOTATOR, "adjudicator": Role.ADJUDICATOR}
BOT_ITEMS = 8  # that each of the two bots annotates
NETWORKS = {"scenes": "visual-nmn", "games": "text-nmn"}  # that execute the projects' programs


class Demo(NamedTuple):
    """A project of generated items: the command that makes them, and what its annotators are asked."""

    title: str
    kind: str
    guidelines: dict[str, str]


PROJECTS = {
    "scenes": Demo(
        "Scenes",
        "boxes",
        {
            "": "A sentence says something about two images, and a program says how to find out whether it "
            "is true. For each step of the program, mark what it gives. The label is known: it helps you to "
            "notice a slip, but do not bend your boxes to it.",
            "find": "Draw a tight box around every object that the words name, in both images, also around "
            "those that are partly covered.",
            "filter": "Choose those for which the words hold. If the step before missed one, go back and "
            "draw it there.",
            "with-relation": "Choose those of the first step that stand in this relation to one of the "
            "second.",
            "project": "Draw what the words name at each object, and pick the object that it belongs to.",
        },
    ),
    "games": Demo(
        "Games",
        "spans",
        {
            "": "A question is asked of a report, and a program says how to answer it. For each step of the "
            "program, mark the words of the report that it gives.",
            "find": "Mark every event that the words name, from the verb to what it says of the event.",
            "filter": "Choose the events for which the words hold.",
            "relocate": "Mark what the words ask for, and pick the event that it belongs to.",
            "find-num": "Mark the number of each event, and pick the event.",
            "find-date": "Mark the date of each event, and pick the event.",
        },
    ),
}


def load(say: Callable[[str], object], manager: User) -> None:
    """Bring in the projects that are missing, with their members and the bots' work."""
    people = {name: User.objects.get(username=name) for name in PEOPLE}
    for slug, demo in PROJECTS.items():
        if Project.objects.filter(slug=slug).exists():
            continue
        say(f"Making {ITEMS} {slug} to annotate, and having two bots annotate some of them ...")
        with tempfile.TemporaryDirectory() as folder:
            items = _generated(slug, Path(folder))
            project = create_project(
                slug=slug, title=demo.title, kind=demo.kind, by=manager, annotators_per_item=2
            )
            import_items(records=read_jsonl(items), project=project, by=manager, image_folder=items.parent)
        for module, text in demo.guidelines.items():
            write_guideline(project=project, module=module, text=text, by=manager)
        for name, role in PEOPLE.items():
            set_member(project=project, user=people[name], role=role, by=manager)
        mix = ("-n", "2", "--behaviour", "careful=0.5,sloppy=0.5", "--items", str(BOT_ITEMS))
        call_command("simulate_annotators", slug, *mix, stdout=io.StringIO())


def execute_programs(say: Callable[[str], object]) -> None:
    """Have the networks that are served execute the programs of the projects, as far as they have not."""
    served = served_names("modular")
    for slug, system in NETWORKS.items():
        if system not in served:
            say(f"The model server does not serve {system}: the project {slug} has no outputs of it.")
            continue
        say(f"Having {system} execute the programs of the {slug} ...")
        call_command("execute_programs", slug, system=system, wait=True, stdout=io.StringIO())


def _generated(kind: str, folder: Path) -> Path:
    """Write generated items; by a process of its own, for the site does not import the generators."""
    sizes = ["--train", "0", "--dev", "0", "--test", str(ITEMS)]
    command = [sys.executable, "-m", "modelserver", kind, "--out", str(folder), "--seed", str(SEED)]
    done = subprocess.run([*command, *sizes], cwd=settings.BASE_DIR, capture_output=True, text=True)
    if done.returncode:
        raise CommandError(f"python -m modelserver {kind} failed: {done.stderr.strip()}")
    return folder / "test.jsonl"

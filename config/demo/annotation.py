"""The demo's annotation projects: members, generated items, outputs.

Two bots annotate some of the items. Existing content stays as it is.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.core.management import CommandError, call_command

from accounts.models import User
from accounts.queries.workspaces import choose_workspace
from annotation.actions.data import import_items
from annotation.actions.projects import create_project, set_member, write_guideline
from annotation.content.schemas import ItemRecord
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from annotation.models import Project, Role
from jobs.model_servers.gateway import list_served_names

ITEMS = 24
SEED = 20
PEOPLE = {"annotator": Role.ANNOTATOR, "adjudicator": Role.ADJUDICATOR}
BOT_ITEMS = 8  # that each of the two bots annotates
NETWORKS = {"scenes": "visual-nmn", "games": "text-nmn"}  # that execute the projects' programs


class Demo(NamedTuple):
    """A project of generated items, with the guidelines of each module."""

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
    """Create the missing projects, with members and annotations of bots."""
    people = {name: User.objects.get(username=name) for name in PEOPLE}
    for slug, demo in PROJECTS.items():
        if Project.objects.filter(slug=slug).exists():
            continue
        say(f"Generating {ITEMS} {slug} to annotate, some of them annotated by two bots ...")
        with tempfile.TemporaryDirectory() as folder:
            generate(slug, Path(folder), ITEMS, SEED)
            items = Path(folder) / "test.jsonl"
            project = create_project(
                slug=slug,
                title=demo.title,
                kind=demo.kind,
                workspace=choose_workspace(None),
                by=manager,
                annotators_per_item=2,
            )
            # Visitors see the first one first.
            records = sorted(read_jsonl(Source(items)), key=_is_in_another_script)
            import_items(records=records, project=project, by=manager, image_folder=items.parent)
        for module, text in demo.guidelines.items():
            write_guideline(project=project, module=module, text=text, by=manager)
        for name, role in PEOPLE.items():
            set_member(project=project, user=people[name], role=role, by=manager)
        mix = ("-n", "2", "--behaviour", "careful=0.5,sloppy=0.5", "--items", str(BOT_ITEMS))
        call_command("simulate_annotators", slug, *mix, stdout=io.StringIO())


def execute_programs(say: Callable[[str], object]) -> None:
    """Execute the projects' programs with the models that are served."""
    served = list_served_names("modular")
    for slug, system in NETWORKS.items():
        if system not in served:
            say(f"The model server does not serve {system}: the project {slug} has no outputs of it.")
            continue
        say(f"Executing the programs of the {slug} with {system} ...")
        call_command("execute_programs", slug, system=system, wait=True, stdout=io.StringIO())


def _is_in_another_script(record: ItemRecord) -> bool:
    """Return whether the passage has letters that are not Latin."""
    return any(
        letter.isalpha() and "LATIN" not in unicodedata.name(letter, "LATIN") for letter in record.passage
    )


def generate(kind: str, folder: Path, items: int, seed: int) -> None:
    """Generate test items, in a process: the site imports no generator."""
    sizes = ["--train", "0", "--dev", "0", "--test", str(items)]
    command = [sys.executable, "-m", "modelserver", kind, "--out", str(folder), "--world-seed", str(seed)]
    done = subprocess.run([*command, *sizes], cwd=settings.BASE_DIR, capture_output=True, text=True)
    if done.returncode:
        raise CommandError(f".venv/bin/python -m modelserver {kind} failed: {done.stderr.strip()}")

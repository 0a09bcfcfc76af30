"""Measure the pages of the studio on a large dataset.

Run ``python -m benchmarks.site.studio``.

Each step, the review, the choice of items and the preview of an item, over 100 and over 7,405 questions (as
many as the development set of HotpotQA has) with the answers of two systems: processor time of the whole
request on SQLite, the median of several. A draft draws its items again for every page, from the ids of all
questions; ``tests/studyapp/studio`` holds that the number of queries is the same.

Bar: no page above 500 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from modelserver.world import generate
from scripts.sites.example import make_predictions, write
from scripts.sites.processes import ROOT

SIZES = (100, 7_405)
SYSTEMS = ("right", "wrong")
RUNS = 7
MOST_MS = 500.0


def run_child(folder: Path) -> None:
    """Import each dataset, start a draft of it, and measure its pages."""
    import django

    django.setup()
    # Only once Django is set up can its models be imported.
    from django.core.management import call_command
    from django.test import Client

    from accounts.actions.workspaces import give_role
    from accounts.models import Role, User
    from accounts.queries.workspaces import choose_workspace
    from studyapp.actions.drafts import start_draft
    from studyapp.studio import starts
    from studyapp.studio.steps import STEPS

    pages = [*(f"step/{step.name}/" for step in STEPS), "review/", "items/", "items/?q=born"]
    pages.append("preview/texts/?preview_page=item")
    client = Client(SERVER_NAME="127.0.0.1")
    user = User.objects.create(username="bench")
    give_role(workspace=choose_workspace(None), user=user, role=Role.OWNER, by=None)
    client.force_login(user)
    durations: dict[str, list[float]] = {}
    for size in SIZES:
        name = f"world-{size}"
        examples = list(generate("test", size, 1))
        write(folder / "questions.json", examples)
        call_command("import_dataset", "hotpot", str(folder / "questions.json"), name=name, verbosity=0)
        for system in SYSTEMS:
            write(folder / f"{system}.json", make_predictions(examples, right=system == "right"))
            call_command("import_predictions", str(folder / f"{system}.json"), dataset=name, system=system)
        start_draft(
            draft=starts.build_draft(
                starts.STARTS["xqa-2020"], slug=name, title="A study", dataset=name, systems=SYSTEMS
            ),
            workspace=choose_workspace(None),
            by=None,
        )
        for page in pages:
            address, times = f"/staff/studio/{name}/{page}", []
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.status_code)
            for _run in range(RUNS):
                begun = time.process_time()
                client.get(address)
                times.append(1000 * (time.process_time() - begun))
            durations.setdefault(page, []).append(statistics.median(times))
    (folder / "found.json").write_text(json.dumps(durations), encoding="utf-8")


def measure() -> dict[str, list[float]]:
    """Return milliseconds of every page, over each dataset in turn."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as name:
        env = {
            **os.environ, "VAR_DIR": name, "SECRET_KEY": "only-for-benchmarks", "DEBUG": "true",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": f"sqlite:///{name}/touchstone.sqlite3",
        }  # fmt: skip
        subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], cwd=ROOT, env=env, check=True)
        command = [sys.executable, "-m", "benchmarks.site.studio", "--child", name]
        subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
        return json.loads(Path(name, "found.json").read_text("utf-8"))


def main() -> int:
    """Print the durations of all pages."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.site.studio", description="Pages of the studio."
    )
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        run_child(options.child)
        return 0
    few, many = SIZES
    print(f"{'page':34}{few:>8,} q.{many:>8,} q.  factor")
    is_met = True
    for page, (small, large) in measure().items():
        is_met &= large <= MOST_MS
        print(f"{page:34}{small:8.0f} ms{large:8.0f} ms{large / small:8.1f}")
    print("bar: " + ("met" if is_met else "MISSED"))
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())

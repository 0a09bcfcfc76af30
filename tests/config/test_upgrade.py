"""A filled database of the first migrations of 0.2.0 comes to the newest with the same exports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from scripts.processes import ROOT
from tests.config.test_workspace_migration import empty_database

__all__ = ["empty_database"]

# The old database is made backwards: what its tables cannot hold is dropped, as if it had never been there.
UPGRADE = """
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

# The tables of jobs are younger than those of workspaces.
OURS = ("accounts", "annotation", "predictions", "studyapp")

def newest():
    call_command("migrate", verbosity=0)
    return set(MigrationRecorder(connection).applied_migrations())

before = newest()
from tests.studyapp.factories import make_link, make_participant, make_study
study = make_study(items=3, conditions=2)
link = make_link(study=study, label="class of May")
make_participant(study=study, link=link, completed=True)
make_participant(study=study, link=link, items=1)
call_command("export_results", study.slug, "--mode", "all", "--out", "before")

MigrationExecutor(connection).migrate([(app, "0001_initial") for app in OURS])
left = sorted(key for key in MigrationRecorder(connection).applied_migrations() if key[0] in (*OURS, "jobs"))
assert left == [(app, "0001_initial") for app in OURS], left
assert newest() == before
call_command("export_results", study.slug, "--mode", "all", "--out", "after")
"""


def test_exports_are_equal_after_an_upgrade(empty_database: str, tmp_path: Path) -> None:
    environment = os.environ | {
        "DATABASE_URL": empty_database, "VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", UPGRADE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    before, after = files(tmp_path / "before"), files(tmp_path / "after")
    assert "trials.csv" in before
    # The first tables had no decisions of a launch.
    launched, upgraded = (json.loads(each.pop("study_version.json")) for each in (before, after))
    for version in launched["versions"]:
        assert version["decisions"]
        version["decisions"] = []
    assert upgraded == launched
    assert after == before


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of each file by its name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

"""A filled database of the first migration of each app comes to the newest with the same exports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from scripts.sites.processes import ROOT

pytestmark = pytest.mark.database

# The old database is made backwards: what its tables cannot hold is dropped, as if it had never been there.
UPGRADE = """
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

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

executor = MigrationExecutor(connection)
OURS = ("accounts", "annotation", "jobs", "predictions", "studyapp")
executor.migrate([key for key in executor.loader.graph.root_nodes() if key[0] in OURS])
left = {app for app, name in before - set(MigrationRecorder(connection).applied_migrations())}
assert left >= {"annotation", "jobs", "predictions", "studyapp"}, left
assert newest() == before
call_command("export_results", study.slug, "--mode", "all", "--out", "after")
"""


@pytest.fixture
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database of the kind that the tests run on."""
    if connection.vendor == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path}/old.sqlite3"


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
    assert after == before


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of each file by its name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

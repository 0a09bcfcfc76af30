"""A database from before workspaces: its rows move into one, of which the staff are owners."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from scripts.processes import ROOT

pytestmark = pytest.mark.database

# The apps have one initial migration each, from when nothing had a workspace.
MOVE = """
import json
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

OLD = [(app, "0001_initial") for app in ("accounts", "annotation", "predictions", "studyapp")]
executor = MigrationExecutor(connection)
executor.migrate(OLD)
old = executor.loader.project_state(OLD).apps
User = old.get_model("accounts", "User")
staff = User.objects.create(username="staff", is_staff=True)
ordinary = User.objects.create(username="ordinary")
User.objects.create(username="root", is_superuser=True)
project = old.get_model("annotation", "Project").objects.create(slug="dogs", title="Dogs", kind="boxes")
old.get_model("annotation", "Membership").objects.create(project=project, user=ordinary, role="adjudicator")
old.get_model("predictions", "Dataset").objects.create(name="films", source_format="hotpot", created_by=staff)
old.get_model("studyapp", "Study").objects.create(slug="facts", title="Facts", definition={})
old.get_model("studyapp", "SizePlan").objects.create(assumptions={})

call_command("migrate", verbosity=0)
from accounts.models import Membership, Workspace
from annotation.models import Project
from predictions.models import Dataset
from studyapp.models import SizePlan, Study

print(json.dumps({
    "workspaces": list(Workspace.objects.values_list("slug", "name")),
    "roles": list(Membership.objects.values_list("workspace__slug", "user__username", "role")),
    "rows": {model.__name__: list(model.objects.values_list("workspace__slug", flat=True))
              for model in (Project, Dataset, Study, SizePlan)},
    "members": list(Project.objects.get().memberships.values_list("user__username", "role", "active")),
}))
"""


@pytest.fixture
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database of the kind that the tests run on."""
    if connection.vendor == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path}/old.sqlite3"


def test_rows_move_into_one_workspace_whose_owners_are_the_staff(empty_database: str, tmp_path: Path) -> None:
    found = moved(empty_database, tmp_path)
    assert found["workspaces"] == [["main", "Main"]]
    assert found["roles"] == [["main", "staff", "owner"]]  # neither an ordinary user nor a superuser
    assert found["rows"] == {name: ["main"] for name in ("Project", "Dataset", "Study", "SizePlan")}
    assert found["members"] == [["ordinary", "adjudicator", True]]


def moved(database: str, folder: Path) -> Any:
    """Return the rows of an older database after its migration."""
    environment = os.environ | {
        "DATABASE_URL": database, "VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", MOVE], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

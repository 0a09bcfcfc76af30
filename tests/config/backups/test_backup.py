"""A site is backed up while people work, and restored elsewhere.

The restored site, on an empty folder, has the same exports.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.load.walkers import Tally, run_crowd
from scripts.sites import servers
from scripts.sites.commands import Commands
from scripts.sites.example import load_example, make_link
from scripts.sites.site import prepare_postgres, prepare_sqlite
from tests.site import Site, postgres_or_sqlite, run_site
from tests.waiting import eventually

__all__ = ["postgres_or_sqlite"]

ITEMS = 4
# No person was copied half: the counters of each agree with the answers of each.
TORN = """
from studyapp.models import Participant, Trial
for person in Participant.objects.all():
    answered = Trial.objects.filter(participant=person, answers__isnull=False).count()
    if answered != person.items_submitted:
        print("torn", person.pk)
print("people", Participant.objects.count())
"""
IMAGE = "ab/" + "ab" * 32 + ".png"


@dataclass(frozen=True)
class Folder:
    """A data folder with a database, and no programs."""

    var: Path
    env: Mapping[str, str]
    commands: Commands

    def run(self, *arguments: str, status: int = 0) -> str:
        return said_by(self.commands, *arguments, status=status)


def said_by(commands: Commands, *arguments: str, status: int = 0) -> str:
    done = commands.run(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture(scope="module")
def worked_on(postgres_or_sqlite: str | None) -> Iterator[Site]:
    """A site with a study that some people finished."""
    with run_site(postgres=postgres_or_sqlite, worker=False, extra={"LOG_LEVEL": "WARNING"}) as site:
        load_example(site, items=ITEMS)
        asyncio.run(run_crowd(make_link(site), Tally(), users=4, think=0.0, patience=60.0))
        for name, content in (
            (f"images/{IMAGE}", b"image"), ("jobs/1/out.csv", b"rows"), ("reports/3/report.html", b"<p>"),
        ):  # fmt: skip
            path = site.var / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield site


@pytest.fixture(scope="module")
def other(
    worked_on: Site, postgres_or_sqlite: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Folder]:
    """The names of a folder and of a database, which each test makes itself.

    The database is of the same kind as the site's.
    """
    var = tmp_path_factory.mktemp("other") / "restored"
    url = f"sqlite:///{var}/touchstone.sqlite3"
    if postgres_or_sqlite:
        url = f"{postgres_or_sqlite.rpartition('/')[0]}/restored_{secrets.token_hex(6)}"
    env = {**worked_on.env, "VAR_DIR": str(var), "DATABASE_URL": url}
    with Commands(env) as commands:
        yield Folder(var, env, commands)


@contextmanager
def make_site_folder(folder: Folder, server: str | None, *, migrated: bool) -> Iterator[Folder]:
    """Make the folder, and its database, empty or migrated."""
    folder.var.mkdir()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder.var)
        if server:
            name = folder.env["DATABASE_URL"].rpartition("/")[2]
            template = prepare_postgres(server) if migrated else "template1"
            stack.enter_context(servers.copy_postgres_database(server, template=template, name=name))
        elif migrated:
            prepare_sqlite(folder.var)
        yield folder


@pytest.fixture
def empty(other: Folder, postgres_or_sqlite: str | None) -> Iterator[Folder]:
    with make_site_folder(other, postgres_or_sqlite, migrated=False) as folder:
        yield folder


@pytest.fixture
def migrated(other: Folder, postgres_or_sqlite: str | None) -> Iterator[Folder]:
    with make_site_folder(other, postgres_or_sqlite, migrated=True) as folder:
        yield folder


def bundle(commands: Commands, out: Path) -> dict[str, bytes]:
    said_by(commands, "export_results", "example", "--mode", "live", "--out", str(out))
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_it_works_while_people_work(worked_on: Site, empty: Folder, tmp_path: Path):
    key = tmp_path / "key"
    key.write_text(os.urandom(32).hex())
    tally = Tally()
    walking = run_crowd(make_link(worked_on, mode="pilot"), tally, users=16, think=0.6, patience=60.0)
    working = threading.Thread(target=asyncio.run, args=(walking,))
    working.start()
    eventually(lambda: tally.items > 3)
    before = during = 0
    while during == 0 and working.is_alive():  # a backup of a small site takes a tenth of a second
        before = tally.items
        output = worked_on.manage("backup", str(tmp_path / "backups"), "--key-file", str(key), "--keep", "1")
        assert "encrypted" in output
        during = tally.items - before
    working.join(timeout=120)
    assert during > 0, "nobody worked during a backup"
    (archive,) = (tmp_path / "backups").iterdir()
    output = empty.run("restore", str(archive), "--key-file", str(key))
    assert "SECRET_KEY" not in output
    assert bundle(empty.commands, tmp_path / "b") == bundle(worked_on.commands, tmp_path / "a")
    report = empty.run("shell", "--no-imports", "--command", TORN)
    assert "torn" not in report
    assert int(re.findall(r"people (\d+)", report)[0]) >= 4 + (before > 0)
    for name in (f"images/{IMAGE}", "jobs/1/out.csv", "reports/3/report.html"):
        assert (empty.var / name).read_bytes() == (worked_on.var / name).read_bytes()
    text = (empty.var / "settings-of-backup.env").read_text()
    assert f"SITE_URL={worked_on.url}" in text
    assert "SECRET_KEY" not in text
    assert "DATABASE_URL" not in text
    assert worked_on.env["SECRET_KEY"] not in text
    assert not [
        path
        for path in [*empty.var.iterdir(), *worked_on.var.iterdir()]
        if path.name.startswith((".backup", ".restore"))
    ]


def test_a_used_site_is_replaced_only_when_told(worked_on: Site, empty: Folder, tmp_path: Path):
    worked_on.manage("backup", str(tmp_path))
    (archive,) = tmp_path.glob("*.backup")
    empty.run("restore", str(archive))
    assert "This site is not empty." in empty.run("restore", str(archive), status=1)
    (empty.var / "jobs/1/later.csv").write_text("x")
    empty.run("restore", str(archive), "--replace")
    assert [path.name for path in (empty.var / "jobs/1").iterdir()] == ["out.csv"]
    assert bundle(empty.commands, tmp_path / "b") == bundle(worked_on.commands, tmp_path / "a")


def test_an_older_backup_is_migrated_and_another_key_is_said(
    worked_on: Site, migrated: Folder, tmp_path: Path
):
    before = migrated.run("showmigrations", "--plan")
    migrated.run("migrate", "jobs", "0001", "--verbosity", "0")
    migrated.run("backup", str(tmp_path))
    (archive,) = tmp_path.glob("*.backup")
    with Commands({**migrated.env, "SECRET_KEY": "another"}) as other:
        assert "SECRET_KEY differs from that of the backup" in said_by(other, "restore", str(archive))
    assert migrated.run("showmigrations", "--plan") == before


def test_a_newer_backup_is_refused(worked_on: Site, migrated: Folder, tmp_path: Path):
    add = "from django.db.migrations.recorder import MigrationRecorder as M\n"
    add += "from django.db import connection\nM(connection).record_applied('jobs', '9999_of_the_future')"
    migrated.run("shell", "--no-imports", "--command", add)
    migrated.run("backup", str(tmp_path))
    (archive,) = tmp_path.glob("*.backup")
    output = migrated.run("restore", str(archive), status=1)
    assert "which is newer than this one" in output
    assert "jobs.9999_of_the_future" in output
    assert len(output.strip().splitlines()) == 1


def test_a_database_that_is_not_the_sites_costs_no_backup(migrated: Folder, tmp_path: Path):
    """A new site stands in for the old one if its disk is not mounted.

    VAR_DIR is on that disk.
    """
    older = tmp_path / "touchstone-20260101T000000.000000Z.backup"
    older.write_bytes(b"of the site")
    output = migrated.run("backup", str(tmp_path), "--keep", "1", status=1)
    assert "no older backup was deleted" in output
    assert older.exists()


def test_a_database_without_tables_is_not_backed_up(empty: Folder, tmp_path: Path):
    output = empty.run("backup", str(tmp_path), "--keep", "1", status=1)
    assert "this database has no tables of a site" in output
    assert not list(tmp_path.iterdir())


def test_nothing_changes_if_the_archive_is_damaged(worked_on: Site, empty: Folder, tmp_path: Path):
    worked_on.manage("backup", str(tmp_path))
    (archive,) = tmp_path.glob("*.backup")
    content = archive.read_bytes()
    archive.write_bytes(content[: len(content) // 2])
    output = empty.run("restore", str(archive), status=1)
    assert "is damaged" in output
    assert not (empty.var / "jobs").exists()
    assert not (empty.var / "images").exists()


def test_a_weights_folder_is_stored_on_request(worked_on: Site, empty: Folder, tmp_path: Path):
    (tmp_path / "weights/mine").mkdir(parents=True)
    (tmp_path / "weights/mine/model.safetensors").write_bytes(b"weights")
    worked_on.manage("backup", str(tmp_path / "to"), "--weights", str(tmp_path / "weights"))
    (archive,) = (tmp_path / "to").iterdir()
    empty.run("restore", str(archive), "--weights", str(tmp_path / "back"))
    assert (tmp_path / "back/mine/model.safetensors").read_bytes() == b"weights"
    output = said_by(worked_on.commands, "backup", str(tmp_path), "--weights", "/nowhere", status=1)
    assert "/nowhere: is not a folder" in output


def test_only_administrators_make_one_by_name(worked_on: Site, tmp_path: Path):
    code = "from accounts.models import User; User.objects.get_or_create(username='rosa')"
    worked_on.manage("shell", "--no-imports", "--command", code)
    output = said_by(worked_on.commands, "backup", str(tmp_path / "to"), "--as", "rosa", status=1)
    assert "rosa is not an administrator of this site" in output
    assert not (tmp_path / "to").exists()

"""A site behind PgBouncer, with another connection in each transaction."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured

from scripts.sites import servers
from scripts.sites.commands import Commands
from scripts.sites.processes import Supervisor
from scripts.sites.site import Site, prepare_postgres
from scripts.sites.stack import Stack
from tests.config.test_settings import load, settings
from tests.deploy.pooler import pooler

CONNECTIONS = 2

# Three people at once on two connections: long reads, and transactions between their parts.
READ_AND_WRITE = """
import json, os
from concurrent.futures import ThreadPoolExecutor
from django.core.management import call_command
from django.db import connection, connections, transaction
from accounts.models import User
from config.management.commands.prepare_site import LOCK, hold_migration_lock
from tests.studyapp.factories import make_link, make_participant, make_study

study = make_study(items=3, conditions=2)
link = make_link(study=study, label="class of May")
for _ in range(4):
    make_participant(study=study, link=link, completed=True)
User.objects.bulk_create([User(username=f"user-{number}") for number in range(20)])

def work(number):
    seen = 0
    for user in User.objects.filter(username__startswith="user-").order_by("pk").iterator(chunk_size=1):
        with transaction.atomic():
            User.objects.select_for_update().get(pk=user.pk)
            seen += 1
    call_command("export_results", study.slug, "--mode", "all", "--out", f"{os.environ['VAR_DIR']}/{number}")
    connection.close()
    return seen

def is_free():
    other = connections["direct"].copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        (free,) = cursor.fetchone()
    other.close()
    return free

with ThreadPoolExecutor(3) as pool:
    seen = list(pool.map(work, range(3)))
with hold_migration_lock("direct"):
    locked = not is_free()
print(json.dumps({"seen": seen, "locked": locked, "free": is_free()}))
"""


@pytest.fixture
def pooled(postgres_server: str) -> Iterator[Site]:
    with ExitStack() as lasting:
        folder = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-pool-")))
        pooler_folder = Path(
            lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-pgbouncer-"))
        )
        template = prepare_postgres(postgres_server)
        database = lasting.enter_context(servers.copy_postgres_database(postgres_server, template=template))
        parts = lasting.enter_context(Supervisor())
        part, url = pooler(pooler_folder, database, connections=CONNECTIONS)
        parts.start(part)
        parts.wait_ready()
        extra = {
            "SECRET_KEY": "k" * 50, "DATABASE_URL": database, "DATABASE_POOL_URL": url,
            "DJANGO_ALLOW_ASYNC_UNSAFE": "",
        }  # fmt: skip
        stack = Stack(folder, 0, 0, extra)
        yield Site(stack, parts, lasting.enter_context(Commands(stack.env)))


@pytest.mark.service
@pytest.mark.soak
def test_reads_exports_and_backups_work_on_few_connections(pooled: Site) -> None:
    done = pooled.manage("shell", "--no-imports", "--command", READ_AND_WRITE).splitlines()[-1]
    assert json.loads(done) == {"seen": [20, 20, 20], "locked": True, "free": True}
    bundles = [
        {path.name: path.read_bytes() for path in (pooled.var / str(number)).glob("*.csv")}
        for number in range(3)
    ]
    assert "trials.csv" in bundles[0]
    assert bundles[1:] == bundles[:1] * 2
    # pg_dump would leave its settings to the next transactions, so it takes the way around the pooler.
    pooled.manage("backup", str(pooled.var / "backups"))
    count = "from accounts.models import User; print(User.objects.count())"
    assert pooled.manage("shell", "--no-imports", "--command", count).split()[-1] == "20"
    with psycopg.connect(pooled.env["DATABASE_URL"]) as connection:
        names = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        (connected,) = connection.execute(names).fetchone() or (0,)
    assert connected <= CONNECTIONS + 1


def test_a_pooler_needs_the_server_behind_it(tmp_path: Path) -> None:
    pool = {"DATABASE_POOL_URL": "postgres://u:p@pool:6432/site"}
    databases = settings(tmp_path, DATABASE_URL="postgres://u:p@db:5432/site", **pool)["DATABASES"]
    assert (databases["default"]["PORT"], databases["direct"]["PORT"]) == (6432, 5432)
    assert databases["default"]["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert databases["direct"]["DISABLE_SERVER_SIDE_CURSORS"] is False
    with pytest.raises(ImproperlyConfigured, match="set DATABASE_URL to the PostgreSQL server behind it"):
        load(tmp_path, SECRET_KEY="k", **pool)

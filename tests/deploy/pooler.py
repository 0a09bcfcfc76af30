"""PgBouncer, which shares a few connections to PostgreSQL.

Each transaction gets one of them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from scripts.debian import find_pgbouncer
from scripts.sites import servers
from scripts.sites.processes import Part, free_port


def pooler(folder: Path, database_url: str, *, connections: int) -> tuple[Part, str]:
    """Return PgBouncer in front of a test server, and the URL by way of it.

    ``folder`` is one that every user of the machine can reach.
    """
    program = find_pgbouncer()
    if program is None:
        raise servers.NotAvailable("PgBouncer is not installed (Debian package pgbouncer).")
    server, port, user = urlsplit(database_url), free_port(), servers.find_unprivileged_user()
    lines = [
        "[databases]",
        f"* = host={server.hostname} port={server.port} user={server.username}",
        "[pgbouncer]",
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =",
        "auth_type = any\npool_mode = transaction",
        f"default_pool_size = {connections}\nmax_client_conn = 300",
    ]
    path = folder / "pgbouncer.ini"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [str(program), str(path)]
    if user:  # PgBouncer refuses to run as root
        shutil.chown(folder, user)
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
    url = f"postgres://{server.username}@127.0.0.1:{port}{server.path}"

    def ready() -> bool:
        try:
            with psycopg.connect(url, connect_timeout=2, prepare_threshold=None) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    part = Part(name="pgbouncer", command=command, log=folder / "log", env=os.environ, ready=ready)
    return part, url

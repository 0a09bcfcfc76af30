"""Find the servers and the browser of the tests, or install packages.

``python3 -m scripts.debian`` installs what lacks.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

POLICY = Path("/usr/sbin/policy-rc.d")


def find_postgres_folder() -> Path | None:
    """Return the folder of the newest PostgreSQL server's programs, or None."""
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    for path in sorted(versions, key=lambda path: int(path.parts[-3]), reverse=True):
        return path.parent
    program = shutil.which("initdb")
    return Path(program).resolve().parent if program else None


def find_redis_server() -> Path | None:
    """Return Debian's redis-server, or None."""
    program = shutil.which("redis-server")
    return Path(program) if program else None


def find_chromium() -> Path | None:
    """Return the path of Chromium, preferably the one without a screen.

    The whole browser takes longer to open.
    """
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    return Path(program) if program else None


def find_pgbouncer() -> Path | None:
    """Return the pooler of PostgreSQL's connections, or None."""
    return _find_system_program("pgbouncer")


def find_nginx() -> Path | None:
    """Return the web proxy, or None."""
    return _find_system_program("nginx")


def find_caddy() -> Path | None:
    """Return the web proxy that gets its own certificates, or None."""
    return _find_system_program("caddy")


def _find_system_program(name: str) -> Path | None:
    # Debian keeps servers in a folder that is in the PATH of root alone.
    program = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    return Path(program) if program else None


# Name of the Debian package, and how to tell that what it brings is there.
PARTS: dict[str, Callable[[], Path | None]] = {
    "postgresql": find_postgres_folder,
    "redis-server": find_redis_server,
    "pgbouncer": find_pgbouncer,
    "nginx-light": find_nginx,
    "caddy": find_caddy,
    "chromium-headless-shell": find_chromium,
}


def find_missing_packages() -> list[str]:
    """Return the Debian packages of the parts that this machine lacks."""
    return [package for package, find in PARTS.items() if find() is None]


def provide() -> None:
    """Install what lacks, or say in one sentence why not."""
    packages = find_missing_packages()
    if packages:
        print(f"Installing {', '.join(packages)} with apt-get ...", flush=True)
        with tempfile.TemporaryDirectory(prefix="touchstone-apt-") as folder:
            sentence = install(packages, Path(folder) / "apt.log")
        if sentence:
            print(sentence, flush=True)


def install(packages: list[str], log: Path) -> str | None:
    """Install packages without starting their services.

    Return a message if that is not possible.
    """
    if os.geteuid():
        return f"Only root can install {' '.join(packages)}: apt-get install {' '.join(packages)}"
    if not shutil.which("apt-get"):
        return f"There is no apt-get here to install {' '.join(packages)} with."
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    get = ["apt-get", "-q", "-y"]
    with log.open("ab") as output, forbid_service_starts():
        for command in ([*get, "update"], [*get, "install", "--no-install-recommends", *packages]):
            status = subprocess.call(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env)
    if status:
        lines = re.findall(r"^E: .*", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        return f"apt-get could not install {' '.join(packages)}: {lines[-1] if lines else f'see {log}'}"
    return None


@contextlib.contextmanager
def forbid_service_starts() -> Iterator[None]:
    """Forbid package scripts to start services, with Debian's own switch.

    A switch that exists already stays.
    """
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


if __name__ == "__main__":
    provide()

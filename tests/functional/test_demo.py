"""The launcher of ``make demo`` starts everything and prints links.

The links work, and it leaves nothing behind.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from scripts.sites.processes import ROOT, free_port, is_url_answering
from scripts.sites.stack import choose_socket_path
from tests.waiting import eventually

FIRST_START = 450.0
SECOND_START = 180.0  # 18 s on two free cores; other tests run beside this one


class Demo:
    """A running launcher with what it has printed."""

    def __init__(self, var: Path) -> None:
        self.var = var
        env = {name: value for name, value in os.environ.items() if name not in ("SECRET_KEY", "DEBUG")}
        env |= {"VAR_DIR": str(var), "PORT": str(free_port()), "MODEL_SERVER_PORT": str(free_port())}
        env |= {"MODELSERVER_PROCESSES": "1"}  # tests/modelserver/serving has more of them
        self.begun = time.monotonic()
        self.output = var.parent / f"output-{time.monotonic_ns()}"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "scripts.demo"], cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def text(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def wait_ready(self, seconds: float) -> None:
        """Wait until the links are printed, at most some seconds from the start."""
        while "Ctrl-C ends everything" not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() - self.begun < seconds, self.text
            time.sleep(0.1)

    def links(self) -> dict[str, str]:
        links = re.findall(r"^  (Researcher|Participant)\s+(http\S+)", self.text, re.MULTILINE)
        return dict(links)

    def login(self) -> tuple[str, str]:
        match = re.search(r"user (\S+), password (\S+)", self.text)
        assert match, self.text
        return match[1], match[2]


@contextmanager
def started(var: Path) -> Iterator[Demo]:
    demo = Demo(var)
    try:
        yield demo
    finally:
        demo.process.send_signal(signal.SIGINT)
        try:
            demo.process.wait(60)
        finally:
            for pid in processes(var):
                os.kill(pid, signal.SIGKILL)


def processes(var: Path) -> dict[int, str]:
    """Process ids and command lines of all that run on this folder of data.

    The broker writes its title over its environment; the title names its socket.
    """
    commands = {}
    mark, socket = f"VAR_DIR={var}", str(choose_socket_path(var))
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_text(errors="replace").split("\0")
            command = (folder / "cmdline").read_text(errors="replace").replace("\0", " ")
            if mark in environment or socket in command:
                commands[int(folder.name)] = command
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended meanwhile, or is somebody else's
    return commands


def wait_for(demo: Demo, text: str) -> None:
    """Wait until the launcher has printed a text that matches."""
    eventually(lambda: re.search(text, demo.text) is not None)


def test_it_starts_prints_links_that_work_and_ends_cleanly_twice(tmp_path: Path):
    var = tmp_path / "var"
    with started(var) as demo:
        demo.wait_ready(FIRST_START)
        first = demo.links(), demo.login()
        for url in demo.links().values():
            assert httpx.get(url, follow_redirects=True).status_code == 200
        commands = " ".join(processes(var).values())
        for part in ("valkey-server", "celery", "modelserver serve", "config.web_server", "scripts.demo"):
            assert part in commands
        demo.process.send_signal(signal.SIGINT)
        assert demo.process.wait(60) == 0
        assert "Everything is saved" in demo.text
        assert processes(var) == {}
    with started(var) as again:
        again.wait_ready(SECOND_START)
        links, login = first
        assert again.login() == login
        path = httpx.URL(links["Participant"]).path
        assert httpx.URL(again.links()["Participant"]).path == path
        worker = next(pid for pid, command in processes(var).items() if "celery" in command)
        os.kill(os.getpgid(worker), signal.SIGKILL)  # the first of its group, and its children live on
        wait_for(
            again, r"The worker ended with status -9\. It starts again in 1 s\. The end of .*worker\.log"
        )
        web = next(pid for pid, command in processes(var).items() if "config.web_server" in command)
        os.kill(os.getpgid(web), signal.SIGKILL)
        wait_for(again, r"The worker runs again\.")
        wait_for(again, r"The web server ended with status -9")
        wait_for(again, r"The web server runs again\.")
        eventually(lambda: is_url_answering(again.links()["Researcher"]))
        again.process.send_signal(signal.SIGINT)
        assert again.process.wait(60) == 0
        assert processes(var) == {}
    assert var.stat().st_mode & 0o777 == 0o700
    assert (var / "env").stat().st_mode & 0o077 == 0


def test_a_taken_port_is_one_sentence(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        env = {**os.environ, "VAR_DIR": str(tmp_path / "var"), "PORT": str(port)}
        done = subprocess.run(
            [sys.executable, "-m", "scripts.demo"], cwd=ROOT, env=env, capture_output=True, text=True
        )
    assert done.returncode == 1
    assert done.stderr == f"Port {port} is taken; choose another one with PORT=PORT make demo.\n"
    assert done.stdout == ""

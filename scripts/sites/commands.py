"""Run commands and programs in forks of one process that is loaded.

Of a command that does little, the start of Python and Django is nearly all; here they start once for a site.
``python -m scripts.sites.commands SOCKET MODULE ...`` is that process; it imports the modules first. Each
message of the socket is a JSON object: the arguments of ``manage.py``, or ``-m``, a module and its arguments;
the working folder; and whether it is a program, which ends as a process of its own would. With it come the
files for what is printed and for errors, and a socket that receives the process id and at last the status.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, Self

from scripts.sites.processes import ROOT, Part, Process, end_with_parent, kill_group, start_process

SECONDS = 300  # that a command may take
LONGEST = 1_000_000  # bytes of a request
PROGRAMS = ("celery", "config.web_server")  # of a site: they load what its commands load


class Fork:
    """A running fork, to be waited for and signalled like a Popen."""

    def __init__(self, arguments: Sequence[str], news: socket.socket) -> None:
        self.args, self._news = arguments, news
        self._lock = threading.Lock()
        self.returncode: int | None = None
        begun = news.recv(LONGEST)
        if not begun:
            raise ChildProcessError("The process that forks has ended; what it printed says why.")
        self.pid: int = json.loads(begun)["pid"]

    def poll(self) -> int | None:
        """Return the status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the status. Raises TimeoutExpired."""
        with self._lock:
            if self.returncode is None:
                if not select.select([self._news], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                # Nothing arrives if the process that forked it has ended, and with it all forks.
                self.returncode = json.loads(self._news.recv(LONGEST) or b'{"status": -9}')["status"]
                self._news.close()
            return self.returncode

    def send_signal(self, sig: int) -> None:
        """Signal the process if it still runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended, which is not told yet
                os.kill(self.pid, sig)


@dataclass(frozen=True)
class Running:
    """A command that was begun, and the files of its output and its errors."""

    fork: Fork
    files: tuple[IO[bytes], IO[bytes]]

    def end(self, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
        """Wait for its end. Raises TimeoutError if it is slow; it is ended then."""
        output, error = self.files
        with output, error:
            try:
                status = self.fork.wait(seconds)
            except subprocess.TimeoutExpired:
                kill_group(self.fork)
                self.fork.wait()
                raise TimeoutError(f"{' '.join(self.fork.args)} takes more than {seconds} s") from None
            for file in self.files:
                file.seek(0)
            texts = output.read().decode(), error.read().decode()
        return subprocess.CompletedProcess(self.fork.args, status, *texts)


class Commands:
    """Runs commands in the environment of a site.

    The process starts with the first command, and imports ``modules`` then.
    """

    def __init__(self, env: Mapping[str, str], modules: Sequence[str] = ()) -> None:
        self._env, self._modules = env, modules
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._lock = threading.Lock()

    def run(self, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder.

        Raises TimeoutError if it is slow; it is ended then.
        """
        return self.begin(*arguments, folder=folder).end()

    def begin(self, *arguments: str, folder: Path = ROOT) -> Running:
        """Begin to run a command in a folder."""
        files = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - its end closes them
        output, error = (file.fileno() for file in files)
        return Running(self._fork(arguments, output, error, folder=str(folder), program=False), files)

    def start(self, part: Part, log: int) -> Process:
        """Start a program.

        It is a fork if it is one of a site, in the environment of these commands.
        """
        python, *arguments = part.command
        if [python, *arguments[:1]] != [sys.executable, "-m"] or arguments[1] not in PROGRAMS:
            return start_process(part, log)
        if dict(part.env) != dict(self._env):
            return start_process(part, log)
        return self._fork(arguments, log, log, folder=str(ROOT), program=True)

    def _fork(self, arguments: Sequence[str], output: int, error: int, **more: Any) -> Fork:
        news, reports = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with reports:
            request = json.dumps({"arguments": arguments, **more}).encode()
            socket.send_fds(self._ensure_started(), [request], [output, error, reports.fileno()])
        return Fork(arguments, news)

    def _ensure_started(self) -> socket.socket:
        with self._lock:
            if self._requests is None:
                self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                with theirs:
                    self._process = subprocess.Popen(
                        [sys.executable, "-m", __spec__.name, str(theirs.fileno()), *self._modules],
                        cwd=ROOT, env=dict(self._env), stdin=subprocess.DEVNULL,
                        pass_fds=[theirs.fileno()], start_new_session=True,
                    )  # fmt: skip
            return self._requests

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, which ends by itself when nobody can ask it any more."""
        if self._requests is not None and self._process is not None:
            self._requests.close()
            self._process.wait()


def main() -> None:
    """Fork until nobody can ask for it any more."""
    import django
    from django.urls import get_resolver

    # Nothing of what is imported here is garbage: looking for some takes a fifth of the time, and in each
    # fork it would copy the memory that it looks at.
    gc.disable()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # The system checks of nearly every command import the pages of the site.
    assert get_resolver().url_patterns
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()
    _serve(socket.socket(fileno=int(sys.argv[1])))


def _serve(requests: socket.socket) -> None:
    """Fork for each request, and tell the status of each fork that ended."""
    ended, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    running: dict[int, socket.socket] = {}
    while True:
        ready = select.select([requests.fileno(), ended], [], [])[0]
        if ended in ready:
            os.read(ended, LONGEST)
            while running and (fork := os.waitpid(-1, os.WNOHANG))[0]:
                with running.pop(fork[0]) as reports, suppress(BrokenPipeError):
                    reports.send(json.dumps({"status": os.waitstatus_to_exitcode(fork[1])}).encode())
        if requests.fileno() in ready:
            request, files, _, _ = socket.recv_fds(requests, LONGEST, 3)
            if not request:
                return
            reports = socket.socket(fileno=files[2])
            child = os.fork()
            if not child:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for file in (ended, wakes):
                    os.close(file)
                for unused in (requests, *running.values()):
                    unused.close()
                _run(reports, files[:2], **json.loads(request))
            running[child] = reports
            for file in files[:2]:
                os.close(file)


def _run(
    reports: socket.socket, files: Sequence[int], *, arguments: Sequence[str], folder: str, program: bool
) -> NoReturn:
    """Do in a fork what was asked for, and end."""
    os.setsid()
    end_with_parent()
    with reports:
        reports.send(json.dumps({"pid": os.getpid()}).encode())
    status = 1
    try:
        for number, file in enumerate(files, 1):
            os.dup2(file, number)
        for file in set(files):
            os.close(file)
        os.chdir(folder)
        status = _run_command(arguments)
        if program:  # with what is to be done at the end of a process
            sys.exit(status)
    finally:
        if not program:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


def _run_command(arguments: Sequence[str]) -> int:
    """Run a command as ``manage.py`` or ``python -m`` does; return its status."""
    from manage import CommandLine

    try:
        if arguments[0] == "-m":
            sys.argv = list(arguments[1:])
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            CommandLine(["manage.py", *arguments]).execute()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()

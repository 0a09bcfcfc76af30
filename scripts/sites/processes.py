"""Start programs, wait until they answer, end them by process id.

Each runs in a process group of its own.

PartFailed      a program could not be started, ended too early or did not answer in time
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn, Protocol, Self

STEADY_SECONDS = 60.0  # a program that ran this long may start again at once
LONGEST_PAUSE = 60.0  # before another try to start a program
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ROOT = Path(__file__).resolve().parents[2]


class PartFailed(Exception):
    """A program failed; the message ends with its last log lines."""


@dataclass(frozen=True)
class Part:
    """One program: its name, command, log and readiness.

    ``seconds`` is how long it may take until ``ready`` returns True; ``end`` is the signal that asks it to
    finish, and ``grace`` how long (seconds) it may take before its process group is killed.
    """

    name: str
    command: Sequence[str]
    log: Path
    ready: Callable[[], bool]
    env: Mapping[str, str]
    seconds: float = 180.0
    end: signal.Signals = signal.SIGTERM
    grace: float = 10.0


class Process(Protocol):
    """A running program, as subprocess.Popen has it."""

    pid: int

    def poll(self) -> int | None:
        """Return the status, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the status. Raises TimeoutExpired."""

    def send_signal(self, sig: int) -> None:
        """Signal the process if it still runs."""


def start_process(part: Part, log: int) -> Process:
    """Start a program, its output appended to an open file."""
    # A group of its own: Ctrl-C in the terminal reaches the launcher alone, which ends the rest in order.
    return subprocess.Popen(
        part.command, cwd=ROOT, env=dict(part.env), stdin=subprocess.DEVNULL, stdout=log,
        stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=end_with_parent,
    )  # fmt: skip


class Supervisor:
    """The running programs; leaving the context ends them, last first.

    ``starts`` is how they are started.
    """

    def __init__(self, starts: Callable[[Part, int], Process] = start_process) -> None:
        self._starts = starts
        self._running: list[tuple[Part, Process]] = []
        self._begun: dict[str, float] = {}
        self._tries: dict[str, int] = {}
        self._due: dict[str, tuple[float, Part]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, part: Part) -> Process:
        """Start a program, its output appended to its log, without waiting for it."""
        part.log.parent.mkdir(parents=True, exist_ok=True)
        with part.log.open("ab") as log:
            process = self._starts(part, log.fileno())
        self._running.append((part, process))
        self._begun[part.name] = time.monotonic()
        return process

    def wait_ready(self) -> None:
        """Return when every started program is ready. Raises PartFailed."""
        begun = time.monotonic()
        waiting = [part for part, _ in self._running]
        while waiting:
            self.check()
            waiting = [part for part in waiting if not part.ready()]
            late = [part for part in waiting if time.monotonic() - begun > part.seconds]
            if late:
                raise PartFailed(
                    f"The {late[0].name} did not answer in {late[0].seconds:.0f} s.{read_log_end(late[0])}"
                )
            if waiting:
                time.sleep(0.05)

    def check(self) -> None:
        """Raise PartFailed when a program has ended."""
        for part, process in self._running:
            status = process.poll()
            if status is not None:
                raise PartFailed(f"The {part.name} ended with status {status}.{read_log_end(part)}")

    def restart_ended(self, say: Callable[[str], object]) -> None:
        """Start programs that ended again; call this every second or so.

        The first try comes after a second, each further one after twice the time, because a program that
        cannot start would keep the machine busy. Others go on meanwhile.
        """
        now = time.monotonic()
        for part, process in list(self._running):
            status = process.poll()
            if status is None:
                continue
            kill_group(process)  # its children would keep its port
            self._running.remove((part, process))
            tries = 0 if now - self._begun[part.name] > STEADY_SECONDS else self._tries.get(part.name, 0)
            self._tries[part.name] = tries + 1
            pause = min(2.0**tries, LONGEST_PAUSE)
            self._due[part.name] = now + pause, part
            say(
                f"The {part.name} ended with status {status}. It starts again in {pause:.0f} s."
                f"{read_log_end(part)}"
            )
        for name, (due, part) in list(self._due.items()):
            if now >= due:
                del self._due[name]
                self.start(part)
                say(f"The {name} runs again.")

    def rotate_logs(self, most_bytes: int, kept: int) -> None:
        """Start logs again that have grown too long, and keep the last ones.

        Programs hold their logs open for appending, so they are copied and emptied, not renamed.
        """
        for log in {part.log for part, _ in self._running}:
            if log.exists() and log.stat().st_size > most_bytes:
                for number in range(kept, 1, -1):
                    with suppress(FileNotFoundError):
                        log.with_name(f"{log.name}.{number - 1}").replace(
                            log.with_name(f"{log.name}.{number}")
                        )
                if kept:
                    shutil.copyfile(log, log.with_name(f"{log.name}.1"))
                os.truncate(log, 0)

    def stop_one(self, name: str, *, kill: bool = False) -> None:
        """End the program of that name; with ``kill`` at once, as a crash would."""
        for entry in [entry for entry in self._running if entry[0].name == name]:
            self._running.remove(entry)
            if kill:
                kill_group(entry[1])
            end(entry[1], entry[0].end, entry[0].grace)

    def stop(self) -> None:
        """End every program and its process group, the last started first."""
        # A second Ctrl-C must not cut this short; it would leave programs behind.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        while self._running:
            part, process = self._running.pop()
            end(process, part.end, part.grace)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each program, which is also the id of its group."""
        return {part.name: process.pid for part, process in self._running}


def end_with_parent() -> None:
    """Have the kernel end this process if its parent dies (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def run(command: Sequence[str], env: Mapping[str, str], *, quiet: bool = False) -> int:
    """Run a program to its end and return its status.

    If this process is stopped meanwhile, end the program too.
    """
    process = subprocess.Popen(
        command, cwd=ROOT, env=dict(env), stdin=subprocess.DEVNULL, start_new_session=True,
        stdout=subprocess.DEVNULL if quiet else None, preexec_fn=end_with_parent,
    )  # fmt: skip
    try:
        return process.wait()
    finally:
        end(process, signal.SIGTERM, 5.0)


def end(process: Process, number: signal.Signals, grace: float) -> None:
    """Ask a program to finish; after ``grace`` seconds kill its group."""
    if process.poll() is None:
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    kill_group(process)
    process.wait()


def kill_group(process: Process) -> None:
    """Kill whatever is left of a program's process group."""
    with suppress(ProcessLookupError):  # nothing is left
        os.killpg(process.pid, signal.SIGKILL)


def read_log_end(part: Part, lines: int = 15) -> str:
    """Return the last lines of a program's log, introduced for a person."""
    try:
        text = part.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    except FileNotFoundError:
        text = []
    return f" The end of {part.log}:\n" + "\n".join(f"    {line}" for line in text or ["(empty)"])


@contextmanager
def interrupt_on_signals() -> Iterator[None]:
    """Turn every signal that asks to stop into KeyboardInterrupt.

    All ways to stop then run the same clean-up.

    SIGINT is among them because a shell starts programs in the background with SIGINT ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def free_port() -> int:
    """Return a TCP port of the loopback address that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_port_taken(port: int) -> bool:
    """Return whether a port of the loopback address is in use."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are still closing is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def is_url_answering(url: str) -> bool:
    """Tell whether a GET of the URL gets a 2xx answer within two seconds."""
    # The proxies of the environment are not for loopback addresses.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as response:
            return bool(response.status < 300)
    except (urllib.error.URLError, OSError):
        return False


def is_redis_answering(address: str | tuple[str, int]) -> bool:
    """Return whether a Redis server answers on a socket or (host, port)."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as connection:
        connection.settimeout(2)
        try:
            connection.connect(address)
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

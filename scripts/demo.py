"""Run Touchstone with demo content until Ctrl-C: ``make demo``.

Everything lies in ``var/`` (or VAR_DIR): the database, the broker's data, the logs, the secret key. A
second start takes it up again. PORT and MODEL_SERVER_PORT choose other ports.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

from scripts.sites.processes import ROOT, PartFailed, Supervisor, interrupt_on_signals, is_port_taken, run
from scripts.sites.stack import Stack


class Stop(Exception):
    """The demo cannot start; the message is one sentence for a person."""


def main() -> int:
    """Start everything, print the links and wait.

    Return 0 after Ctrl-C and 1 if something failed.
    """
    os.umask(0o077)  # the database, the logs and the secrets are for this user alone
    try:
        with interrupt_on_signals():
            var = make_private_folder(Path(os.environ.get("VAR_DIR") or ROOT / "var").absolute())
            with lock_folder(var):
                serve(configure_stack(var))
    except KeyboardInterrupt:
        print("\nStopped. Everything is saved; make demo takes it up again.")
        return 0
    except (Stop, PartFailed) as error:
        print(error, file=sys.stderr)
        return 1


def make_private_folder(var: Path) -> Path:
    """Make the folder of the data if need be, open to this user alone."""
    try:
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        var.chmod(0o700)
    except OSError as error:
        raise Stop(f"{var} cannot be made private to this user ({error.strerror}).") from error
    return var


@contextlib.contextmanager
def lock_folder(var: Path) -> Iterator[None]:
    """Lock the folder, because two launchers would disturb each other."""
    with (var / "lock").open("a+", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise Stop(f"A demo runs from {var} already (process {lock.read() or '?'}).") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def configure_stack(var: Path) -> Stack:
    """Return the stack on the chosen ports, and write its settings.

    The file ``var/env`` is for commands given by hand.
    """
    stack = Stack(var, read_port("PORT", 8000), read_port("MODEL_SERVER_PORT", 8100))
    if stack.port == stack.model_port:
        raise Stop(f"PORT and MODEL_SERVER_PORT are both {stack.port}; choose two ports.")
    path = var / "env"
    settings = {"SECRET_KEY": secrets.token_urlsafe(50)}
    if path.exists():
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "=" in line]
        settings |= dict(line.split("=", 1) for line in lines)
    settings |= {name: value for name, value in stack.addresses.items() if name != "VAR_DIR"}
    draft = path.with_suffix(".new")
    draft.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    draft.replace(path)
    return stack


def read_port(variable: str, default: int) -> int:
    """Return the port in an environment variable. Raises Stop if taken."""
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise Stop(f"{variable} is {text!r}, but a port is a number from 1 to 65535.")
    if is_port_taken(int(text)):
        raise Stop(f"Port {text} is taken; choose another one with {variable}=PORT make demo.")
    return int(text)


def read_number(variable: str, default: int) -> int:
    """Return the whole number in an environment variable."""
    text = os.environ.get(variable) or str(default)
    if not text.isdecimal():
        raise Stop(f"{variable} is {text!r}, which is not a whole number.")
    return int(text)


def serve(stack: Stack) -> NoReturn:
    """Run all parts until this process is asked to stop.

    A part that ends later starts again, and the terminal says so.

    Raises PartFailed or KeyboardInterrupt.
    """
    begun = time.monotonic()
    megabytes, kept = read_number("LOG_FILE_MEGABYTES", 10), read_number("LOG_FILES_KEPT", 5)
    print("Starting the broker, the worker, the model server and the web server ...", flush=True)
    with Supervisor() as parts:
        parts.start(stack.broker())
        parts.start(stack.model_server())
        manage(stack, "prepare_site")
        parts.start(stack.worker())
        parts.start(stack.web())
        parts.wait_ready()
        manage(stack, "load_demo")
        print(format_links(stack, time.monotonic() - begun), flush=True)
        while True:
            time.sleep(0.5)
            parts.restart_ended(partial(print, flush=True))
            parts.rotate_logs(megabytes * 1_000_000, kept)


def manage(stack: Stack, *arguments: str) -> None:
    """Run a management command. Raises Stop when it fails; it has said why."""
    if run(stack.manage(*arguments), stack.env):
        raise Stop(f"manage.py {arguments[0]} failed; its message is above.")


def format_links(stack: Stack, seconds: float) -> str:
    """Return the page of links that the demo prints."""
    demo = json.loads((stack.var / "demo.json").read_text(encoding="utf-8"))
    staff, *annotators = [
        (login["username"], _describe_password(login)) for login in (demo["staff"], *demo["annotators"])
    ]
    lines = [
        "",
        f"Touchstone is ready ({seconds:.0f} s).",
        "",
        f"  Researcher   {stack.url}/staff/",
        f"               user {staff[0]}, {staff[1]}",
    ]
    for study in demo["studies"]:
        lines += [
            f"  Participant  {stack.url}/join/{study['token']}/",
            f"               study {study['slug']}",
        ]
    lines.append(f"  Annotation   {stack.url}/annotate/")
    lines += [f"               user {name}, {password}" for name, password in annotators]
    lines += [
        f"  Logs         {stack.var / 'log'}",
        "",
        "README.md says how to get a report from here. Ctrl-C ends everything.",
    ]
    return "\n".join(lines)


def _describe_password(login: dict[str, str]) -> str:
    return f"password {login['password']}" if login["password"] else "with the password that you chose"


if __name__ == "__main__":
    sys.exit(main())

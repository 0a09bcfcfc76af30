"""Run commands in forks of one process with their libraries loaded.

Of a command that does little, the start of Python and Django is nearly all; here they start once for a site.
``python -m scripts.commands MODULE ...`` is that process; it imports the modules first. It reads a JSON list
a line: the arguments of ``manage.py``, or ``-m``, a module and its arguments; the files for what the command
prints and for its errors; and its working folder. It answers each with the command's status.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from scripts.processes import ROOT

SECONDS = 300  # that a command may take


class Commands:
    """Runs commands in the environment of a site.

    The process starts with the first command, and imports ``modules`` then.
    """

    def __init__(self, env: Mapping[str, str], modules: Sequence[str] = ()) -> None:
        self._env, self._modules = env, modules
        self._process: subprocess.Popen[str] | None = None

    def run(self, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder.

        Raises TimeoutError if it is slow; it is ended then, and the next one finds a new process.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="touchstone-command-") as outputs:
            output, error = Path(outputs, "output"), Path(outputs, "error")
            process.stdin.write(json.dumps([arguments, str(output), str(error), str(folder)]) + "\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], SECONDS)[0]:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                self._process = None
                raise TimeoutError(f"{' '.join(arguments)} takes more than {SECONDS} s")
            status = int(process.stdout.readline())
            return subprocess.CompletedProcess(
                arguments, status, output.read_text(encoding="utf-8"), error.read_text(encoding="utf-8")
            )

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scripts.commands", *self._modules],
                cwd=ROOT, env=dict(self._env), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        return self._process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, which ends by itself when nobody can ask it any more."""
        if self._process is not None:
            self._process.communicate()


def main() -> None:
    """Run commands until there are no more to read."""
    import django
    from django.urls import get_resolver

    # Nothing of what is imported here is garbage: looking for some takes a fifth of the time, and in each
    # fork it would copy the memory that it looks at.
    gc.disable()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # The system checks of nearly every command import the pages of the site.
    assert get_resolver().url_patterns
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()
    for line in sys.stdin:
        print(_forked(*json.loads(line)), flush=True)


def _forked(arguments: Sequence[str], output: str, error: str, folder: str) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        for number, path in enumerate((os.devnull, output, error)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
        os.chdir(folder)
        status = _status(arguments)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _status(arguments: Sequence[str]) -> int:
    """Run a command as ``manage.py`` or ``python -m`` does; return its status."""
    from django.core.management import execute_from_command_line

    try:
        if arguments[0] == "-m":
            sys.argv = list(arguments[1:])
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            execute_from_command_line(["manage.py", *arguments])
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

"""Management commands run in forks of one process."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scripts.sites.commands import Commands, Fork
from scripts.sites.processes import Part, Supervisor

SHELL = ("shell", "--no-imports", "--command")


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    var = tmp_path_factory.mktemp("var")
    settings = {"SECRET_KEY": "k" * 50, "VAR_DIR": str(var), "DATABASE_URL": f"sqlite:///{var}/db"}
    return {**os.environ, **settings}


@pytest.fixture(scope="module")
def commands(env: dict[str, str]) -> Iterator[Commands]:
    with Commands(env) as running:
        yield running


def test_each_has_its_output_errors_and_status(commands: Commands):
    first = commands.run(*SHELL, "import sys; print(1); print(2, file=sys.stderr)")
    assert (first.returncode, first.stdout, first.stderr) == (0, "1\n", "2\n")
    second = commands.run(*SHELL, "import sys; print('ä'); sys.exit(3)")
    assert (second.returncode, second.stdout, second.stderr) == (3, "ä\n", "")


def test_none_leaves_anything_for_the_next(commands: Commands):
    commands.run(*SHELL, "import json; json.kept = True")
    process = commands.run(*SHELL, "import json; print(hasattr(json, 'kept'))")
    assert process.stdout == "False\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("study_link", "nobody"), 1, "is not prepared for this version"),
        (("no_such_command",), 2, "Unknown command"),
        ((*SHELL, "1 / 0"), 1, "ZeroDivisionError"),
        ((*SHELL, "raise SystemExit('so')"), 1, "so"),
        ((*SHELL, "import os; os.kill(os.getpid(), 9)"), -9, ""),
    ],
)
def test_what_goes_wrong_is_told_as_manage_tells_it(commands: Commands, arguments, status, words):
    done = commands.run(*arguments)
    assert done.returncode == status
    assert words in done.stderr
    assert commands.run("version").returncode == 0


def test_they_run_beside_each_other(commands: Commands, tmp_path: Path):
    waits = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)\nprint(1)"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(commands.run, *SHELL, waits)
        assert commands.run(*SHELL, f"open({str(tmp_path / 'go')!r}, 'w')").returncode == 0
        assert first.result().stdout == "1\n"


def test_a_slow_one_is_ended(commands: Commands):
    running = commands.begin(*SHELL, "import time; time.sleep(100)")
    assert running.fork.poll() is None
    with pytest.raises(TimeoutError, match="shell"):
        running.end(0.1)
    assert running.fork.poll() == -signal.SIGKILL


def test_one_that_ended_before_that_is_told_can_be_signalled():
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    news, reports = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with reports:
        reports.send(json.dumps({"pid": ended.pid}).encode())
        fork = Fork(["it"], news)
        fork.send_signal(signal.SIGTERM)
        assert fork.poll() is None
        reports.send(b'{"status": -9}')
        assert fork.wait() == -signal.SIGKILL


def program(env: dict[str, str], folder: Path, *command: str) -> Part:
    return Part("it", [sys.executable, "-m", *command], folder / "log", lambda: True, env)


def test_a_program_of_a_site_is_a_fork(commands: Commands, env: dict[str, str], tmp_path: Path):
    with Supervisor(commands.start) as parts:
        process = parts.start(program(env, tmp_path, "celery", "--version"))
        assert isinstance(process, Fork)
        assert process.wait(60) == 0
        assert "(" in (tmp_path / "log").read_text()
        failing = parts.start(program(env, tmp_path, "celery", "no-such-command"))
        assert failing.wait(60) == 2
        waiting = parts.start(program(env, tmp_path, "celery", "--app", "config", "shell", "--python"))
    assert waiting.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.kill(waiting.pid, 0)


def test_others_start_anew(commands: Commands, env: dict[str, str], tmp_path: Path):
    with Supervisor(commands.start) as parts:
        for other in (
            program({**env, "LOG_LEVEL": "DEBUG"}, tmp_path, "celery", "--version"),
            program(env, tmp_path, "json.tool", "--help"),
        ):
            assert isinstance(parts.start(other), subprocess.Popen)

"""The supervisor starts programs in groups of their own.

It waits for them, and ends them with all that they started.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.sites.processes import Part, PartFailed, Supervisor, free_port, is_port_taken, run
from tests.waiting import eventually

PARENT = """
import subprocess, sys, time, pathlib
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(60)
"""


def part(tmp_path: Path, code: str, *arguments: str, **more: object) -> Part:
    options: dict[str, Any] = {
        "ready": lambda: True,
        "env": os.environ,
        "log": tmp_path / "part.log",
        "name": "part",
    } | more
    return Part(command=[sys.executable, "-c", code, *arguments], **options)


def written(path: Path) -> bool:
    return path.exists() and path.read_text() != ""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_program_started_ends_with_it(tmp_path: Path):
    note = tmp_path / "child"
    with Supervisor() as parts:
        parts.start(part(tmp_path, PARENT, str(note)))
        eventually(lambda: written(note))
        child = int(note.read_text())
        assert is_alive(child)
    eventually(lambda: not is_alive(child))


def test_a_program_that_ignores_the_request_is_killed(tmp_path: Path):
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('set', flush=True); time.sleep(60)"
    log = tmp_path / "part.log"
    with Supervisor() as parts:
        process = parts.start(part(tmp_path, code, grace=0.2, ready=lambda: "set" in log.read_text()))
        parts.wait_ready()
    assert process.poll() == -signal.SIGKILL


def test_a_program_that_ends_too_early_is_named_with_its_last_words(tmp_path: Path):
    failing = part(tmp_path, "print('no such table'); raise SystemExit(3)", ready=lambda: False)
    with Supervisor() as parts:
        parts.start(failing)
        with pytest.raises(PartFailed, match=r"(?s)part ended with status 3.*no such table"):
            parts.wait_ready()


def test_a_program_that_never_answers_is_named(tmp_path: Path):
    slow = part(tmp_path, "import time; time.sleep(60)", ready=lambda: False, seconds=0.1)
    with Supervisor() as parts:
        parts.start(slow)
        with pytest.raises(PartFailed, match=r"(?s)part did not answer in 0 s.*\(empty\)"):
            parts.wait_ready()


def test_programs_end_in_the_opposite_order(tmp_path: Path):
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: (print(sys.argv[1], flush=True), sys.exit()))"
    )
    code += "; print('set', flush=True); time.sleep(60)"
    log = tmp_path / "part.log"
    with Supervisor() as parts:
        for number, name in enumerate(("first", "second"), start=1):
            parts.start(part(tmp_path, code, name, name=name))
            eventually(lambda expected=number: log.read_text().count("set") == expected)
    assert log.read_text().split()[-2:] == ["second", "first"]


def test_one_program_can_crash_and_the_rest_go_on(tmp_path: Path):
    with Supervisor() as parts:
        doomed = parts.start(part(tmp_path, "import time; time.sleep(60)", name="doomed"))
        other = parts.start(part(tmp_path, "import time; time.sleep(60)", name="other"))
        parts.stop_one("doomed", kill=True)
        assert doomed.poll() == -signal.SIGKILL
        assert other.poll() is None
        assert list(parts.pids) == ["other"]


def test_a_program_ends_when_its_launcher_is_killed(tmp_path: Path):
    launcher = f"""
import os, sys, time
sys.path.insert(0, {str(Path.cwd())!r})
from pathlib import Path
from scripts.sites.processes import Part, Supervisor
with Supervisor() as parts:
    process = parts.start(Part(name="part", command=[sys.executable, "-c", "import time; time.sleep(60)"],
                               log=Path(sys.argv[1]) / "log", ready=lambda: True, env=os.environ))
    (Path(sys.argv[1]) / "pid").write_text(str(process.pid))
    time.sleep(60)
"""
    note = tmp_path / "pid"
    process = subprocess.Popen([sys.executable, "-c", launcher, str(tmp_path)])
    eventually(lambda: written(note))
    process.kill()
    process.wait()
    eventually(lambda: not is_alive(int(note.read_text())))


def test_run_returns_the_status():
    assert run([sys.executable, "-c", "raise SystemExit(4)"], os.environ) == 4


def test_a_port_is_taken_while_something_listens():
    port = free_port()
    assert not is_port_taken(port)
    code = f"import socket, time; s = socket.create_server(('127.0.0.1', {port}))"
    code += "; print('on', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert is_port_taken(port)
    finally:
        process.kill()
        process.communicate()


def test_a_program_that_ended_starts_again_later_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = [1000.0]
    monkeypatch.setattr("scripts.sites.processes.time.monotonic", lambda: now[0])
    note = tmp_path / "starts"
    code = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write('x')"
    messages: list[str] = []
    with Supervisor() as parts:
        process = parts.start(part(tmp_path, code, str(note)))
        for pause in (1, 2, 4):
            process.wait()
            parts.restart_ended(messages.append)
            assert f"It starts again in {pause} s." in messages[-1]
            now[0] += pause - 0.5
            parts.restart_ended(messages.append)
            assert "ended" in messages[-1]
            now[0] += 0.5
            parts.restart_ended(messages.append)
            assert messages[-1] == "The part runs again."
            process = parts._running[-1][1]
        process.wait()
    assert note.read_text() == "xxxx"


def test_logs_are_rotated_while_their_program_writes(tmp_path: Path):
    code = "import sys, time\nfor n in range(10**9): print(n, 'x' * 60, flush=True); time.sleep(0.002)"
    log = tmp_path / "part.log"
    with Supervisor() as parts:
        parts.start(part(tmp_path, code))
        for _rotation in range(3):
            eventually(lambda: log.stat().st_size > 2000)
            parts.rotate_logs(2000, kept=2)
            assert log.stat().st_size < 2000
        eventually(lambda: b"x" * 60 in log.read_bytes())
    assert b"\0" not in log.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.log", "part.log.1", "part.log.2"]

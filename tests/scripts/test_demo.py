"""The launcher's start: ports, the lock, its settings and messages.

It keeps its settings, and says why it cannot start.
"""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import demo, reset, setup
from scripts.sites.processes import ROOT, free_port


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", str(free_port()))
    monkeypatch.setenv("MODEL_SERVER_PORT", str(free_port()))


def settings(var: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in (var / "env").read_text().splitlines())


def test_the_settings_are_kept_for_commands_given_by_hand(tmp_path: Path, ports: None):
    demo.configure_stack(tmp_path)
    first = settings(tmp_path)
    assert first["SITE_URL"] == f"http://127.0.0.1:{os.environ['PORT']}"
    assert len(first["SECRET_KEY"]) > 50


def test_a_second_start_keeps_the_key_and_what_a_person_added(tmp_path: Path, monkeypatch, ports: None):
    demo.configure_stack(tmp_path)
    first = settings(tmp_path)
    with (tmp_path / "env").open("a") as file:
        file.write("LOG_LEVEL=DEBUG\n")
    monkeypatch.setenv("PORT", str(free_port()))
    demo.configure_stack(tmp_path)
    second = settings(tmp_path)
    assert second["SECRET_KEY"] == first["SECRET_KEY"]
    assert second["LOG_LEVEL"] == "DEBUG"
    assert second["SITE_URL"] != first["SITE_URL"]


@pytest.mark.parametrize("variable", ["PORT", "MODEL_SERVER_PORT"])
def test_a_taken_port_is_named_with_its_variable(
    tmp_path: Path, monkeypatch, ports: None, taken_port: int, variable: str
):
    monkeypatch.setenv(variable, str(taken_port))
    with pytest.raises(demo.Stop, match=rf"Port {taken_port} is taken.* {variable}=PORT"):
        demo.configure_stack(tmp_path)


@pytest.mark.parametrize("text", ["web", "0", "65536", "-1"])
def test_a_port_that_is_none_is_named(monkeypatch, text: str):
    monkeypatch.setenv("PORT", text)
    with pytest.raises(demo.Stop, match=r"PORT is .* a port is a number from 1 to 65535"):
        demo.read_port("PORT", 8000)


def test_one_port_for_both_servers_is_refused(tmp_path: Path, monkeypatch):
    port = str(free_port())
    monkeypatch.setenv("PORT", port)
    monkeypatch.setenv("MODEL_SERVER_PORT", port)
    with pytest.raises(demo.Stop, match="choose two ports"):
        demo.configure_stack(tmp_path)


def test_the_folder_is_private(tmp_path: Path):
    folder = demo.make_private_folder(tmp_path / "var")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_only_one_demo_runs_from_a_folder(tmp_path: Path):
    refused = pytest.raises(demo.Stop, match=rf"already \(process {os.getpid()}\)")
    with demo.lock_folder(tmp_path), refused, demo.lock_folder(tmp_path):
        pass
    with demo.lock_folder(tmp_path):
        pass


def run_reset(var: Path, answer: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, reset.__file__], env={**os.environ, "VAR_DIR": str(var)}, input=answer,
        capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("answer", ["", "y\n", "no\n", "YES\n"])
def test_reset_deletes_nothing_unless_the_answer_is_yes(tmp_path: Path, answer: str):
    (tmp_path / "env").write_text("SECRET_KEY=x\n")
    done = run_reset(tmp_path, answer)
    assert done.returncode == 1
    assert "Nothing was deleted." in done.stdout
    assert (tmp_path / "env").exists()


def test_reset_deletes_after_yes_and_then_finds_nothing(tmp_path: Path):
    var = tmp_path / "var"
    var.mkdir()
    (var / "env").write_text("SECRET_KEY=x\n")
    assert run_reset(var, "yes\n").returncode == 0
    assert not var.exists()
    assert run_reset(var, "").returncode == 0


def test_reset_keeps_off_folders_that_are_no_demo(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("years of work")
    assert run_reset(tmp_path, "yes\n").returncode == 1
    assert (tmp_path / "thesis.txt").exists()


def test_reset_keeps_off_a_running_demo(tmp_path: Path):
    (tmp_path / "env").write_text("SECRET_KEY=x\n")
    with demo.lock_folder(tmp_path):
        done = run_reset(tmp_path, "yes\n")
    assert done.returncode == 1
    assert "end it first" in done.stdout
    assert (tmp_path / "env").exists()


def test_an_old_python_gets_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(setup.sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit) as exit_:
        setup.main("run")
    assert exit_.value.code == 1
    assert "Python 3.11 or newer, and this is 3.9" in capsys.readouterr().err


def test_a_missing_venv_module_names_the_command_where_this_is_not_root(monkeypatch, capsys):
    monkeypatch.setattr(setup.os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit):
        setup.install_venv()
    assert "apt-get install python3-venv" in capsys.readouterr().err


def test_every_command_of_the_makefile_is_listed():
    # If the tests themselves run under make, it would announce the folder it works in.
    command = ["make", "--no-print-directory"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in listed.splitlines()} == {
        "help", "demo", "reset", "test", "check", "format", "bench", "soak", "audit", "docs", "lock",
    }  # fmt: skip

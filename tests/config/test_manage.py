"""Without settings, the help of `manage.py` works.

Other commands name what is missing.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from django import get_version

from analysis import __version__
from scripts.sites.processes import ROOT


def manage(var: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an environment that holds nothing else."""
    env = {"VAR_DIR": str(var), **environment}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("arguments", [(), ("help",), ("--help",)])
def test_help_lists_our_commands_without_a_key(tmp_path: Path, arguments: tuple[str, ...]):
    done = manage(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    listed = done.stdout.split()
    assert {"prepare_site", "predict", "export_results", "export_gold"} <= set(listed)


def test_a_command_explains_itself_without_a_key(tmp_path: Path):
    done = manage(tmp_path, "score", "--help")
    assert done.returncode == 0
    assert "--dataset" in done.stdout


@pytest.mark.parametrize("arguments", [("migrate",), ("score", "--dataset", "films"), ("nonsense",)])
def test_a_command_says_that_the_key_is_missing(tmp_path: Path, arguments: tuple[str, ...]):
    done = manage(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: SECRET_KEY is not set. Set it in the environment")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_failed_command_begins_its_message_with_error(tmp_path: Path):
    key = {"SECRET_KEY": "x" * 50}
    manage(tmp_path, "prepare_site", **key)
    arguments = ("annotation_members", "nowhere")
    done = manage(tmp_path, *arguments, **key)
    assert (done.returncode, done.stdout) == (1, "")
    message = "there is no annotation project 'nowhere', nor any other yet\n"
    assert done.stderr == f"error: {message}"
    assert manage(tmp_path, *arguments, "--traceback", **key).stderr.endswith(f"CommandError: {message}")
    contradiction = ("export_results", "x", "--out", "y", "--psych-ds", "--format", "parquet")
    assert manage(tmp_path, *contradiction, **key).returncode == 2


def test_an_unknown_command_is_bad_usage(tmp_path: Path):
    done = manage(tmp_path, "prepare_sit", SECRET_KEY="x" * 50)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Unknown command: 'prepare_sit'. Did you mean prepare_site?")


@pytest.mark.parametrize("command", ["backup", "migrate"])
def test_a_database_that_cannot_be_opened_is_one_sentence(tmp_path: Path, command: str):
    arguments = [command, str(tmp_path)] if command == "backup" else [command]
    done = manage(tmp_path / "missing", *arguments, SECRET_KEY="x" * 50)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the database cannot be used: unable to open database file. The")
    assert done.stderr.count("\n") == 1


def test_a_new_site_makes_its_folder_for_its_user_alone(tmp_path: Path):
    var = tmp_path / "new" / "var"
    done = manage(var, "prepare_site", SECRET_KEY="x" * 50)
    assert (done.returncode, done.stderr) == (0, "")
    assert var.stat().st_mode & 0o777 == 0o700
    assert (var / "touchstone.sqlite3").exists()
    assert (var / "static").is_dir()


def test_version_is_ours_and_that_of_django(tmp_path: Path):
    output = manage(tmp_path, "--version").stdout
    assert (
        output == manage(tmp_path, "version").stdout == f"Touchstone {__version__}, Django {get_version()}\n"
    )

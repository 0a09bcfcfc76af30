"""Management commands run in forks of one process."""

import os
from collections.abc import Iterator

import pytest

from scripts.commands import Commands

SHELL = ("shell", "--no-imports", "--command")


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    var = tmp_path_factory.mktemp("var")
    own = {"SECRET_KEY": "k" * 50, "VAR_DIR": str(var), "DATABASE_URL": f"sqlite:///{var}/db"}
    with Commands({**os.environ, **own}) as running:
        yield running


def test_each_has_its_output_errors_and_status(commands: Commands):
    one = commands.run(*SHELL, "import sys; print(1); print(2, file=sys.stderr)")
    assert (one.returncode, one.stdout, one.stderr) == (0, "1\n", "2\n")
    other = commands.run(*SHELL, "import sys; print('ä'); sys.exit(3)")
    assert (other.returncode, other.stdout, other.stderr) == (3, "ä\n", "")


def test_none_leaves_anything_for_the_next(commands: Commands):
    commands.run(*SHELL, "import json; json.kept = True")
    found = commands.run(*SHELL, "import json; print(hasattr(json, 'kept'))")
    assert found.stdout == "False\n"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("study_link", "nobody"), 1, "no such table"),
        (("no_such_command",), 1, "Unknown command"),
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

"""Every command of the documents exists after ``make``.

It takes the arguments that its page gives it.
"""

import argparse
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from celery.app.utils import find_app
from celery.bin.base import CLIContext
from celery.bin.celery import celery as celery_command
from celery.bin.worker import worker
from cyclopts import App, CycloptsError
from django.core.management import CommandError, get_commands, load_command_class

import analysis.__main__
import modelserver.__main__
import touchstone.cli
from analysis.io.command_line import build_command_line
from scripts.sites.processes import ROOT
from tests.page_commands import Command, commands_of, pages

PAGES = [page for page in pages() if commands_of(page)]
PYTHON = ".venv/bin/python"
# Programs that a machine has, or that an earlier command of the page makes.
PLAIN = (
    "apt", "cd", "certbot", "cp", "curl", "docker", "for", "git", "install", "kubectl", "ln", "sudo",
    "systemctl", "useradd",
)  # fmt: skip


class Parsed(Exception):
    """The arguments of a program were accepted."""


def check(command: Command) -> None:
    """Parse a command with the parser of its program.

    Raises AssertionError if the parser does not accept it.
    """
    program, *arguments = command.arguments
    if program == PYTHON:
        check_python(command, arguments)
    elif program == ".venv/bin/celery":
        check_celery(arguments)
    elif program == ".venv/bin/touchstone":
        check_touchstone(arguments)
    elif program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in arguments:
            assert f"\n{target}:" in makefile, f"the Makefile has no target {target}"
    elif program == "curl":
        check_curl(arguments)
    else:
        is_built = program.startswith("build/") or (program == "python3" and arguments[:2] == ["-m", "venv"])
        ours = program == "python3" and (ROOT / arguments[0]).is_file()
        assert is_built or ours or program in PLAIN, f"{program} does not exist after make"


def check_python(command: Command, arguments: Sequence[str]) -> None:
    if arguments[0] == "manage.py":
        return check_managed(arguments[1:])
    if arguments[0].startswith("deploy/ray/"):  # their parsers need Ray
        assert (ROOT / arguments[0]).is_file(), f"there is no {arguments[0]}"
        return None
    if arguments[0] != "-m":
        text = (ROOT / command.page).read_text(encoding="utf-8")
        assert f"ave this as `{arguments[0]}`" in text, f"the page does not make {arguments[0]}"
        return None
    # A command for a GPU is right on a machine without one, too.
    module, rest = arguments[1], ["cpu" if word == "cuda" else word for word in arguments[2:]]
    if module == "analysis":
        return check_app(app_of(analysis.__main__), rest)
    if module == "touchstone":
        return check_touchstone(rest)
    if module == "modelserver":
        return check_app(app_of(modelserver.__main__), rest)
    if module.partition(".")[0] in ("benchmarks", "scripts"):
        return check_argparse(importlib.import_module(module).main, module, rest)
    assert module in ("build", "pip"), f"no parser is known for python -m {module}"
    assert importlib.util.find_spec(module)
    return None


def check_managed(arguments: Sequence[str]) -> None:
    name, *rest = arguments
    apps = get_commands()
    assert name in apps, f"manage.py has no command {name}"
    parser = load_command_class(apps[name], name).create_parser("manage.py", name)
    parser.parse_args(rest)


def check_app(app: App, arguments: Sequence[str]) -> None:
    command, *_ = app.parse_args(list(arguments), exit_on_error=False, print_error=False)
    helps = {"--help", "-h", "--version"} & set(arguments)
    assert helps or command != app.help_print, "a command is missing"


def check_touchstone(arguments: Sequence[str]) -> None:
    if arguments[0] == "site":
        return check_managed(arguments[1:])
    if arguments[0] in touchstone.cli.SITE:
        return check_managed(arguments)
    return check_app(touchstone.cli.build_app("python -m touchstone"), arguments)


def check_celery(arguments: Sequence[str]) -> None:
    at = list(arguments).index("worker")
    context = celery_command.make_context("celery", list(arguments[: at + 1]))
    context.obj = CLIContext(app=find_app(context.params["app"]), no_color=True, workdir=None)
    worker.make_context("worker", list(arguments[at + 1 :]), parent=context)


def check_argparse(main: Callable[[], object], module: str, arguments: Sequence[str]) -> None:
    real = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, args=None, namespace=None):
        real(self, args, namespace)
        raise Parsed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
        patch.setattr(sys, "argv", [module, *arguments])
        with pytest.raises(Parsed):
            main()


def check_curl(arguments: Sequence[str]) -> None:
    assert any(re.search("/(v1|api|health)/", word) for word in arguments)
    if "-d" in arguments:
        json.loads(arguments[arguments.index("-d") + 1])


@cache
def app_of(part: ModuleType) -> App:
    app = build_command_line(part.__name__, "", "0")
    part.add_commands(app)
    return app


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_the_page_are_accepted(page: Path, capsys: pytest.CaptureFixture[str]):
    problems = []
    for command in commands_of(page):
        try:
            placeholders = re.findall(
                r"(?:^|\s)\[|…|\.\.\.", command.text if "curl" not in command.text else ""
            )
            assert not placeholders, "it has a placeholder and does not run as typed"
            check(command)
        except (AssertionError, CommandError, CycloptsError, SystemExit, ModuleNotFoundError) as error:
            if isinstance(error, SystemExit) and not error.code:  # it printed its help
                continue
            reason = str(error) if not isinstance(error, SystemExit) else capsys.readouterr().err
            problems.append(f"{command}\n    {reason}")
    assert not problems, "\n".join(["", *problems])


def test_no_command_hides_in_a_block_of_another_kind():
    kinds = {"bash", "console", "shell", "text", "zsh"}
    unnamed = re.compile(r"^( *)```\n(?:.*\n)*?\1```$|^ *```(\w+)\n(?:.*\n)*?^ *```$", re.MULTILINE)
    command = re.compile(r"^ *(?:[A-Z_]+=\S+ )*(?:\.venv/|touchstone |make |curl |python)", re.MULTILINE)
    for page in pages():
        for block in unnamed.finditer(page.read_text(encoding="utf-8")):
            assert block[2] not in kinds, f"{page}: commands go into ```sh"
            assert block[2] or not command.search(block[0]), f"{page}: commands go into ```sh: {block[0]}"


def test_every_command_names_the_python_of_the_installation():
    bare = re.compile(r"(?<![\w/])python (?:-m (?!touchstone)|manage\.py)")
    texts = [*pages(), *(ROOT / "templates").rglob("*.html"), ROOT / "locale/de/LC_MESSAGES/django.po"]
    lines = [(path, line) for path in texts for line in path.read_text(encoding="utf-8").splitlines()]
    bare_lines = [f"{path}: {line}" for path, line in lines if bare.search(line)]
    assert not bare_lines, "\n".join(["write .venv/bin/python:", *bare_lines])

"""The command ``touchstone``: analysis, model server and site in one.

The installed distribution holds the analysis alone. A deployed release, or a checkout, also holds the model
server and the site, and hands their commands on to them. Exit status: 0 done, 1 the command failed, 2 bad
usage.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import App, Parameter

ROOT = Path(__file__).resolve().parent.parent
MODEL_SERVER = {
    "serve": "Answer over HTTP.",
    "train": "Train a system.",
    "search": "Search hyperparameters at random.",
    "predict": "Predict a file of questions.",
    "predict-parquet": "Predict Parquet files of questions.",
    "evaluate": "Score a system on questions with gold answers.",
    "list": "List the systems.",
    "convert": "Write safetensors from weights saved by torch.",
    "world": "Generate a fictional text world to train and test on.",
    "scenes": "Generate pairs of pictures with sentences, programs and gold boxes.",
    "gqa-items": "Write questions of GQA as items to pretrain visual-nmn on.",
    "games": "Generate game reports with questions, programs and gold spans.",
    "text-table": "Train and score the variants of text-nmn.",
    "types-table": "Train and score predictors of answer types.",
    "visual-table": "Train and score the variants of visual-nmn.",
    "visual-evaluate": "Score visual-nmn on scenes or your items.",
    "visual-splits": "Train visual-nmn on some programs and test on others.",
    "visual-nlvr": "Train and score visual-nmn on NLVR.",
}
SITE = {
    "backup": "Back the site up while people work.",
    "restore": "Restore a backup into an empty site.",
}
NOT_INSTALLED = (
    "error: the model server and the site are not part of this installation; deploy them from a release "
    "archive of Touchstone, and run the command there\n"
)
Arguments: TypeAlias = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    program = "python -m touchstone" if Path(sys.argv[0]).name == "__main__.py" else "touchstone"
    app = build_app(program)
    package = _analysis_package()
    command_line = importlib.import_module(f"{package}.io.command_line")
    errors = importlib.import_module(f"{package}.io.errors")
    return command_line.run(app, arguments, (errors.AnalysisError,))


def build_app(program: str) -> App:
    """Return the app with every command, those that are not installed too.

    Args:
        program: The program as people type it.
    """
    if _is_deployed() and str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    package = _analysis_package()
    commands = importlib.import_module(f"{package}.__main__")
    command_line = importlib.import_module(f"{package}.io.command_line")
    version = importlib.import_module(package).__version__

    app: App = command_line.command_line(program, "Study whether explanations help people.", version)
    commands.add_commands(app, group="Analysis")
    for name, text in MODEL_SERVER.items():
        _add_forwarded(app, name, text, "Model server", _run_model_server if _is_deployed() else None)
    _add_forwarded(app, "site", "Run a command of manage.py.", "Site", _run_site if _is_deployed() else None)
    for name, text in SITE.items():
        _add_forwarded(app, name, text, "Site", _run_one_of_site if _is_deployed() else None)
    if program == "touchstone":  # shells complete programs, not modules
        app.register_install_completion_command(help="Install shell completion.")
    return app


def _is_deployed() -> bool:
    return (ROOT / "manage.py").is_file()


def _analysis_package() -> str:
    return "analysis" if _is_deployed() else "touchstone.analysis"


def _add_forwarded(
    app: App, name: str, text: str, group: str, forward: Callable[[str, Sequence[str]], int] | None
) -> None:
    """Add a command that hands all its arguments on, also ``--help``.

    Args:
        app: The command line to extend.
        name: The command.
        text: One sentence of help.
        group: Heading in the help.
        forward: Runs the command with its name and arguments; None if it is not installed.
    """

    def command(*arguments: Arguments) -> int:
        if forward is None:
            sys.stderr.write(NOT_INSTALLED)
            return 2
        return forward(name, arguments)

    app.command(command, name=name, help=text, group=group, help_flags=(), version_flags=())


def _run_model_server(name: str, arguments: Sequence[str]) -> int:
    return importlib.import_module("modelserver.__main__").main([name, *arguments])


def _run_one_of_site(name: str, arguments: Sequence[str]) -> int:
    return _run_site("site", [name, *arguments])


def _run_site(_name: str, arguments: Sequence[str]) -> int:
    # A process of its own, because runserver starts itself again by its command line.
    manage = str(ROOT / "manage.py")
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, manage, *arguments])  # noqa: S606 - our own program

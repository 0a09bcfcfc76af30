"""The command ``touchstone``: analysis, model server and site in one.

The installed distribution holds the analysis alone. A deployed release, or a checkout, also has the commands
of the model server, and hands those of the site on to ``manage.py``. Exit status: 0 done, 1 the command
failed, 2 bad usage or not part of this installation, 130 interrupted.
"""

from __future__ import annotations

import importlib
import inspect
import os
import secrets
import sys
from argparse import Action
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from cyclopts import App, Parameter

from .installation import ROOT, import_analysis, is_deployed

SITE = {
    "backup": "Back the site up while people work.",
    "restore": "Restore a backup into an empty site.",
}
# The distribution cannot look up what it lacks.
LACKING = (
    *("serve", "train", "search", "predict", "predict-parquet", "evaluate", "list", "convert", "world"),
    *("scenes", "games", "gqa-items", "text-table", "types-table", "visual-table", "visual-splits"),
    *("visual-nlvr", "visual-evaluate", "site", *SITE),
)
NOT_INSTALLED = (
    "error: the model server and the site are not part of this installation; deploy them from a release "
    "archive of Touchstone, and run the command there\n"
)
INSTALL_COMPLETION = "--install-completion"
Arguments: TypeAlias = Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    program = "python -m touchstone" if Path(sys.argv[0]).name == "__main__.py" else "touchstone"
    given = sys.argv[1:] if arguments is None else arguments
    app = build_app(program, completes_site=INSTALL_COMPLETION in given)
    command_line = import_analysis(".io.command_line")
    failures = [import_analysis(".io.errors").AnalysisError]
    if is_deployed():
        failures.append(importlib.import_module("modelserver.wire.errors").ModelServerError)
    return command_line.run(app, arguments, tuple(failures))


def build_app(program: str, *, completes_site: bool = False) -> App:
    """Return the app with every command; those not installed are hidden.

    Args:
        program: The program as people type it.
        completes_site: Show the options of the site's commands, for a completion script; it starts Django.
    """
    commands = import_analysis(".__main__")
    command_line = import_analysis(".io.command_line")
    version = import_analysis().__version__

    app: App = command_line.build_command_line(program, "Study whether explanations help people.", version)
    commands.add_commands(app, group="Analysis")
    if is_deployed():
        importlib.import_module("modelserver.__main__").add_commands(app, group="Model server")
        _add_site(app, completes_site)
    else:
        for name in LACKING:
            app.command(_refuse, name=name, show=False, help_flags=(), version_flags=())
    if program == "touchstone":  # shells complete programs, not modules
        app.register_install_completion_command(INSTALL_COMPLETION, help="Install shell completion.")
    return app


def _add_site(app: App, completes_options: bool) -> None:
    """Add the commands of the site, which hand all their arguments on.

    Those of our own apps are listed for shell completion; the default takes
    Django's, too. None takes ``--help`` for itself.
    """
    site = App(name="site", help="Run a command of manage.py.", group="Site", help_flags=(), version_flags=())
    site.default(_build_manage_command())
    if completes_options:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))  # nothing is signed
        importlib.import_module("django").setup()
    for path in sorted(ROOT.glob("*/management/commands/[a-z]*.py")):
        command = _build_manage_command(path.stem)
        if completes_options:
            _show_options(command, path.parts[-4], path.stem)
        site.command(command, name=path.stem, help_flags=(), version_flags=())
        if path.stem in SITE:
            text = SITE[path.stem]
            app.command(command, name=path.stem, help=text, group="Site", help_flags=(), version_flags=())
    app.command(site)


def _show_options(command: Callable[..., None], package: str, name: str) -> None:
    """Give a function the signature of a command of manage.py."""
    load = importlib.import_module("django.core.management").load_command_class
    parser = load(package, name).create_parser("manage.py", name)
    options = [
        inspect.Parameter(
            action.dest,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                _find_option_type(action),
                Parameter(name=action.option_strings, negative=(), help=action.help),
            ],
        )
        for action in parser._actions
        if action.option_strings
    ]
    setattr(command, "__signature__", inspect.Signature(options))  # noqa: B010 - unknown to the type checker


def _find_option_type(action: Action) -> Any:
    """Return the type by which a shell completes the values of an option."""
    if action.choices:
        return Literal[tuple(action.choices)]
    return bool if action.nargs == 0 else Path if action.type is Path else str


def _build_manage_command(*command: str) -> Callable[..., None]:
    """Return a function that runs a command of manage.py.

    Args:
        command: Its name; without one, the first argument names it.
    """

    def run(*arguments: Arguments) -> None:
        # A process of its own, because runserver starts itself again by its command line.
        sys.stdout.flush()
        manage = str(ROOT / "manage.py")
        os.execv(sys.executable, [sys.executable, manage, *command, *arguments])  # noqa: S606 - our own program

    return run


def _refuse(*_arguments: Arguments) -> int:
    sys.stderr.write(NOT_INSTALLED)
    return 2

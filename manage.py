#!/usr/bin/env python
"""Command line of the site."""

import gc
import os
import secrets
import sys
from collections.abc import Callable
from typing import Any

from django import get_version
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, CommandError, ManagementUtility
from django.core.management.base import SystemCheckError
from django.db import InterfaceError, OperationalError

from analysis import __version__
from config.database_errors import is_unavailable


class CommandLine(ManagementUtility):
    """Django's command line, with the messages and exit codes of ours."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command; exit with 2 if there is none."""
        try:
            command = super().fetch_command(subcommand)
        except SystemExit:  # Django has printed why, and exits with 1
            sys.exit(2)
        setattr(command, "execute", _name_errors(command, command.execute))  # noqa: B010 - of this object alone
        return command


def _name_errors(command: BaseCommand, execute: Callable[..., Any]) -> Callable[..., Any]:
    """Have errors of a command begin with ``error:``, not with a class."""

    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return execute(*arguments, **options)
        except CommandError as error:
            if options["traceback"] or isinstance(error, SystemCheckError):
                raise
            command.stderr.write(f"error: {error}")
            sys.exit(error.returncode)

    return run


def main() -> None:
    """Run a command.

    Exit with 1 and a sentence if a setting is wrong, or the database cannot be used.
    """
    gc.set_threshold(50_000)  # of 700: among modules, looking for garbage takes a sixth of the start
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] in ([], ["help"]) or {"--help", "-h"} & set(sys.argv):
        # Help imports the settings to list our commands, but signs nothing, so a throwaway key will do.
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(50))
    if sys.argv[1:2] in (["version"], ["--version"]):
        print(f"Touchstone {__version__}, Django {get_version()}")  # noqa: T201 - what the command is for
        return
    try:
        CommandLine(sys.argv).execute()
    except ImproperlyConfigured as error:
        sys.exit(f"error: {error}")
    except (OperationalError, InterfaceError) as error:
        if not is_unavailable(error):
            raise
        reason = " ".join(str(error).split()).rstrip(".?")
        sys.exit(
            f"error: the database cannot be used: {reason}. "
            "The settings VAR_DIR and DATABASE_URL say where it is; prepare_site makes it."
        )


if __name__ == "__main__":
    main()

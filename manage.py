#!/usr/bin/env python
"""Command line of the site."""

import gc
import os
import secrets
import sys

from django import get_version
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, ManagementUtility
from django.db import InterfaceError, OperationalError

from analysis import __version__
from config.database_errors import is_unavailable


class CommandLine(ManagementUtility):
    """Django's command line, for which an unknown command is bad usage."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command; exit with 2 if there is none."""
        try:
            return super().fetch_command(subcommand)
        except SystemExit:  # Django has printed why, and exits with 1
            sys.exit(2)


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
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")
    except (OperationalError, InterfaceError) as error:
        if not is_unavailable(error):
            raise
        reason = " ".join(str(error).split()).rstrip(".?")
        sys.exit(
            f"{os.path.basename(sys.argv[0])}: the database cannot be used: {reason}. "
            "The settings VAR_DIR and DATABASE_URL say where it is; prepare_site makes it."
        )


if __name__ == "__main__":
    main()

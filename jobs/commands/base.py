"""The base of commands: a known error is one message and exit status 1."""

import argparse
import json
import re
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import validate_slug
from django.db import DatabaseError

from accounts.models import User, Workspace
from accounts.policy_table import Act
from accounts.queries.workspaces import choose_workspace
from accounts.rights.roles import Owned, check
from foundation.errors import TouchstoneError
from modelserver.wire.errors import ModelServerError


class BadUsage(CommandError):
    """Options are missing or contradict each other: exit status 2."""

    def __init__(self, message: str) -> None:
        super().__init__(message, returncode=2)


class JobCommand(BaseCommand):
    """A command whose known errors are messages.

    Wrong usage exits with status 2, a failed job with 1.
    """

    requires_migrations_checks = True
    # Most of Django's checks are of addresses, and import every page: half of the time that a command takes
    # to start. The settings are checked by every command; the rest when a worker starts, and by `check`.
    requires_system_checks = ("site",)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Add the option of every command: the user whose rights it has."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.add_argument(
            "--as", dest="actor", metavar="USER", help="act with the rights of this user (default: the shell)"
        )
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; turn known errors into CommandError."""
        try:
            return super().execute(*args, **options)
        except (TouchstoneError, ModelServerError) as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            if not re.search(r"no such (table|column)|(relation|column) .+ does not exist", str(error)):
                raise
            raise CommandError(
                "the database is not prepared for this version; run `.venv/bin/python manage.py prepare_site`"
            ) from error

    def write_json(self, result: object) -> None:
        """Print a result for programs; docs/reference/commands.md has the keys."""
        self.stdout.write(json.dumps(result, cls=DjangoJSONEncoder, indent=2, ensure_ascii=False))


def add_json(parser: argparse.ArgumentParser, *, always: bool = False) -> None:
    """Add the option that prints the result as JSON.

    Args:
        parser: Parser of the command.
        always: The command prints nothing but JSON, with or without the option.
    """
    text = (
        "accepted, and changes nothing: this command always prints JSON"
        if always
        else "print JSON instead of text"
    )
    parser.add_argument("--json", action="store_true", default=always, help=text)


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a workspace."""
    parser.add_argument("--workspace", type=parse_slug, metavar="NAME", help="(the only one of the site)")


def read_actor_option(options: dict[str, Any]) -> User | None:
    """Return the active user of ``--as``, None for the shell.

    Raises:
        CommandError: There is no such user.
    """
    name = options["actor"]
    if name is None:
        return None
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise CommandError(f"--as: there is no active user {name!r}")
    return user


def check_right(options: dict[str, Any], act: Act, owned: Owned | Workspace) -> User | None:
    """Check that the user of ``--as`` may do this; the shell may do all.

    Raises:
        NotAllowed: No role of the user allows it.
    """
    user = read_actor_option(options)
    if user is not None:
        check(user, act, owned)
    return user


def read_workspace_option(options: dict[str, Any], act: Act) -> tuple[Workspace, User | None]:
    """Return the workspace of ``--workspace``, and the user of ``--as``.

    Raises:
        NotFound: There is no such workspace, or several to choose from.
        NotAllowed: No role of the user allows the act in it.
    """
    workspace = choose_workspace(options["workspace"])
    return workspace, check_right(options, act, workspace)


def parse_slug(text: str) -> str:
    """Parse a name that fits into an address."""
    try:
        validate_slug(text)
    except ValidationError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid name: use letters, digits, hyphens and underscores"
        ) from error
    return _check_name_length(text)


def parse_system_name(text: str) -> str:
    """Parse the name of a system."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of a system may not be empty")
    return _check_name_length(text)


def parse_count(text: str) -> int:
    """Parse a whole number above 0."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def parse_address(text: str) -> str:
    """Parse the address of a site."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid address; it must begin with http:// or https://"
        )
    return text.rstrip("/")


def parse_seconds(text: str) -> float:
    """Parse a time of at most an hour."""
    try:
        given = float(text)
    except ValueError:
        given = -1.0
    if not 0 <= given <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 3600")
    return given


def _check_name_length(text: str) -> str:
    if len(text) > 100:
        raise argparse.ArgumentTypeError("a name has at most 100 characters")
    return text

"""Create a workspace."""

import argparse
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from accounts.actions import workspaces
from accounts.errors import NotAllowed
from accounts.queries.people import find_account_by_name
from jobs.commands.base import JobCommand, parse_slug, read_actor_option


class Command(JobCommand):
    help = "Create a workspace: the studies, annotation projects, datasets and people of a lab or a course."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="its short name")
        parser.add_argument("--name", required=True, help="the name that people read")
        parser.add_argument(
            "--owner", required=True, metavar="USER", help="user name or e-mail address of its owner"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        by = read_actor_option(options)
        if by is not None and not by.is_superuser:
            raise NotAllowed(f"{by.username} is not an administrator of this site")
        owner = find_account_by_name(options["owner"])
        try:
            workspace = workspaces.create_workspace(
                slug=options["slug"], name=options["name"], owner=owner, by=by
            )
        except ValidationError as error:
            raise CommandError("; ".join(error.messages)) from error
        self.stdout.write(f"Created the workspace {workspace.slug}. Its owner is {owner.username}.")

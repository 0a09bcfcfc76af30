"""Give or end a role of a person in a workspace."""

import argparse
from typing import Any

from accounts.actions import workspaces
from accounts.models import Role
from accounts.policy_table import Act
from accounts.queries.people import find_account_by_name
from jobs.commands.base import JobCommand, add_workspace, read_workspace_option


class Command(JobCommand):
    help = "Give a person a role in a workspace, or end it. A person may have several roles."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("user", help="user name or e-mail address")
        parser.add_argument("role", choices=Role.values)
        parser.add_argument("--end", action="store_true", help="end the role")
        add_workspace(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        workspace, by = read_workspace_option(options, Act.WORKSPACE_MANAGE)
        role = Role(options["role"])
        user = find_account_by_name(options["user"])
        if options["end"]:
            workspaces.end_role(workspace=workspace, user=user, role=role, by=by)
            self.stdout.write(f"{user.username} does not have the role {role} in {workspace.slug}.")
        else:
            workspaces.give_role(workspace=workspace, user=user, role=role, by=by)
            self.stdout.write(f"{user.username} has the role {role} in {workspace.slug}.")

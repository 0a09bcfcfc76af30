"""Add people to a project, change their roles, or list its members."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from accounts.models import User
from accounts.policy_table import Act
from annotation.actions.projects import set_member
from annotation.actions.qualification import decide
from annotation.models import Project, Role
from annotation.policies import check_own_role, list_roles, may
from annotation.queries.bots import find_project
from annotation.queries.members import find_membership
from annotation.queries.records import find_user, list_people
from jobs.commands.base import BadUsage, JobCommand, add_json, check_right, parse_slug


class Command(JobCommand):
    help = (
        "Add a person to an annotation project, change a role, or end a membership; without one, list them."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("project", type=parse_slug, help="the project")
        parser.add_argument("user", nargs="?", help="the login name of a person")
        parser.add_argument(
            "role", nargs="?", choices=Role.values, default=Role.ANNOTATOR, help="(annotator)"
        )
        parser.add_argument("--end", action="store_true", help="end the membership; what they drew stays")
        parser.add_argument(
            "--qualify", action="store_true", help="let the person work who failed the qualification"
        )
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        project = find_project(options["project"])
        by = check_right(options, Act.ANNOTATION_MANAGE, project)
        if options["user"] is None:
            self._list(project, as_json=options["json"])
            return
        if options["json"]:
            raise BadUsage("--json prints the list of members; leave out the person")
        user = find_user(options["user"])
        if user is None:
            raise CommandError(f"there is no user {options['user']!r}; invite them to the workspace first")
        if options["qualify"]:
            self._qualify(project, user, by)
            return
        role, active = Role(options["role"]), not options["end"]
        check_own_role(by, user, role, active=active)
        set_member(project=project, user=user, role=role, active=active, by=by)
        what = "is no longer a member" if options["end"] else f"is {role.value}"
        self.stdout.write(f"{project.slug}: {user.get_username()} {what}")

    def _qualify(self, project: Project, user: User, by: User | None) -> None:
        member = find_membership(user, project.slug)
        if member is None or not may(member, Act.PROJECT_SEE):
            raise CommandError(f"{user.get_username()} has no role on {project.slug}")
        decide(member=member, qualified=True, by=by)
        self.stdout.write(f"{project.slug}: {user.get_username()} is qualified")

    def _list(self, project: Project, *, as_json: bool) -> None:
        people = [(member, list_roles(member)) for member in list_people(project)]
        if as_json:
            self.write_json(
                [
                    {
                        "user": member.user.get_username(),
                        "role": member.role,
                        "active": member.active,
                        "roles": roles,
                        "qualified": member.qualified,
                    }
                    for member, roles in people
                ]
            )
            return
        for member, roles in people:
            self.stdout.write(f"{member.user.get_username()}\t{', '.join(roles) or f'{member.role} (ended)'}")

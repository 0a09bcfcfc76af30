"""Delete an account; the work of the person stays under another name."""

import argparse
from typing import Any

from accounts.actions.deletion import delete_account
from accounts.queries.people import find_account_by_name
from accounts.rights.accounts import check_administer
from jobs.commands.base import BadUsage, JobCommand, read_actor_option


class Command(JobCommand):
    help = (
        "Delete the account of a person for good: name, addresses, password, sessions, tokens and roles. "
        "Annotations, judgements and studies stay and name «former member N»."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="user name or e-mail address")
        parser.add_argument(
            "--yes", action="store_true", help="delete the account; without it nothing happens"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        by, user = read_actor_option(options), find_account_by_name(options["name"])
        if by is not None and by != user:
            check_administer(by, user)
        if not options["yes"]:
            raise BadUsage(f"nothing was done; give --yes to delete {user.username} for good")
        self.stdout.write(f"Deleted. The remaining records name «{delete_account(user=user, by=by)}».")

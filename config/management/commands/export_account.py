"""Print all that is stored about a person with an account."""

import argparse
from typing import Any

from accounts.actions.audit import record
from accounts.queries.account_data import collect_account_data
from accounts.queries.people import find_account_by_name
from accounts.rights.accounts import check_administer
from jobs.commands.base import JobCommand, add_json, read_actor_option


class Command(JobCommand):
    help = "Print all that is stored about a person with an account as JSON, without passwords and keys."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="user name or e-mail address")
        add_json(parser, always=True)

    def handle(self, *args: Any, **options: Any) -> None:
        by, user = read_actor_option(options), find_account_by_name(options["name"])
        if by is not None and by != user:
            check_administer(by, user)
        record(kind="account_exported", by=by, subject=user)
        self.write_json(collect_account_data(user))

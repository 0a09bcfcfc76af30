"""Remove the second factor of a person who has lost it."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from accounts.actions.second_factor import remove_second_factor
from accounts.models import User
from jobs.commands.base import JobCommand, read_actor_option


class Command(JobCommand):
    help = "Remove the second factor of a person who has lost phone and recovery codes. The password stays."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="user name")

    def handle(self, *args: Any, **options: Any) -> None:
        by = read_actor_option(options)
        if by is not None and not by.is_superuser:
            raise CommandError(f"--as: {by.username} is not a superuser; only superusers may do this")
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"there is no user {options['name']!r}")
        if not remove_second_factor(user=user, by=by):
            raise CommandError(f"{user.username} has no second factor")
        self.stdout.write(
            f"Removed the second factor of {user.username}. The login asks for the password alone."
        )

"""Update the database and the static files in one process."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Apply migrations and collect static files, before a new version starts."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False, skip_checks=False)
        call_command("collectstatic", verbosity=0, interactive=False)

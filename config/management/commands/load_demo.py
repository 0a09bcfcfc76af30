"""Bring in the demo's content."""

from typing import Any

from config import demo
from jobs.base_command import JobCommand


class Command(JobCommand):
    help = "Bring in the demo's login, predictions and study; what is there already stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        demo.load(self.stdout.write)

"""Load the content of the demo."""

from typing import Any

from config.demo import content as demo
from jobs.commands.base import JobCommand


class Command(JobCommand):
    help = "Load the logins, predictions and studies of the demo; existing content stays as it is."

    def handle(self, *args: Any, **options: Any) -> None:
        demo.load(self.stdout.write)

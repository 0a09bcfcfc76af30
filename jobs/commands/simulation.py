"""The base of the commands that have simulated people use a running site."""

import argparse
import logging
from collections.abc import Collection, Sequence
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import CommandError

from foundation.behaviour_mix import parse_mix
from jobs.commands.base import JobCommand, parse_address, parse_count, parse_seconds

SHOWN_ERRORS = 5


class SimulationCommand(JobCommand):
    """A command with the options and the summary that all simulations share."""

    def add_bot_arguments(
        self,
        parser: argparse.ArgumentParser,
        *,
        behaviours: Collection[str],
        default: str,
        example: str,
        seed: str,
        think: str,
    ) -> None:
        """Add the number of bots, their behaviours, seed, site and pace.

        Args:
            parser: The parser of the command.
            behaviours: The names of all behaviours.
            default: The behaviour of all bots unless the option is given.
            example: A mix of behaviours for the help text.
            seed: The help text of the option ``--seed``.
            think: The help text of the option ``--think``.
        """

        def mix(text: str) -> dict[str, float]:
            try:
                return parse_mix(text, behaviours)
            except ValueError as error:
                raise argparse.ArgumentTypeError(str(error)) from error

        parser.add_argument("-n", type=parse_count, required=True, metavar="N", help="number of bots")
        parser.add_argument(
            "--behaviour", type=mix, default=default, metavar="MIX",
            help=f"one behaviour, or shares such as {example} ({default})",
        )  # fmt: skip
        parser.add_argument("--seed", type=int, default=1, help=f"{seed} (1)")
        parser.add_argument(
            "--url", type=parse_address, default=settings.SITE_URL, help="the site (SITE_URL)"
        )
        parser.add_argument(
            "--concurrency", type=parse_count, default=4, metavar="C", help="bots at once (4)"
        )
        parser.add_argument(
            "--think", type=parse_seconds, default=0.0, metavar="SECONDS", help=f"{think}, on average (0)"
        )

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command without a log line for each request.

        Those lines would contain the token of a participation link.
        """
        logging.getLogger("httpx").setLevel(logging.WARNING)
        return super().execute(*args, **options)

    def write_summary(self, durations: Sequence[float], took: float, errors: Sequence[str]) -> None:
        """Print the number and pace of the requests, and the first errors.

        Args:
            durations: The seconds of each request.
            took: The seconds of the whole simulation.
            errors: The messages of the bots that failed.
        """
        ordered = sorted(durations)
        if ordered:
            p50, p95 = (1000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.95))
            self.stdout.write(
                f"{len(ordered)} requests in {took:.1f} s: {len(ordered) / took:.0f} a second, "
                f"half within {p50:.0f} ms, 95 % within {p95:.0f} ms"
            )
        for message in errors[:SHOWN_ERRORS]:
            self.stderr.write(message)

    def require_success(self, failed: int, total: int) -> None:
        """Raise CommandError if bots failed."""
        if failed:
            raise CommandError(f"{failed} of {total} bots failed")


def get_status(page: str, url: str) -> int:
    """Return the HTTP status of a page.

    Raises:
        CommandError: No site answers at ``url``.
    """
    try:
        return httpx.get(page, timeout=30, trust_env=False).status_code
    except httpx.HTTPError as error:
        raise CommandError(
            f"no site answers at {url} ({error}); start it, for example with make demo, or give --url"
        ) from error

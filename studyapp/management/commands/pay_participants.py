"""Approve and pay the participants of a study on Prolific."""

import argparse
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from pydantic import ValidationError

from accounts.policy_table import Act
from analysis.io.errors import describe_os_error
from foundation.errors import BadFile
from jobs.commands.base import BadUsage, JobCommand, add_json, check_right, parse_slug
from studyapp.actions.payments import store_order
from studyapp.definition.participation.payments import SENT_AWAY, PaymentOrder, read_amounts
from studyapp.models import Study
from studyapp.payments import settle_payments
from studyapp.queries.participants.payments import Plan, count_payment_states, plan_payments
from studyapp.queries.studies import find_study


class Command(JobCommand):
    help = (
        "Approve, ask to return and pay the participants of a study on Prolific, each exactly once. Without "
        "an act it goes on with what was ordered before. The key is read from PROLIFIC_API_TOKEN."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", type=parse_slug, help="the study")
        parser.add_argument("--approve", action="store_true", help="approve those who completed")
        parser.add_argument(
            "--ask-return",
            action="append",
            choices=SENT_AWAY,
            default=[],
            metavar="OUTCOME",
            help=f"ask to return the submissions of an outcome: {', '.join(SENT_AWAY)}; may be repeated",
        )
        parser.add_argument("--bonus", type=Path, metavar="FILE", help="CSV with the lines ID,AMOUNT")
        parser.add_argument(
            "--bonus-name", default="bonus", metavar="NAME", help="each name is paid once (bonus)"
        )
        parser.add_argument(
            "--screen-out", type=_parse_amount, metavar="AMOUNT", help="pay those who were screened out"
        )
        parser.add_argument("--currency", default="GBP", help="of the study on Prolific (GBP)")
        parser.add_argument("--dry-run", action="store_true", help="show who would get what, and stop")
        add_json(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_PERSONAL, study)
        order = _build_order(options)
        if options["dry_run"]:
            plan = plan_payments(study, order)
            if options["json"]:
                self.write_json(_describe_plan(plan))
            else:
                self._show(plan)
            return
        if _has_acts(order):
            plan = store_order(study=study, order=order, by=by)
            if not options["json"]:
                self._show(plan)
        settle_payments(study, lambda done, total: None, turn=float("inf"))
        self._count(study, as_json=options["json"])

    def _show(self, plan: Plan) -> None:
        for line in plan.lines:
            amount = "" if line.amount is None else f" {line.amount:.2f} {plan.currency}"
            state = line.obstacle or ("" if line.is_due else f"ordered before: {line.earlier}")
            text = f"{line.ids.participant.public_id}: {line.kind}{amount}"
            self.stdout.write(f"{text} ({state})" if state else text)
        self.stdout.write(f"{len(plan.due)} to do, {plan.total:.2f} {plan.currency} without fees")

    def _count(self, study: Study, *, as_json: bool) -> None:
        counts = count_payment_states(study)
        if as_json:
            self.write_json(counts)
        else:
            self.stdout.write(", ".join(f"{number} {state}" for state, number in sorted(counts.items())))
        if counts.get("failed") or counts.get("unknown"):
            raise CommandError(
                "some payments failed or are unknown; the page Payments of the study lists them"
            )


def _describe_plan(plan: Plan) -> dict[str, Any]:
    """Return a plan with the keys of the REST API."""
    lines = [
        {
            "participant": line.ids.participant.public_id,
            "kind": line.kind,
            "bonus": line.batch,
            "amount": None if line.amount is None else f"{line.amount:.2f}",
            "is_due": line.is_due,
            "earlier": line.earlier,
            "obstacle": line.obstacle,
        }
        for line in plan.lines
    ]
    return {
        "payments": len(plan.due),
        "total": f"{plan.total:.2f}",
        "currency": plan.currency,
        "lines": lines,
    }


def _build_order(options: dict[str, Any]) -> PaymentOrder:
    path: Path | None = options["bonus"]
    amounts = {}
    if path is not None:
        try:
            amounts = read_amounts(path.read_bytes(), str(path))
        except OSError as error:
            raise BadFile(path, describe_os_error(error)) from error
    try:
        return PaymentOrder(
            approve=options["approve"],
            returns=tuple(options["ask_return"]),
            bonus=options["bonus_name"],
            bonus_amounts=amounts,
            screen_out=options["screen_out"],
            currency=options["currency"],
        )
    except ValidationError as error:
        first = error.errors()[0]
        name = "--" + str(first["loc"][0]).replace("_", "-")
        raise BadUsage(f"{name}: {first['msg']}, not {first['input']!r}") from error


def _has_acts(order: PaymentOrder) -> bool:
    return bool(order.approve or order.returns or order.bonus_amounts or order.screen_out)


def _parse_amount(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount such as 0.50") from error

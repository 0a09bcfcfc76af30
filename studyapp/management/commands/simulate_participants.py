"""Have simulated participants walk through a study on a running site."""

import argparse
import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.core.management.base import CommandError
from django.urls import reverse

from accounts.models import User
from accounts.policy_table import Act
from analysis.participants.exclusion_rules import MinTime
from jobs.commands.base import BadUsage, check_right, parse_slug
from jobs.commands.simulation import SimulationCommand, get_status
from jobs.progress_bar import Bar
from modelserver.wire.errors import UnusableSystem
from modelserver.wire.schema import Usage
from studyapp.actions.links import create_link
from studyapp.actions.rehearsals import start_rehearsal
from studyapp.models import EntryLink, Mode, Participant, Study
from studyapp.policies import NotAdmitted, check_admission
from studyapp.queries.bots import build_study_plan, count_stored_rows, find_public_id, list_shown_conditions
from studyapp.queries.studies import find_latest_version, find_study, load_frozen_study
from studyapp.simulation.behaviours import BEHAVIOURS
from studyapp.simulation.bots import Bot, make_bots
from studyapp.simulation.language_model import LLM, Respondent, open_respondent, run_respondents
from studyapp.simulation.planted_effects import Effect, Planted, check_effects, parse_effect
from studyapp.simulation.study_plan import StudyPlan
from studyapp.simulation.walk import run_bots
from studyapp.simulation_job import estimate_usage, make_crowd


class Command(SimulationCommand):
    help = (
        "Have bots walk the real pages of a study over HTTP, from a link to the completion code. The site "
        f"must run on this database. Behaviours: {', '.join(BEHAVIOURS)}, or {LLM}: a language model."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "slug", type=parse_slug, help="the study; it must be open, unless with --rehearse"
        )
        parser.add_argument(
            "--rehearse", action="store_true",
            help="walk the draft, frozen provisionally; opens nothing, and no bot counts for the study",
        )  # fmt: skip
        self.add_bot_arguments(
            parser,
            behaviours=[*BEHAVIOURS, LLM],
            default="honest",
            example="honest=0.7,random=0.2,drop-out=0.1",
            seed="decides what the bots answer",
            think="really wait this long on each page; the server's clock shows it",
        )
        parser.add_argument(
            "--model", type=Path, metavar="SYSTEM.yaml",
            help=f"the language model of --behaviour {LLM}: the file of a chat system",
        )  # fmt: skip
        parser.add_argument(
            "--remember", type=int, default=0, choices=range(101), metavar="PAGES",
            help=f"earlier pages that the model of --behaviour {LLM} sees again with its answers (0)",
        )  # fmt: skip
        parser.add_argument(
            "--dry-run", action="store_true",
            help="say where the pages go and what the language model costs at most; send nothing",
        )  # fmt: skip
        parser.add_argument(
            "--effect", type=_parse_effect, action="append", default=[], metavar="CONDITION:NAME=NUMBER,...",
            help="what bots of a condition do otherwise: the role or key of a question and what is added to "
            "the probability of a yes, or to the mean agreement from 0 to 1; time and a factor",
        )  # fmt: skip
        parser.add_argument(
            "--spread", type=_parse_spread, default=(0.0, 0.0), metavar="PEOPLE,ITEMS",
            help="how much people, and items, differ in all answers: standard deviations in the unit of "
            "--effect (0,0)",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        _check_options(options)
        study = find_study(options["slug"])
        by = check_right(options, Act.STUDY_EDIT, study)
        if options["rehearse"]:
            study = start_rehearsal(study=study, by=by)
        if options["model"]:
            self._simulate_by_model(study, by, options)
        else:
            self._simulate(study, by, options)
        if options["rehearse"] and not options["dry_run"]:
            self.stdout.write(f"rehearsed the draft with the hash {study.versions.get().hash}")

    def _simulate(self, study: Study, by: User | None, options: Mapping[str, Any]) -> None:
        """Have bots of one or several behaviours take part."""
        plan = dataclasses.replace(build_study_plan(study), item_spread=options["spread"][1])
        planted = _build_planted_effects(study, options["effect"], options["behaviour"], plan)
        self._warn(study, options["think"])
        mix = ",".join(f"{name}={share:g}" for name, share in options["behaviour"].items())
        link, address = _create_bot_link(study, options["url"], by, mix.removesuffix("=1"))
        crowd = make_bots(
            options["n"], options["behaviour"], seed=options["seed"], spread=options["spread"][0]
        )
        self._run(crowd, partial(run_bots, crowd, address, plan, planted=planted), options)
        self._compare(crowd, link)

    def _run(self, crowd: Sequence[Bot], walking: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Have all bots walk, with a progress bar, and print what they saw."""
        done = 0
        begun = time.monotonic()
        with Bar("Bots", total=len(crowd)) as bar:

            def on_finish(_bot: Bot) -> None:
                nonlocal done
                done += 1
                bar.at(done)

            asyncio.run(
                walking(concurrency=options["concurrency"], think=options["think"], on_finish=on_finish)
            )
        self._write_result(crowd, time.monotonic() - begun)

    def _simulate_by_model(self, study: Study, by: User | None, options: Mapping[str, Any]) -> None:
        """Have a language model take part; go on where an earlier call stopped."""
        try:
            model = open_respondent(options["model"], remember=options["remember"])
        except UnusableSystem as error:
            raise CommandError(f"--model: {error}") from error
        try:
            label = f"language model, seed {options['seed']}"
            came = Participant.objects.filter(
                version__study=study, link__behaviour=model.behaviour, link__label=label
            )
            crowd = make_crowd(options["n"], LLM, seed=options["seed"], came=came, url=options["url"])
            spent = model.paid.store.read_usage()
            self._write_expected(study, len(crowd), model)
            if options["dry_run"] or not crowd:
                return
            self._warn(study, options["think"])
            _known, address = _create_bot_link(study, options["url"], by, model.behaviour, label)
            identify = sync_to_async(find_public_id)
            self._run(crowd, partial(run_respondents, crowd, address, model, identify=identify), options)
            self._write_cost(model, spent)
        finally:
            model.close()
        completed = came.filter(status=Participant.Status.COMPLETED).count()
        self.stdout.write(f"stored: {came.count()} participants, {completed} completed")
        self.require_success(sum(bool(bot.error) for bot in crowd), len(crowd))

    def _write_expected(self, study: Study, n: int, model: Respondent) -> None:
        version = find_latest_version(study)
        if version is None:
            raise CommandError(f"{study} was never launched; launch it, or give --rehearse")
        requests, usage = estimate_usage(load_frozen_study(version), n, model)
        asked = model.language_model
        budgets = [f"{asked.budget_tokens} tokens"] if asked.budget_tokens else []
        budgets += [f"{asked.budget_money:g} {asked.currency}"] if asked.budget_money else []
        self.stdout.write(
            f"pages go to: {asked.recipient} ({asked.model})\n"
            f"participants to simulate: {n}\nrequests, about: {requests}\n"
            f"input tokens, about: {usage.input_tokens}\noutput tokens, at most: {usage.output_tokens}\n"
            f"cost, at most about: {_format_money(model, usage)}\n"
            f"budget: {', '.join(budgets) or 'none'}; spent so far: {asked.spent_tokens} tokens"
        )

    def _write_cost(self, model: Respondent, before: Usage) -> None:
        after = model.paid.store.read_usage()
        usage = Usage(**{name: getattr(after, name) - getattr(before, name) for name in Usage.model_fields})
        self.stdout.write(
            f"{usage.input_tokens} tokens sent, {usage.output_tokens} received, "
            f"cost {_format_money(model, usage)}"
        )

    def _warn(self, study: Study, think: float) -> None:
        """Warn if rules of the study would exclude bots as too fast.

        Bots are fast on the server's clock.
        """
        version = find_latest_version(study)
        assert version is not None  # there is a plan
        for rule in load_frozen_study(version).rules:
            if isinstance(rule, MinTime) and rule.clock == "server" and 500 * think < rule.milliseconds:
                self.stderr.write(
                    f"The rule {rule.name} excludes what took under {rule.milliseconds / 1000:g} s on the "
                    "server's clock, where these bots are quicker: give --think, or let the rules of a study "
                    "for bots read client_total, which the bots fill with simulated times."
                )

    def _write_result(self, crowd: Sequence[Bot], took: float) -> None:
        completed, left = sum(bool(bot.code) for bot in crowd), sum(bot.left for bot in crowd)
        failed = [bot for bot in crowd if bot.error]
        ended = sum(bot.ended for bot in crowd)
        sent_away = f", {ended} sent away before the items" if ended else ""
        bots = "1 bot" if len(crowd) == 1 else f"{len(crowd)} bots"
        self.stdout.write(f"{bots}: {completed} completed, {left} left, {len(failed)} failed{sent_away}")
        self.write_summary(
            [second for bot in crowd for second in bot.seconds],
            took,
            [f"bot {bot.number} ({bot.kind}): {bot.error}" for bot in failed],
        )

    def _compare(self, crowd: Sequence[Bot], link: EntryLink) -> None:
        """Require that the database holds exactly what the bots saw accepted."""
        counts_by_name = count_stored_rows(link)
        sent = {
            "participants": sum(bot.consented for bot in crowd),
            "stages": sum(bot.stages for bot in crowd),
            "items": sum(bot.items for bot in crowd),
            "surveys": sum(bot.surveys for bot in crowd),
            "completed": sum(bool(bot.code) for bot in crowd),
            "ended": sum(bot.ended for bot in crowd),
        }
        counts = ", ".join(f"{number} {name}" for name, number in counts_by_name.items())
        if counts_by_name != sent:
            expected = ", ".join(f"{number} {name}" for name, number in sent.items())
            raise CommandError(f"the database holds {counts}, but the bots saw {expected}")
        self.stdout.write(f"stored: {counts}; the same as the bots saw")
        self.require_success(sum(bool(bot.error) for bot in crowd), len(crowd))


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that do not go together."""
    by_model = LLM in options["behaviour"]
    if by_model and len(options["behaviour"]) > 1:
        raise BadUsage(f"--behaviour: {LLM} goes with no other behaviour")
    if by_model != bool(options["model"]):
        raise BadUsage(f"--behaviour {LLM} and --model SYSTEM.yaml go together")
    if by_model and (options["effect"] or any(options["spread"])):
        raise BadUsage("--effect and --spread plant nothing in a language model")
    if not by_model and (options["dry_run"] or options["remember"]):
        raise BadUsage(f"--dry-run and --remember are for --behaviour {LLM}")


def _format_money(model: Respondent, usage: Usage) -> str:
    prices = model.paid.file.prices
    return f"{prices.of(usage):.4f} {prices.currency}" if prices else "unknown: the file declares no prices"


def _build_planted_effects(
    study: Study, given: Sequence[tuple[str, Effect]], mix: Mapping[str, float], plan: StudyPlan
) -> Planted | None:
    """Return the effects to plant, checked against the study, or None.

    In a simulation, bots need their condition to know what its system answers.
    """
    if not given and not plan.blocks:
        return None
    effects = dict(given)
    if len(effects) < len(given):
        raise BadUsage("--effect: give all effects of a condition at once, NAME=NUMBER,NAME=NUMBER")
    version = find_latest_version(study)
    assert version is not None  # there is a plan
    try:
        content = load_frozen_study(version)
        check_effects(effects, mix, plan, [condition.name for condition in content.conditions])
    except ValueError as error:
        raise CommandError(f"--effect: {error}") from error
    return Planted(effects, sync_to_async(list_shown_conditions), varies=content.design != "between")


def _create_bot_link(
    study: Study, url: str, by: User | None, behaviour: str, label: str = "bots"
) -> tuple[EntryLink, str]:
    """Create a link for bots and check that the site knows it.

    Returns:
        The link and its address.
    """
    get_status(url + reverse("studyapp:home"), url)
    try:
        check_admission(EntryLink(study=study))
    except NotAdmitted as refusal:
        raise CommandError(f"{study} takes nobody: {refusal}") from refusal
    link, token = create_link(study=study, by=by, label=label, mode=Mode.BOT, behaviour=behaviour)
    address = url + reverse("studyapp:join", args=[token])
    if get_status(address, url) == 404:
        raise CommandError(f"the site at {url} does not know study {study}: it runs on another database")
    return link, address


def _parse_effect(text: str) -> tuple[str, dict[str, float]]:
    try:
        return parse_effect(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parse_spread(text: str) -> tuple[float, float]:
    try:
        people, items = (float(part) for part in text.split(","))
    except ValueError:
        people = items = -1.0
    if not (0 <= people <= 1 and 0 <= items <= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not PEOPLE,ITEMS, two numbers from 0 to 1")
    return people, items

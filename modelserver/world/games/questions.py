"""Questions of DROP's kinds about a report, with program, gold and answer.

There is one function per kind of question; it raises `NothingToAsk` if the report has nothing to ask
for. The answer follows from the game itself, not from running the program.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from modelserver.world.games.prose import Span
from modelserver.world.games.reports import (
    FIELD_GOAL,
    PASS,
    QUARTERS,
    RUN,
    TOTALS,
    Dated,
    Report,
    Score,
    Total,
)
from modelserver.world.games.steps import (
    Step,
    find,
    keep,
    link_spans,
    make_answer_step,
    make_computed_step,
    select_extreme,
)

KINDS = (FIELD_GOAL, RUN, PASS)
ACTORS = {FIELD_GOAL: "kicked", RUN: "scored", PASS: "threw"}
DONE = {FIELD_GOAL: "kicked", RUN: "scored", PASS: "thrown"}


@dataclass(frozen=True)
class Question:
    """A question in wordings that mean the same, with its answer's steps."""

    wordings: tuple[str, ...]
    steps: Step
    answer: int | str


class NothingToAsk(Exception):
    """A report that holds nothing that a kind of question could be about."""


Ask = Callable[[random.Random, Report], Question]


def _get_event(score: Score) -> Span:
    return score.spans["event"]


def _get_yards(score: Score) -> int:
    return score.yards


def _select_scores(report: Report, kind: str) -> list[Score]:
    return [score for score in report.scores if score.kind == kind]


def _find_plays(report: Report, kind: str, *, many: bool) -> Step:
    """Return the step that finds all scoring plays of a kind.

    ``touchdown`` means touchdowns of both kinds.
    """
    scores = [score for score in report.scores if score.kind.startswith(kind)]
    return find(kind + ("es" if many and kind == PASS else "s" if many else ""), scores, _get_event)


def _find_numbers(step: Step) -> Step:
    return link_spans("find-num", None, step, lambda score: score.spans["yards"])


def _draw_condition(rng: random.Random, report: Report, kind: str) -> tuple[str, Callable[[Score], bool]]:
    """Return a condition on scoring plays, as a phrase and as a test."""
    quarter, half, team = rng.choice(QUARTERS), rng.choice((0, 1)), rng.choice(report.teams)
    scores = _select_scores(report, kind)
    yards = rng.choice([score.yards for score in scores]) if scores else 30
    bound = max(10, yards // 10 * 10)
    conditions: tuple[tuple[str, Callable[[Score], bool]], ...] = (
        (f"in the {quarter} quarter", lambda score: score.quarter == quarter),
        (f"in the {QUARTERS[half]} half", lambda s: QUARTERS.index(s.quarter) // 2 == half),
        (f"over {bound} yards", lambda score: score.yards > bound),
        (f"under {bound} yards", lambda score: score.yards < bound),
        (f"by the {team}", lambda score: score.team == team),
    )
    return rng.choice(conditions)


def _ask_count(rng: random.Random, report: Report) -> Question:
    kind = rng.choice((FIELD_GOAL, PASS, RUN, "touchdown"))
    step = _find_plays(report, kind, many=True)
    if not step.mentions:
        raise NothingToAsk
    words = step.program.argument
    wordings = (f"How many {words} were there in the game?", f"How many {words} does the report mention?")
    return Question(wordings, make_computed_step("count", step), len(step.mentions))


def _ask_filtered_count(rng: random.Random, report: Report) -> Question:
    kind = rng.choice(KINDS)
    words, test = _draw_condition(rng, report, kind)
    plays = _find_plays(report, kind, many=True)
    step = keep(words, plays, test)
    if not plays.mentions or (not step.mentions and rng.random() < 0.7):
        raise NothingToAsk
    what = plays.program.argument
    wordings = (f"How many {what} {words} were there?", f"How many {what} {words} did the game have?")
    return Question(wordings, make_computed_step("count", step), len(step.mentions))


def _ask_player_count(rng: random.Random, report: Report) -> Question:
    score = rng.choice(report.scores)
    plays = _find_plays(report, score.kind, many=True)
    words = f"{DONE[score.kind]} by {score.who}"
    step = keep(words, plays, lambda other: other.who == score.who)
    wordings = (f"How many {plays.program.argument} were {words}?",)
    return Question(wordings, make_computed_step("count", step), len(step.mentions))


def _draw_extreme(rng: random.Random, report: Report) -> tuple[str, str, Step]:
    """Return ``longest`` or ``shortest``, the phrase after it, and its step.

    The step finds the number of yards, at times of plays that fit a condition.
    """
    some, kind = rng.random() < 0.5, rng.choice(KINDS)
    plays, words = _find_plays(report, kind, many=False), kind
    if some:
        condition, test = _draw_condition(rng, report, kind)
        if "yards" in condition:
            raise NothingToAsk
        plays, words = keep(condition, plays, test), f"{kind} {condition}"
    if len(plays.mentions) < 2:
        raise NothingToAsk
    module = rng.choice(("find-max-num", "find-min-num"))
    longest = "longest" if module == "find-max-num" else "shortest"
    return longest, words, select_extreme(module, _find_numbers(plays), _get_yards)


def _ask_how_long(rng: random.Random, report: Report) -> Question:
    longest, words, step = _draw_extreme(rng, report)
    wordings = (
        f"How many yards was the {longest} {words}?",
        f"How long was the {longest} {words}, in yards?",
    )
    return Question(wordings, step, step.mentions[0].about.yards)


def _ask_who(rng: random.Random, report: Report) -> Question:
    longest, words, step = _draw_extreme(rng, report)
    score = step.mentions[0].about
    caught = score.kind == PASS and rng.random() < 0.5
    asked, slot = ("Who caught", "receiver") if caught else (f"Who {ACTORS[score.kind]}", "who")
    step = link_spans("relocate", asked, step, lambda score: score.spans[slot])
    return Question((f"{asked} the {longest} {words}?",), step, score.receiver if caught else score.who)


def _ask_who_by_length(rng: random.Random, report: Report) -> Question:
    score = rng.choice(report.scores)
    asked = f"Who {ACTORS[score.kind]}"
    words = f"{score.yards}-yard {score.kind}"
    step = link_spans("relocate", asked, find(words, [score], _get_event), lambda score: score.spans["who"])
    return Question((f"{asked} the {words}?",), step, score.who)


def _ask_only_play(rng: random.Random, report: Report) -> Question:
    """Ask for the yards of the only play of its kind in a quarter."""
    score = rng.choice(report.scores)
    words = f"of the {score.quarter} quarter"
    plays = _find_plays(report, score.kind, many=False)
    step = _find_numbers(keep(words, plays, lambda other: other.quarter == score.quarter))
    if len(step.mentions) > 1:
        raise NothingToAsk
    return Question((f"How many yards was the only {score.kind} {words}?",), step, score.yards)


def _ask_difference(rng: random.Random, report: Report) -> Question:
    kind = rng.choice(KINDS)
    lengths = [score.yards for score in _select_scores(report, kind)]
    if len(lengths) < 2:
        raise NothingToAsk
    numbers = _find_numbers(_find_plays(report, kind, many=False))
    ends = [select_extreme(module, numbers, _get_yards) for module in ("find-max-num", "find-min-num")]
    wordings = (
        f"How many yards longer was the longest {kind} than the shortest?",
        f"How many yards lie between the longest and the shortest {kind}?",
    )
    return Question(wordings, make_computed_step("subtraction", *ends), max(lengths) - min(lengths))


def _ask_sum(rng: random.Random, report: Report) -> Question:
    kinds = rng.sample(KINDS, 2)
    plays = [_select_scores(report, kind) for kind in kinds]
    if not all(plays):
        raise NothingToAsk
    ends = [
        select_extreme("find-max-num", _find_numbers(_find_plays(report, kind, many=False)), _get_yards)
        for kind in kinds
    ]
    wordings = (f"How many yards were the longest {kinds[0]} and the longest {kinds[1]} together?",)
    return Question(
        wordings, make_computed_step("addition", *ends), sum(max(map(_get_yards, scores)) for scores in plays)
    )


def _ask_which_more(rng: random.Random, report: Report) -> Question:
    kind = rng.choice(report.totals).kind
    (verb, noun), _, _ = TOTALS[kind]
    totals = [total for total in report.totals if total.kind == kind]
    rng.shuffle(totals)
    wanted = rng.choice(("greater", "less"))
    more = "more" if wanted == "greater" else "fewer"
    winner = (max if wanted == "greater" else min)(totals, key=lambda total: total.number)
    first, second = (total.team for total in totals)
    wordings = (
        f"Did the {first} or the {second} {verb} {more} {noun}?",
        f"In total, did the {first} or the {second} {verb} {more} {noun}?",
    )
    return Question(
        wordings, make_computed_step("num-compare", *map(_find_total, totals), argument=wanted), winner.team
    )


def _find_total(total: Total) -> Step:
    (verb, noun), _, _ = TOTALS[total.kind]
    statement = find(f"{total.team} {verb} {noun}", [total], lambda subject: subject.event)
    return link_spans("find-num", None, statement, lambda subject: subject.span)


def _ask_how_many_more(rng: random.Random, report: Report) -> Question:
    kind = rng.choice(report.totals).kind
    (verb, noun), _, _ = TOTALS[kind]
    totals = sorted((t for t in report.totals if t.kind == kind), key=lambda total: -total.number)
    more, less = totals
    wordings = (f"How many more {noun} did the {more.team} {verb} than the {less.team}?",)
    return Question(
        wordings, make_computed_step("subtraction", *map(_find_total, totals)), more.number - less.number
    )


def _find_date(event: Dated) -> Step:
    return link_spans("find-date", None, find(event.words, [event], lambda t: t.event), lambda t: t.date)


def _ask_which_first(rng: random.Random, report: Report) -> Question:
    first, second = rng.sample(report.dated, 2)
    wanted = rng.choice(("earlier", "later"))
    chosen = (min if wanted == "earlier" else max)((first, second), key=lambda event: event.day)
    asked = "first" if wanted == "earlier" else "later"
    wordings = (
        f"Which happened {asked}, the {first.words} or the {second.words}?",
        f"What came {asked}: the {first.words} or the {second.words}?",
    )
    steps = make_computed_step("date-compare", _find_date(first), _find_date(second), argument=wanted)
    return Question(wordings, steps, chosen.event.quote)


def _ask_years(rng: random.Random, report: Report) -> Question:
    """Ask for the years between two events.

    Their full years are also the difference of the years' numbers.
    """
    pairs = [sorted(pair, key=lambda event: event.day) for pair in combinations(report.dated, 2)]
    full = [pair for pair in pairs if pair[0].day.timetuple()[1:3] <= pair[1].day.timetuple()[1:3]]
    if not full:
        raise NothingToAsk
    first, second = rng.choice(full)
    wordings = (
        f"How many years passed between the {first.words} and the {second.words}?",
        f"How many full years after the {first.words} was the {second.words}?",
    )
    steps = make_computed_step("subtraction", _find_date(first), _find_date(second))
    return Question(wordings, steps, second.day.year - first.day.year)


def _ask_where(rng: random.Random, report: Report) -> Question:
    wordings = ("Where was the game played?", "In which place was the game played?")
    return Question(wordings, make_answer_step("was the game played", report.stadium), report.stadium.quote)


ASKED: dict[str, Ask] = {
    "count": _ask_count,
    "count-filtered": _ask_filtered_count,
    "count-player": _ask_player_count,
    "extreme": _ask_how_long,
    "who-extreme": _ask_who,
    "who": _ask_who_by_length,
    "number": _ask_only_play,
    "difference": _ask_difference,
    "sum": _ask_sum,
    "compare-numbers": _ask_which_more,
    "difference-of-teams": _ask_how_many_more,
    "compare-dates": _ask_which_first,
    "years": _ask_years,
    "extract": _ask_where,
}

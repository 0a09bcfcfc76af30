"""Exclusion rules as data: the trials they hit, counts and overlaps.

A pure function over rows, so that the site's export and the report count
alike. No pandas here. Rules about trials come first; rules about participants
follow, and one of them reads how many trials the others excluded.

References:
    1. Schuff et al. (2020), section 6.4: too fast, too slow, known before.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ..io.errors import AnalysisError, find_first_problem

Clock = Literal["server", "client_total", "client_visible"]
CLOCK_COLUMNS: dict[Clock, str] = {
    "server": "server_ms",
    "client_total": "client_total_ms",
    "client_visible": "client_visible_ms",
}
"""The column of `trials` with the time in milliseconds, by clock: server, client_total, client_visible."""

CLOCK_LABELS: dict[Clock, str] = {
    "server": "the server's clock (submitted minus shown)",
    "client_total": "the browser's clock, whole time",
    "client_visible": "the browser's clock, time with the page visible",
}
DUPLICATE_COLUMNS = {"all": "duplicate_answers", "text": "duplicate_text"}
# Rules about participants read these, beside `flags` and `items_submitted`.
PERSON_COLUMNS = ("attention_failed", "comprehension_tries", "alike_items", *DUPLICATE_COLUMNS.values())
LEAST_ALIKE = 5  # items: with fewer, a share of items with the same answers says little


class _Rule(BaseModel):
    """Base of the rules.

    Unknown fields are errors: they might have been meant to narrow the rule. `words` describe the rule, with
    its fields in braces.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    words: ClassVar[str]
    name: str = Field(min_length=1, pattern="^[^;]+$")

    def describe(self) -> str:
        """Describe the rule for readers."""
        return self.words.format_map(dict(self))


class _TimeRule(_Rule):
    """Base of the rules about the time of a trial: below or above a bound.

    A trial without a time of the browser, which needs JavaScript, is judged by the server's clock.
    """

    clock: Clock
    milliseconds: int | float = Field(ge=0)

    def time_of(self, trial: Mapping[str, Any]) -> tuple[Clock | None, Any]:
        """Return the clock that has a time for the trial, and the time."""
        for clock in dict.fromkeys((self.clock, "server")):
            time = _read_value(trial, CLOCK_COLUMNS[clock])
            if time is not None:
                return clock, time
        return None, None

    def should_exclude(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        _clock, time = self.time_of(trial)
        if time is None:
            return False
        return bool(time < self.milliseconds if self.words == "below" else time > self.milliseconds)

    def describe(self) -> str:
        """Describe the rule for readers."""
        instead = "" if self.clock == "server" else ", or the server's clock if the browser gave no time"
        return f"{self.words} {self.milliseconds / 1000:g} s on {CLOCK_LABELS[self.clock]}{instead}"


class MinTime(_TimeRule):
    """Hits a trial whose time is below the bound."""

    words = "below"
    kind: Literal["min_time"]


class MaxTime(_TimeRule):
    """Hits a trial whose time is above the bound."""

    words = "above"
    kind: Literal["max_time"]


class Answered(_Rule):
    """Hits a trial with this answer to a question of the item questionnaire."""

    kind: Literal["answered"]
    question: str
    value: bool | int | float | str

    def should_exclude(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        answer = _read_value(trial, self.question)
        return answer is not None and bool(answer == self.value)

    def describe(self) -> str:
        """Describe the rule for readers."""
        value = {True: "yes", False: "no"}.get(self.value) if isinstance(self.value, bool) else self.value
        return f"question {self.question} answered {value}"


class AnsweredNumber(_Rule):
    """Hits a trial with an answer within the bounds.

    The question is of the item questionnaire. Both bounds are included; None is no
    bound, and one of the two is given.
    """

    kind: Literal["answered_number"]
    question: str
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most or both")
        return self

    def should_exclude(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        answer = _read_value(trial, self.question)
        if answer is None:
            return False
        low, high = self.at_least, self.at_most
        return bool((low is None or answer >= low) and (high is None or answer <= high))

    def describe(self) -> str:
        """Describe the rule for readers."""
        bounds = [("at least", self.at_least), ("at most", self.at_most)]
        bounds_text = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        return f"question {self.question} answered {bounds_text}"


class WholeItem(_Rule):
    """Hits every trial of the item."""

    words = "item {item_id}, for everybody"
    kind: Literal["item"]
    item_id: str

    def should_exclude(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        return bool(trial["item_id"] == self.item_id)


class PersonRule(_Rule):
    """Base of the rules about participants: all their trials, and surveys."""

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        raise NotImplementedError


class Flagged(PersonRule):
    """Hits a participant who has the flag."""

    words = "participants flagged for {flag}"
    kind: Literal["flagged"]
    flag: str

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        return self.flag in str(_read_value(person, "flags") or "").split(";")


class FailedAttention(PersonRule):
    """Hits a participant who failed at least so many attention items."""

    words = "participants who failed at least {at_least_failed} attention items"
    kind: Literal["failed_attention"]
    at_least_failed: int = Field(ge=1)

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        return (_read_value(person, "attention_failed") or 0) >= self.at_least_failed


class ExcludedTrials(PersonRule):
    """Hits a participant of whose trials other rules exclude too many.

    Only rules about trials count.
    """

    words = "participants of whose trials the rules above exclude more than {more_than_percent:g} %"
    kind: Literal["excluded_trials"]
    more_than_percent: float = Field(ge=0, lt=100)

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        excluded, submitted = (
            _read_value(person, name) or 0 for name in ("trials_excluded", "items_submitted")
        )
        return bool(excluded * 100.0 > submitted * self.more_than_percent)


class ComprehensionTries(PersonRule):
    """Hits a participant who used many tries of the comprehension check."""

    words = "participants who used at least {at_least_tries} tries of the comprehension check"
    kind: Literal["comprehension_tries"]
    at_least_tries: int = Field(ge=1)

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        return (_read_value(person, "comprehension_tries") or 0) >= self.at_least_tries


class StraightLining(PersonRule):
    """Hits a participant who answered the scales of many items alike.

    Exactly one of the two bounds is given.
    """

    kind: Literal["straight_lining"]
    at_least_items: int | None = Field(default=None, ge=2)
    at_least_percent: float | None = Field(default=None, gt=0, le=100)

    @model_validator(mode="after")
    def _check_one_bound(self) -> Self:
        if (self.at_least_items is None) == (self.at_least_percent is None):
            raise ValueError("give at_least_items or at_least_percent")
        return self

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        alike, submitted = (_read_value(person, name) or 0 for name in ("alike_items", "items_submitted"))
        if self.at_least_items is not None:
            return bool(alike >= self.at_least_items)
        assert self.at_least_percent is not None  # one of the two is given
        return bool(alike >= LEAST_ALIKE and alike * 100.0 >= submitted * self.at_least_percent)

    def describe(self) -> str:
        """Describe the rule for readers."""
        bound = f"{self.at_least_items}" if self.at_least_items else f"{self.at_least_percent:g} % of their"
        return f"participants with the same answers to all rating scales at {bound} items or more"


class DuplicateAnswers(PersonRule):
    """Hits a participant with the same answers as another one."""

    kind: Literal["duplicate_answers"]
    of: Literal["all", "text"]

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        return bool(_read_value(person, DUPLICATE_COLUMNS[self.of]))

    def describe(self) -> str:
        """Describe the rule for readers."""
        what = {"all": "the same answers to all items", "text": "the same free text"}[self.of]
        return f"participants with {what} as another participant"


class ByHand(PersonRule):
    """Hits participants that researchers excluded.

    No study freezes this rule: the export adds it, so that a report shows results with and without these
    participants.
    """

    kind: Literal["by_hand"]
    participants: tuple[str, ...]

    def should_exclude_person(self, person: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the participant."""
        return person["participant_id"] in self.participants

    def describe(self) -> str:
        """Describe the rule for readers."""
        count = len(self.participants)
        who = "1 participant" if count == 1 else f"{count} participants"
        return f"{who} excluded by researchers, not by a rule that was declared (reasons: participants.csv)"


# A study can declare these, and its launch freezes them as they are.
DeclaredRule = Annotated[
    MinTime
    | MaxTime
    | Answered
    | AnsweredNumber
    | WholeItem
    | Flagged
    | FailedAttention
    | ExcludedTrials
    | ComprehensionTries
    | StraightLining
    | DuplicateAnswers,
    Field(discriminator="kind"),
]
Rule = Annotated[DeclaredRule | ByHand, Field(discriminator="kind")]
_RULES: TypeAdapter[list[Rule]] = TypeAdapter(list[Rule])


@dataclass(frozen=True)
class Exclusions:
    """Trials and participants that the rules hit.

    Attributes:
        names: Per trial, in the order given, the names of the rules that hit it,
            in the order of the rules.
        total: Number of trials.
        excluded: Number of trials that any rule hits.
        by_rule: Trials hit by each rule.
        only_by_rule: Trials hit by that rule and no other.
        by_condition: Condition to (trials, excluded).
        overlap: Combinations of two or more rules to trials.
        people: Participants whom rules about participants hit, with their names.
        people_by_rule: Rule about participants and condition to its participants
            with a trial in the condition; "" is all conditions together.
        clocks: Rule about time to the clocks that it read; "none" without a time.
        hits_by_clock: Rule about time to the clocks by which it hit trials.
    """

    names: list[tuple[str, ...]]
    by_rule: dict[str, int]
    only_by_rule: dict[str, int]
    by_condition: dict[str, tuple[int, int]]
    overlap: dict[tuple[str, ...], int]
    people: dict[str, tuple[str, ...]] = field(default_factory=dict)
    people_by_rule: dict[str, dict[str, int]] = field(default_factory=dict)
    clocks: dict[str, dict[str, int]] = field(default_factory=dict)
    hits_by_clock: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Trials looked at."""
        return len(self.names)

    @property
    def excluded(self) -> int:
        """Trials hit by at least one rule."""
        return sum(map(bool, self.names))

    @property
    def percent(self) -> float | None:
        """Excluded trials in percent of all; None when there are no trials."""
        return 100 * self.excluded / self.total if self.total else None

    def as_counts(self) -> dict[str, Any]:
        """Return the `counts` object of rules.json.

        Returns:
            Counts of trials (`total_trials`, `excluded`, `by_rule`, `by_condition`, `overlap` with names
            joined by semicolons), and `percent` of all, from 0 to 100. `clocks` and `hits_by_clock` are there
            if a rule reads a time, `participants` if a rule is about participants.
        """
        more: dict[str, Any] = {}
        if self.clocks:
            more["clocks"] = self.clocks
            more["hits_by_clock"] = self.hits_by_clock
        if self.people_by_rule:
            together = Counter(";".join(names) for names in self.people.values() if len(names) > 1)
            more["participants"] = {
                "excluded": len(self.people),
                "by_rule": self.people_by_rule,
                "overlap": dict(sorted(together.items())),
            }
        return {
            "total_trials": self.total,
            "excluded": self.excluded,
            "percent": self.percent,
            "by_rule": self.by_rule,
            "by_condition": {
                name: {"trials": trials, "excluded": hit} for name, (trials, hit) in self.by_condition.items()
            },
            "overlap": {";".join(names): count for names, count in self.overlap.items()},
            **more,
        }


def parse_rules(rules: Iterable[Any]) -> list[Rule]:
    """Parse rules from their JSON form.

    Args:
        rules: As in rules.json: mappings with `name`, `kind` and the fields of the kind; parsed rules stay.

    Returns:
        The rules in the same order.

    Raises:
        AnalysisError: A rule is malformed (the message names rule and field), or two have one name.
    """
    try:
        parsed = _RULES.validate_python(list(rules))
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise AnalysisError(f"rules.{field}: {problem}") from None
    for name, count in Counter(rule.name for rule in parsed).items():
        if count > 1:
            raise AnalysisError(f"rules: {count} rules have the name {name!r}")
    return parsed


def apply_rules(
    rules: Sequence[Any],
    trials: Iterable[Mapping[str, Any]],
    people: Mapping[str, Mapping[str, Any]] | None = None,
) -> Exclusions:
    """Apply the rules to trials, then those about participants.

    Args:
        rules: As in rules.json, or already parsed.
        trials: Submitted trials only; each with `condition`, `item_id`, the clock columns in milliseconds and
            the answers by question key, and `participant_id` if a rule is about participants. A missing time
            or answer (None, NaN or no key) never excludes.
        people: By participant_id what rules about participants read: `attention_failed`,
            `comprehension_tries`, `alike_items`, `duplicate_answers`, `duplicate_text`. `items_submitted` and
            `trials_excluded` are counted from `trials` unless they are given.

    Returns:
        The names of the rules that hit each trial, in the order of `trials`, and counts.

    Raises:
        AnalysisError: A rule is malformed, or two have one name.

    Examples:
        >>> rule = {"name": "too-fast", "kind": "min_time", "clock": "server", "milliseconds": 15000}
        >>> apply_rules([rule], [{"condition": "a", "item_id": "q", "server_ms": 900}]).names
        [('too-fast',)]
    """
    parsed = parse_rules(rules)
    of_trials = [rule for rule in parsed if not isinstance(rule, PersonRule)]
    rows: list[tuple[Any, str, tuple[str, ...]]] = []
    persons: dict[Any, dict[str, Any]] = {}
    timed = [rule for rule in parsed if isinstance(rule, _TimeRule)]
    clocks: dict[str, Counter[str]] = {rule.name: Counter() for rule in timed}
    hits_by_clock: dict[str, Counter[str]] = {rule.name: Counter() for rule in timed}
    for trial in trials:
        own = tuple(rule.name for rule in of_trials if rule.should_exclude(trial))
        who = trial.get("participant_id")
        rows.append((who, trial["condition"], own))
        person = persons.setdefault(
            who,
            {"participant_id": who, "flags": trial.get("flags"), "items_submitted": 0, "trials_excluded": 0},
        )
        person["items_submitted"] += 1
        person["trials_excluded"] += bool(own)
        for rule in timed:
            clock = rule.time_of(trial)[0] or "none"
            clocks[rule.name][clock] += 1
            if rule.name in own:
                hits_by_clock[rule.name][clock] += 1
    facts = people or {}
    hit = {who: list_person_hits(parsed, {**person, **facts.get(who, {})}) for who, person in persons.items()}
    counted = _count_exclusions(parsed, rows, {who: names for who, names in hit.items() if names})
    return replace(counted, clocks=_sort_counts(clocks), hits_by_clock=_sort_counts(hits_by_clock))


def list_person_hits(rules: Sequence[Rule], person: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the rules about participants that hit one.

    person: `participant_id` and `PERSON_COLUMNS`.
    """
    return tuple(
        rule.name for rule in rules if isinstance(rule, PersonRule) and rule.should_exclude_person(person)
    )


def _count_exclusions(
    rules: Sequence[Rule],
    rows: Sequence[tuple[Any, str, tuple[str, ...]]],
    people: dict[Any, tuple[str, ...]],
) -> Exclusions:
    """Count the rules that hit each trial, given as (who, condition, rules)."""
    order = {rule.name: index for index, rule in enumerate(rules)}
    names = [
        tuple(sorted((*own, *people.get(who, ())), key=order.__getitem__)) for who, _condition, own in rows
    ]
    seen = Counter(condition for _who, condition, _own in rows)
    hit = Counter(condition for (_who, condition, _own), hits in zip(rows, names, strict=True) if hits)
    combinations = Counter(names)
    pairs_by_rule: dict[str, set[tuple[Any, str]]] = {
        rule.name: set() for rule in rules if isinstance(rule, PersonRule)
    }
    for who, condition in {(who, condition) for who, condition, _own in rows if who in people}:
        for rule in people[who]:
            pairs_by_rule[rule] |= {(who, condition), (who, "")}
    return Exclusions(
        names=names,
        by_rule={rule.name: sum(rule.name in hits for hits in names) for rule in rules},
        only_by_rule={rule.name: combinations[(rule.name,)] for rule in rules},
        by_condition={condition: (seen[condition], hit[condition]) for condition in sorted(seen)},
        overlap={hits: combinations[hits] for hits in sorted(combinations) if len(hits) > 1},
        people=people,
        people_by_rule={
            rule: dict(sorted(Counter(condition for _who, condition in own).items()))
            for rule, own in pairs_by_rule.items()
        },
    )


def _sort_counts(clocks: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {rule: dict(sorted(counts.items())) for rule, counts in clocks.items()}


def _read_value(trial: Mapping[str, Any], column: str) -> Any:
    value = trial.get(column)
    return None if isinstance(value, float) and math.isnan(value) else value

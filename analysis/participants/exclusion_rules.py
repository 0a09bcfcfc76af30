"""Exclusion rules as data: the trials they hit, counts and overlaps.

A pure function over rows, so that the site's export and the report count
alike. No pandas here.

References:
    1. Schuff et al. (2020), section 6.4: too fast, too slow, known before.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ..io.errors import AnalysisError, first_problem

Clock = Literal["server", "client_total", "client_visible"]
CLOCK_COLUMNS: dict[Clock, str] = {
    "server": "server_ms",
    "client_total": "client_total_ms",
    "client_visible": "client_visible_ms",
}
CLOCK_LABELS: dict[Clock, str] = {
    "server": "the server's clock (submitted minus shown)",
    "client_total": "the browser's clock, whole time",
    "client_visible": "the browser's clock, time with the page visible",
}


class _Rule(BaseModel):
    """Base of the rules.

    Unknown fields are errors: they might have been meant to narrow the rule.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(min_length=1, pattern="^[^;]+$")


class MinTime(_Rule):
    """Hits a trial whose time is below the bound."""

    kind: Literal["min_time"]
    clock: Clock
    milliseconds: float = Field(ge=0)

    def hits(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        time = _value(trial, CLOCK_COLUMNS[self.clock])
        return time is not None and time < self.milliseconds

    def describe(self) -> str:
        """Describe the rule for readers."""
        return f"below {self.milliseconds / 1000:g} s on {CLOCK_LABELS[self.clock]}"


class MaxTime(_Rule):
    """Hits a trial whose time is above the bound."""

    kind: Literal["max_time"]
    clock: Clock
    milliseconds: float = Field(ge=0)

    def hits(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        time = _value(trial, CLOCK_COLUMNS[self.clock])
        return time is not None and time > self.milliseconds

    def describe(self) -> str:
        """Describe the rule for readers."""
        return f"above {self.milliseconds / 1000:g} s on {CLOCK_LABELS[self.clock]}"


class Answered(_Rule):
    """Hits a trial with this answer to a question of the item questionnaire."""

    kind: Literal["answered"]
    question: str
    value: bool | float | str

    def hits(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        answer = _value(trial, self.question)
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

    def hits(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        answer = _value(trial, self.question)
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

    kind: Literal["item"]
    item_id: str

    def hits(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        return bool(trial["item_id"] == self.item_id)

    def describe(self) -> str:
        """Describe the rule for readers."""
        return f"item {self.item_id}, for everybody"


class Flagged(_Rule):
    """Hits every trial of a participant who has the flag."""

    kind: Literal["flagged"]
    flag: str

    def hits(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        return self.flag in str(_value(trial, "flags") or "").split(";")

    def describe(self) -> str:
        """Describe the rule for readers."""
        return f"participants flagged for {self.flag}"


class ByHand(_Rule):
    """Hits every trial of participants that researchers excluded.

    No study freezes this rule: the export adds it, so that a report shows results with and without these
    participants.
    """

    kind: Literal["by_hand"]
    participants: tuple[str, ...]

    def hits(self, trial: Mapping[str, Any]) -> bool:
        """Test whether the rule excludes the trial."""
        return trial["participant_id"] in self.participants

    def describe(self) -> str:
        """Describe the rule for readers."""
        count = len(self.participants)
        who = "1 participant" if count == 1 else f"{count} participants"
        return f"{who} excluded by researchers, not by a rule that was declared (reasons: participants.csv)"


Rule = Annotated[
    MinTime | MaxTime | Answered | AnsweredNumber | WholeItem | Flagged | ByHand, Field(discriminator="kind")
]
_RULES: TypeAdapter[list[Rule]] = TypeAdapter(list[Rule])


@dataclass(frozen=True)
class Exclusions:
    """Trials that the rules hit.

    Attributes:
        names: Per trial, in the order given, the names of the rules that hit it,
            in the order of the rules.
        total: Number of trials.
        excluded: Number of trials that any rule hits.
        by_rule: Trials hit by each rule.
        only_by_rule: Trials hit by that rule and no other.
        by_condition: Condition to (trials, excluded).
        overlap: Combinations of two or more rules to trials.
    """

    names: list[tuple[str, ...]]
    by_rule: dict[str, int]
    only_by_rule: dict[str, int]
    by_condition: dict[str, tuple[int, int]]
    overlap: dict[tuple[str, ...], int]

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
        """Return the `counts` object of rules.json."""
        return {
            "total_trials": self.total,
            "excluded": self.excluded,
            "percent": self.percent,
            "by_rule": self.by_rule,
            "by_condition": {
                name: {"trials": trials, "excluded": hit} for name, (trials, hit) in self.by_condition.items()
            },
            "overlap": {";".join(names): count for names, count in self.overlap.items()},
        }


def parse_rules(rules: Iterable[Any]) -> list[Rule]:
    """Parse rules from their JSON form.

    Raises:
        AnalysisError: Names the rule and the field.
    """
    try:
        parsed = _RULES.validate_python(list(rules))
    except ValidationError as error:
        field, problem = first_problem(error)
        raise AnalysisError(f"rules.{field}: {problem}") from None
    for name, count in Counter(rule.name for rule in parsed).items():
        if count > 1:
            raise AnalysisError(f"rules: {count} rules have the name {name!r}")
    return parsed


def apply_rules(rules: Sequence[Any], trials: Iterable[Mapping[str, Any]]) -> Exclusions:
    """Apply the rules to trials.

    rules: as in rules.json, or already parsed.
    trials: submitted trials only; each with `condition`, `item_id`, the clock columns in milliseconds and
        the answers by question key, and `flags` joined by ; or `participant_id` where a rule reads them.
        A missing time or answer (None, NaN or no key) never excludes.

    Examples:
        >>> rule = {"name": "too-fast", "kind": "min_time", "clock": "server", "milliseconds": 15000}
        >>> apply_rules([rule], [{"condition": "a", "item_id": "q", "server_ms": 900}]).names
        [('too-fast',)]
    """
    parsed = parse_rules(rules)
    names: list[tuple[str, ...]] = []
    seen: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    for trial in trials:
        names.append(tuple(rule.name for rule in parsed if rule.hits(trial)))
        seen[trial["condition"]] += 1
        hit[trial["condition"]] += bool(names[-1])
    combinations = Counter(names)
    return Exclusions(
        names=names,
        by_rule={rule.name: sum(rule.name in hits for hits in names) for rule in parsed},
        only_by_rule={rule.name: combinations[(rule.name,)] for rule in parsed},
        by_condition={condition: (seen[condition], hit[condition]) for condition in sorted(seen)},
        overlap={hits: combinations[hits] for hits in sorted(combinations) if len(hits) > 1},
    )


def _value(trial: Mapping[str, Any], column: str) -> Any:
    value = trial.get(column)
    return None if isinstance(value, float) and math.isnan(value) else value

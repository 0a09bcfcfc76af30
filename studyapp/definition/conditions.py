"""Conditions, items and groups as a researcher writes them.

Pure: no Django.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from foundation.frozen_model import FrozenModel
from foundation.messages import say, value_error
from studyapp.definition.frozen.freezing import WITH_RATIONALE, WITH_TOKENS, Design, Explanation
from studyapp.definition.questions.display import NamedCondition

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\s;][^\n;]*$")]

_NAMED_BY: dict[str, str] = {
    "tokens": " (tokens)",
    "both": " (facts and tokens)",
    "none": " (no explanation)",
    "program": " (program)",
    "rationale": " (rationale)",
    "facts+rationale": " (facts and rationale)",
}


class ConditionDefinition(FrozenModel):
    """A condition: answers of a system or gold, with or without explanation."""

    system: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="name of the system whose answers and facts are shown"
    )
    ground_truth: bool = Field(default=False, description="show the gold answer and the gold facts instead")
    advice: bool = Field(
        default=True,
        description="with the task `advice`: `false` for the control condition, whose second page asks again "
        "without any answer of a system",
    )
    explanation: Explanation = Field(
        default="facts",
        description="explanation shown: `facts` (sentences), `tokens` (weighted pieces of text), `both`, "
        "`none`, `program` (the steps of a modular network, one by one), `rationale` (the free text "
        "that the system wrote), or `facts+rationale`",
    )
    name: Name = Field(default="", description="name in tables; by default the system's, or `ground truth`")
    label: Annotated[str, Field(max_length=200)] = Field(
        default="", description="name in figures and reports; the name if left out"
    )
    group: Name | Literal[""] = Field(
        default="", description="in a mixed design: participants of a group see all its conditions"
    )
    represents: bool = Field(
        default=False,
        description="of several conditions that show the same system with explanations, the one that stands "
        "for it in rankings of systems",
    )
    weight: Annotated[float, Field(gt=0, le=1000)] = Field(
        default=1.0, description="share of participants, relative to the other conditions"
    )
    quota: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None,
        description="live participants whom the condition takes; it can be changed while the study runs",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_names(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("advice") is False:
            named = {"explanation": "none", "name": "no advice", **data}
            return {"label": named["name"], **named}
        default = "ground truth" if data.get("ground_truth") is True else data.get("system")
        if isinstance(default, str):
            default += _NAMED_BY.get(str(data.get("explanation")), "")
        named = {"name": default, **data} if default is not None else data
        return {"label": named["name"], **named} if "name" in named else named

    @model_validator(mode="after")
    def _check_answer_source(self) -> Self:
        if not self.advice:
            self._check_control()
            return self
        if self.ground_truth == (self.system is not None):
            raise value_error("a condition has either a system or ground_truth: true")
        if self.ground_truth and self.represents:
            raise value_error("represents: the ground truth is not a system")
        if self.ground_truth and self.explanation in WITH_TOKENS | WITH_RATIONALE:
            raise value_error(
                "explanation: the ground truth has no token weights and no rationale; choose facts, "
                "program or none"
            )
        return self

    def _check_control(self) -> None:
        """Raise ValueError if a control condition shows something."""
        if self.ground_truth or self.system is not None or self.represents:
            raise value_error("a condition without advice has no system and no ground truth")
        if self.explanation != "none":
            raise value_error("explanation: a condition without advice has none")


class Stratified(FrozenModel):
    """Draws items with a share of correct answers of one system.

    Correct means exact match.
    """

    system: Annotated[str, Field(min_length=1)] = Field(
        description="the system whose answers are compared with gold"
    )
    correct: Annotated[float, Field(ge=0, le=1)] = Field(
        description="share of items that it answers correctly"
    )


class ItemsDefinition(FrozenModel):
    """The items: a number drawn by a seed, or question IDs."""

    count: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="number of questions to draw; 25 if left out"
    )
    seed: int | None = Field(default=None, description="seed of the draw; 1 if left out")
    stratify: Stratified | None = Field(
        default=None, description="draw with a share of correct answers: see below"
    )
    ids: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = Field(
        default=None, description="ids of the questions, in order, instead of drawing"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_draw(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("ids") is not None:
            return data
        return {**data, "count": data.get("count", 25), "seed": data.get("seed", 1)}

    @model_validator(mode="after")
    def _check_selection(self) -> Self:
        if self.ids is not None:
            if self.count is not None or self.seed is not None or self.stratify is not None:
                raise value_error("give either ids, or count and seed")
            check_unique(self.ids, say("ids"))
        return self

    @property
    def total(self) -> int:
        """Number of items."""
        return len(self.ids) if self.ids is not None else self.count or 0


class PracticeDefinition(ItemsDefinition):
    """Practice questions before the items, kept apart in the export.

    They are marked, and kept apart in the export.
    """

    stratify: None = Field(default=None, exclude=True, description="is for items only")


# The one group of a within-subject design.
ALL_CONDITIONS = "all conditions"


def group_conditions(
    design: Design, conditions: Sequence[ConditionDefinition]
) -> dict[str, list[ConditionDefinition]]:
    """Return the groups that participants are assigned to, by name.

    A group is one condition, all conditions, or those of a group of a mixed design.
    """
    groups: dict[str, list[ConditionDefinition]] = {}
    for condition in conditions:
        name = {"between": condition.name, "within": ALL_CONDITIONS, "mixed": condition.group}[design]
        groups.setdefault(name, []).append(condition)
    return groups


def check_groups(conditions: Sequence[ConditionDefinition], design: Design) -> None:
    """Raise ValueError if groups do not fit the design or mix weights."""
    for condition in conditions:
        if (design == "mixed") != bool(condition.group):
            raise ValueError(
                say(
                    "a mixed design needs a group for every condition; %(name)r has none",
                    name=condition.name,
                )
                if design == "mixed"
                else say("%(name)r has a group, which only a mixed design may have", name=condition.name)
            )
    for name, members in group_conditions(design, conditions).items():
        if len({condition.weight for condition in members}) > 1:
            raise value_error(
                "the conditions of %(name)r are assigned together and need the same weight", name=name
            )


def check_represents(conditions: Sequence[ConditionDefinition]) -> None:
    """Raise ValueError if two conditions stand for the same system."""
    counts = Counter(condition.system for condition in conditions if condition.represents)
    for system, times in counts.items():
        if times > 1:
            raise value_error("only one condition may have represents: true for %(system)r", system=system)


def check_advice(conditions: Sequence[ConditionDefinition], task: str) -> None:
    """Raise ValueError if a condition without advice is in another task."""
    for condition in conditions:
        if not condition.advice and task != "advice":
            raise value_error("%(name)r: advice: false is for the task advice only", name=condition.name)


def name_conditions(conditions: Sequence[ConditionDefinition]) -> list[NamedCondition]:
    """Return the conditions by name, as `only` and `except` see them."""
    return [
        NamedCondition(condition.name, condition.explanation != "none", condition.advice)
        for condition in conditions
    ]


def find_undecided_systems(conditions: Sequence[ConditionDefinition]) -> list[tuple[str, int]]:
    """Return systems that several conditions could stand for in rankings.

    Each comes with the index of the first of these conditions.
    """
    shown: dict[str, list[int]] = {}
    for index, condition in enumerate(conditions):
        if condition.system is not None:
            shown.setdefault(condition.system, []).append(index)
    undecided = []
    for system, indices in shown.items():
        explained = [index for index in indices if conditions[index].explanation != "none"]
        candidates = explained or indices
        if len(candidates) > 1 and not any(conditions[index].represents for index in indices):
            undecided.append((system, candidates[0]))
    return undecided


def check_unique(names: Sequence[str], kind: str) -> None:
    """Raise ValueError if a name is given twice."""
    for name, times in Counter(names).items():
        if times > 1:
            raise value_error("two %(kind)s are named %(name)r", kind=kind, name=name)

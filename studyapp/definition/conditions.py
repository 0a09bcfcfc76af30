"""Conditions and items as a researcher writes them, and the groups that participants are assigned to.

Pure: no Django.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from foundation.frozen_model import FrozenModel
from foundation.messages import say
from studyapp.definition.freezing import Design, Explanation

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\s;][^\n;]*$")]

_NAMED_BY: dict[str, str] = {
    "tokens": " (tokens)",
    "both": " (facts and tokens)",
    "none": " (no explanation)",
    "program": " (program)",
}


class ConditionDefinition(FrozenModel):
    """One arm: the answers of a system, or the gold answers, with an explanation or without."""

    system: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="name of the system whose answers and facts are shown"
    )
    ground_truth: bool = Field(default=False, description="show the gold answer and the gold facts instead")
    explanation: Explanation = Field(
        default="facts",
        description="how it is explained: `facts` (sentences), `tokens` (weighted pieces of text), `both`, "
        "`none`, or `program`, the steps by which a modular network came to it, one by one",
    )
    name: Name = Field(default="", description="name in tables; if left out the system's, or `ground truth`")
    label: Annotated[str, Field(max_length=200)] = Field(
        default="", description="name in figures and reports; the name if left out"
    )
    group: Name | Literal[""] = Field(
        default="", description="in a mixed design: participants of a group see all its conditions"
    )
    weight: Annotated[float, Field(gt=0, le=1000)] = Field(
        default=1.0, description="share of participants, relative to the other conditions"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_names(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        default = "ground truth" if data.get("ground_truth") is True else data.get("system")
        if isinstance(default, str):
            default += _NAMED_BY.get(str(data.get("explanation")), "")
        named = {"name": default, **data} if default is not None else data
        return {"label": named["name"], **named} if "name" in named else named

    @model_validator(mode="after")
    def _shows_one_thing(self) -> Self:
        if self.ground_truth == (self.system is not None):
            raise ValueError(say("a condition has either a system or ground_truth: true"))
        if self.ground_truth and self.explanation in ("tokens", "both"):
            raise ValueError(say("explanation: nobody knows weights of tokens for the ground truth"))
        return self


class Stratified(FrozenModel):
    """Draws so that a share of the items is answered correctly by one system, by exact match."""

    system: Annotated[str, Field(min_length=1)] = Field(description="the system whose answers are looked at")
    correct: Annotated[float, Field(ge=0, le=1)] = Field(
        description="share of items that it answers correctly"
    )


class ItemsDefinition(FrozenModel):
    """Which questions are items: a number drawn by seed, or the ids themselves."""

    count: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="how many questions are drawn; 25 if left out"
    )
    seed: int | None = Field(default=None, description="decides which questions are drawn; 1 if left out")
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
    def _one_way(self) -> Self:
        if self.ids is not None:
            if self.count is not None or self.seed is not None or self.stratify is not None:
                raise ValueError(say("give either ids, or count and seed"))
            check_unique(self.ids, say("ids"))
        return self

    @property
    def total(self) -> int:
        """How many items there are."""
        return len(self.ids) if self.ids is not None else self.count or 0


class PracticeDefinition(ItemsDefinition):
    """Questions shown before the items for practice.

    They are marked, and kept apart in the export.
    """

    stratify: None = Field(default=None, exclude=True, description="is for items only")


# The one group of a within-subject design.
ALL_CONDITIONS = "all conditions"


def groups_of(
    design: Design, conditions: Sequence[ConditionDefinition]
) -> dict[str, list[ConditionDefinition]]:
    """Return what participants are assigned to, by name: a condition, all conditions, or those of a mixed group."""
    groups: dict[str, list[ConditionDefinition]] = {}
    for condition in conditions:
        name = {"between": condition.name, "within": ALL_CONDITIONS, "mixed": condition.group}[design]
        groups.setdefault(name, []).append(condition)
    return groups


def check_groups(conditions: Sequence[ConditionDefinition], design: Design) -> None:
    """Raise ValueError if the groups do not fit the design, or are of several weights."""
    for condition in conditions:
        if (design == "mixed") != bool(condition.group):
            raise ValueError(
                say(
                    "in a mixed design every condition names its group, and %(name)r names none",
                    name=condition.name,
                )
                if design == "mixed"
                else say("%(name)r names a group, which only a mixed design has", name=condition.name)
            )
    for name, members in groups_of(design, conditions).items():
        if len({condition.weight for condition in members}) > 1:
            raise ValueError(
                say("the conditions of %(name)r need one weight, for they are assigned together", name=name)
            )


def check_unique(names: Sequence[str], kind: str) -> None:
    """Raise ValueError if a name is given twice."""
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(say("two %(kind)s are named %(name)r", kind=kind, name=name))

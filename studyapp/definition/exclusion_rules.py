"""Exclusion rules as a researcher writes them, and their frozen form.

Pure: no Django.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from analysis.participants.exclusion_rules import Clock, DeclaredRule
from foundation.frozen_model import FrozenModel, map_kinds
from foundation.messages import say, value_error
from studyapp.definition.conditions import Name
from studyapp.definition.participation.suspicion_flags import FLAGS, Flag
from studyapp.definition.questions.question import find_question
from studyapp.definition.questions.questionnaires import Questionnaire

_FROZEN_RULE: TypeAdapter[DeclaredRule] = TypeAdapter(DeclaredRule)
Bound = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)] | None


class _Definition(FrozenModel):
    name: Name = Field(description="name of the rule in every table")

    def freeze(self) -> DeclaredRule:
        """Return the rule as a launch freezes it."""
        return _FROZEN_RULE.validate_python(self.model_dump())


class _Time(_Definition):
    clock: Clock = Field(description="`server`, or in the browser `client_total` or `client_visible`")
    seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = Field(
        description="the bound, in seconds"
    )

    def freeze(self) -> DeclaredRule:
        """Return the rule as a launch freezes it, with its bound in milliseconds."""
        fields = self.model_dump(exclude={"seconds"})
        return _FROZEN_RULE.validate_python({**fields, "milliseconds": round(self.seconds * 1000)})


class MinTimeDefinition(_Time):
    """Excludes a trial that took less than the bound.

    Without a time of the browser, which needs JavaScript, the rule reads the server's clock.
    """

    kind: Literal["min_time"] = Field(description="`min_time`")


class MaxTimeDefinition(_Time):
    """Excludes a trial that took more than the bound.

    Without a time of the browser, which needs JavaScript, the rule reads the server's clock.
    """

    kind: Literal["max_time"] = Field(description="`max_time`")


class AnsweredDefinition(_Definition):
    """Excludes a trial by the answer to an item question."""

    kind: Literal["answered"] = Field(description="`answered`")
    question: str = Field(description="key of the item question")
    value: bool | int | float | str = Field(
        description="the answer that excludes: true, false, a scale point, a choice or a number"
    )


class AnsweredNumberDefinition(_Definition):
    """Excludes a trial by a number answered, within bounds (included)."""

    kind: Literal["answered_number"] = Field(description="`answered_number`")
    question: str = Field(description="key of an item question that is answered by a number")
    at_least: Bound = Field(default=None, description="the smallest number that excludes")
    at_most: Bound = Field(default=None, description="the largest number that excludes")

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise value_error("give at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise value_error(
                "at_least is larger than at_most; to exclude numbers outside two bounds, make two rules"
            )
        return self


class ItemDefinition(_Definition):
    """Excludes every trial of one item."""

    kind: Literal["item"] = Field(description="`item`")
    item_id: str = Field(description="ID of an item of the study")


class FlaggedDefinition(_Definition):
    """Excludes every trial of a participant who has a flag."""

    kind: Literal["flagged"] = Field(description="`flagged`")
    flag: Flag = Field(description=", ".join(f"`{flag}`" for flag in FLAGS))


class FailedAttentionDefinition(_Definition):
    """Excludes a participant who failed at least so many attention items."""

    kind: Literal["failed_attention"] = Field(description="`failed_attention`")
    at_least_failed: Annotated[int, Field(ge=1, le=100)] = Field(
        description="the fewest failed items that exclude"
    )


class ExcludedTrialsDefinition(_Definition):
    """Excludes a participant of whose trials the other rules exclude too many.

    Rules about participants do not count.
    """

    kind: Literal["excluded_trials"] = Field(description="`excluded_trials`")
    more_than_percent: Annotated[float, Field(ge=0, lt=100, allow_inf_nan=False)] = Field(
        description="the percentage of excluded trials above which the participant is excluded"
    )


class ComprehensionTriesDefinition(_Definition):
    """Excludes a participant who used many tries of the comprehension check."""

    kind: Literal["comprehension_tries"] = Field(description="`comprehension_tries`")
    at_least_tries: Annotated[int, Field(ge=1, le=100)] = Field(description="the fewest tries that exclude")


class StraightLiningDefinition(_Definition):
    """Excludes a participant who answered the scales of many items alike.

    It counts the largest number of items at which the answers to all rating scales are the same.
    """

    kind: Literal["straight_lining"] = Field(description="`straight_lining`")
    at_least_items: Annotated[int, Field(ge=2, le=10_000)] | None = Field(
        default=None, description="the fewest items with the same answers to all rating scales"
    )
    at_least_percent: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        default=None, description="instead, the lowest percentage of such items (at least 5 items)"
    )

    @model_validator(mode="after")
    def _check_one_bound(self) -> Self:
        if (self.at_least_items is None) == (self.at_least_percent is None):
            raise value_error("give at_least_items or at_least_percent, not both")
        return self


class DuplicateAnswersDefinition(_Definition):
    """Excludes every participant whose answers another one gave too.

    Participants are compared within version and mode.
    """

    kind: Literal["duplicate_answers"] = Field(description="`duplicate_answers`")
    of: Literal["all", "text"] = Field(
        description="`all` answers to at least 5 items, or the same free `text` anywhere"
    )


RuleDefinition = Annotated[
    MinTimeDefinition
    | MaxTimeDefinition
    | AnsweredDefinition
    | AnsweredNumberDefinition
    | ItemDefinition
    | FlaggedDefinition
    | FailedAttentionDefinition
    | ExcludedTrialsDefinition
    | ComprehensionTriesDefinition
    | StraightLiningDefinition
    | DuplicateAnswersDefinition,
    Field(discriminator="kind"),
]
KINDS = map_kinds(RuleDefinition)

SCALE_KINDS = ("likert", "slider", "matrix")  # of questions whose answers straight-lining compares

# Schuff et al. 2020, section 6.4. Their released times were measured by the browser too.
RULES_2020: list[RuleDefinition] = [
    MinTimeDefinition(name="too-fast", kind="min_time", clock="client_total", seconds=15),
    MaxTimeDefinition(name="too-slow", kind="max_time", clock="client_total", seconds=300),
    AnsweredDefinition(name="known-before", kind="answered", question="known_before", value=True),
]

# Ours: pictures are seen faster than articles are read, and no answer about them was known before.
RULES_PICTURES: list[RuleDefinition] = [
    MinTimeDefinition(name="too-fast", kind="min_time", clock="client_total", seconds=5),
    MaxTimeDefinition(name="too-slow", kind="max_time", clock="client_total", seconds=300),
]


def check_question(rule: AnsweredDefinition | AnsweredNumberDefinition, questionnaire: Questionnaire) -> None:
    """Raise ValueError if a rule does not fit the item questions."""
    where = say("rule %(name)r", name=rule.name)
    question = find_question(questionnaire.item, rule.question, where)
    if isinstance(rule, AnsweredNumberDefinition):
        if question.kind not in ("number", "slider"):
            raise value_error(
                "rule %(name)r: %(key)s is not answered by a number", name=rule.name, key=rule.question
            )
        return
    if question.kind in ("multiple", "text"):
        raise value_error(
            "rule %(name)r: %(key)s takes several answers or text, which a rule cannot name",
            name=rule.name,
            key=rule.question,
        )
    question.check_answer(rule.value, where)


def check_person_rule(
    rule: RuleDefinition, questionnaire: Questionnaire, *, attention: bool, comprehension: bool
) -> None:
    """Raise ValueError if a rule reads what the study does not ask."""
    kinds = {question.kind for question in questionnaire.item}
    asked = {question.kind for question in (*questionnaire.item, *questionnaire.post_survey)}
    if isinstance(rule, FailedAttentionDefinition) and not attention:
        raise value_error("rule %(name)r: the study has no attention item", name=rule.name)
    if isinstance(rule, ComprehensionTriesDefinition) and not comprehension:
        raise value_error("rule %(name)r: the study has no comprehension check", name=rule.name)
    if isinstance(rule, StraightLiningDefinition) and not kinds & {*SCALE_KINDS}:
        raise value_error("rule %(name)r: no item question has a rating scale", name=rule.name)
    if isinstance(rule, DuplicateAnswersDefinition) and rule.of == "text" and "text" not in asked:
        raise value_error("rule %(name)r: no question is answered by free text", name=rule.name)


def check_item_rule(rule: ItemDefinition, item_ids: Sequence[str]) -> None:
    """Raise ValueError if the rule names an item that the study lacks."""
    if rule.item_id not in item_ids:
        raise value_error(
            "rule %(name)r: %(item)r is not an item of this study", name=rule.name, item=rule.item_id
        )

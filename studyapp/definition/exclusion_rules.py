"""Exclusion rules as a researcher writes them, and their frozen form.

Pure: no Django.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from foundation.frozen_model import FrozenModel, kinds_of
from foundation.messages import say, value_error
from studyapp.definition import freezing
from studyapp.definition.conditions import Name
from studyapp.definition.freezing import Clock
from studyapp.definition.questionnaires import Questionnaire, asked_by

_FROZEN_RULE: TypeAdapter[freezing.Rule] = TypeAdapter(freezing.Rule)


class _Definition(FrozenModel):
    name: Name = Field(description="name of the rule in every table")

    def freeze(self) -> freezing.Rule:
        """Return the rule as a launch freezes it."""
        return _FROZEN_RULE.validate_python(self.model_dump())


class _Time(_Definition):
    clock: Clock = Field(description="`server`, or in the browser `client_total` or `client_visible`")
    seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = Field(
        description="the bound, in seconds"
    )

    def freeze(self) -> freezing.Rule:
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


class AnsweredDefinition(_Definition, freezing.AnsweredRule):
    """Excludes a trial by the answer to an item question."""


class AnsweredNumberDefinition(_Definition, freezing.AnsweredNumberRule):
    """Excludes a trial by a number answered, within bounds (included)."""

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise value_error("give at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise value_error(
                "at_least is larger than at_most; to exclude numbers outside two bounds, make two rules"
            )
        return self


class ItemDefinition(_Definition, freezing.ItemRule):
    """Excludes every trial of one item."""


class FlaggedDefinition(_Definition, freezing.FlaggedRule):
    """Excludes every trial of a participant who has a flag."""


class FailedAttentionDefinition(_Definition, freezing.FailedAttentionRule):
    """Excludes a participant who failed at least so many attention items."""


class ExcludedTrialsDefinition(_Definition, freezing.ExcludedTrialsRule):
    """Excludes a participant of whose trials the other rules exclude too many.

    Rules about participants do not count.
    """


class ComprehensionTriesDefinition(_Definition, freezing.ComprehensionTriesRule):
    """Excludes a participant who used many tries of the comprehension check."""


class StraightLiningDefinition(_Definition, freezing.StraightLiningRule):
    """Excludes a participant who answered the scales of many items alike.

    It counts the largest number of items at which the answers to all rating scales are the same.
    """


class DuplicateAnswersDefinition(_Definition, freezing.DuplicateAnswersRule):
    """Excludes every participant whose answers another one gave too.

    Participants are compared within version and mode.
    """


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
KINDS = kinds_of(RuleDefinition)

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
    question = asked_by(questionnaire.item, rule.question, where)
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

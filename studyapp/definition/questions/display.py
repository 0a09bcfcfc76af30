"""Conditions and earlier answers that decide who is asked a question.

Pure: no Django.
"""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, NamedTuple, Protocol, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from foundation.frozen_model import FrozenModel, Growing
from foundation.messages import say, value_error

# Strict, so that true stays a truth value and 1 a scale point.
GivenValue = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True)]
    | Annotated[float, Field(strict=True)]
    | Annotated[str, Field(strict=True)]
)
Given = GivenValue | list[Annotated[str, Field(strict=True)]]

# Words for all conditions that show an explanation, and for all others.
EXPLAINED, UNEXPLAINED = "explained", "unexplained"
# The word for all conditions that show an answer of a system: not the control without advice.
ADVISED = "advised"


def _wrap_in_list(value: Any) -> Any:
    return value if isinstance(value, list) or value is None else [value]


# Empty in a frozen study if no condition is left; a definition names at least one.
Names = Annotated[list[str] | None, BeforeValidator(_wrap_in_list)]
ONLY = "conditions, by name, or `explained`, `unexplained` or `advised`: {what} in these only"
EXCEPT = "in place of `only`: conditions in which {what} is left out"


class Range(FrozenModel):
    """The numbers that pass."""

    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise value_error("give at_least, at_most or both")
        return self

    def holds(self, number: float) -> bool:
        """Return whether a number lies within the bounds, both included."""
        return is_within(number, self.at_least, self.at_most)


def is_within(number: float, low: float | None, high: float | None) -> bool:
    """Return whether a number lies within bounds; None is no bound."""
    return (low is None or number >= low) and (high is None or number <= high)


def is_same(answer: object, other: object) -> bool:
    """Return whether two answers are the same; True is not 1."""
    if isinstance(answer, list) and isinstance(other, list):
        return sorted(answer) == sorted(other)
    return isinstance(answer, bool) == isinstance(other, bool) and answer == other


class ShowIf(Growing):
    """The earlier answer that a question depends on.

    It is asked if the earlier question was asked too, and answered in one of these ways.
    """

    question: str = Field(description="key of an earlier question of the same part")
    is_: Annotated[
        Annotated[list[GivenValue], Field(min_length=1)] | None,
        BeforeValidator(_wrap_in_list),
    ] = Field(
        default=None,
        alias="is",
        description="the answer, or a list of answers: `true`, `false`, a scale point, the value of a choice",
    )
    at_least: float | None = Field(default=None, description="for a number or scale: the smallest answer")
    at_most: float | None = Field(default=None, description="for a number or scale: the largest answer")

    @model_validator(mode="after")
    def _check_is_or_bounds(self) -> Self:
        if (self.is_ is None) == (self.at_least is None and self.at_most is None):
            raise value_error("give either is, or at_least and at_most")
        return self

    def holds(self, answer: object) -> bool:
        """Return whether the earlier answer is one of those.

        Of several choices, one is enough; a missing answer is none.
        """
        if answer is None:
            return False
        if self.is_ is not None:
            given = answer if isinstance(answer, list) else [answer]
            return any(is_same(value, other) for value in given for other in self.is_)
        is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
        return is_number and is_within(float(answer), self.at_least, self.at_most)  # type: ignore[arg-type]


class InstructionPart(Growing):
    """A part of the instructions, for all conditions or for some."""

    text: Annotated[str, Field(min_length=1)] = Field(
        description="plain text; an empty line starts a paragraph"
    )
    only: Names = Field(default=None, description=ONLY.format(what="shown"))
    except_: Names = Field(default=None, alias="except", description=EXCEPT.format(what="the part"))


def _detect_form(value: Any) -> str:
    return "parts" if isinstance(value, list) else "text"


# A text, or parts; discriminated by form, so that an error is about the form that was meant.
Instructions = Annotated[
    Annotated[str, Tag("text")] | Annotated[list[InstructionPart], Tag("parts")], Discriminator(_detect_form)
]
TranslatedInstructions = Annotated[
    Annotated[str, Tag("text")] | Annotated[list[Annotated[str, Field(min_length=1)]], Tag("parts")],
    Discriminator(_detect_form),
]


class NamedCondition(NamedTuple):
    """A condition by its name, and whether it shows explanation and answer."""

    name: str
    is_explained: bool
    is_advised: bool = True


def is_for_condition(only: list[str] | None, excepted: list[str] | None, condition: NamedCondition) -> bool:
    """Return whether what is so limited belongs to a condition."""
    words = {condition.name, EXPLAINED if condition.is_explained else UNEXPLAINED}
    words |= {ADVISED} if condition.is_advised else set()
    return not words.isdisjoint(only) if only is not None else words.isdisjoint(excepted or ())


def check_names(
    only: list[str] | None, excepted: list[str] | None, conditions: Collection[NamedCondition], where: str
) -> None:
    """Raise ValueError if a limit names no condition, or is none."""
    if only is not None and excepted is not None:
        raise value_error("%(where)s: give either only or except", where=where)
    if [] in (only, excepted):
        raise value_error("%(where)s: only and except name at least one condition", where=where)
    names = [*(condition.name for condition in conditions), EXPLAINED, UNEXPLAINED]
    for name in only or excepted or ():
        if name not in (*names, ADVISED):
            raise value_error(
                "%(where)s: there is no condition %(name)r; there is %(known)s",
                where=where,
                name=name,
                known=", ".join(names),
            )


# The fields that questions of a part may have; other parts are not asked so.
_CONDITIONAL = frozenset({"only", "except_", "unexplained_text"})
_LAID_OUT = frozenset({"heading", "page_break"})
_FIELDS_OF: dict[str, frozenset[str]] = {
    "screening": frozenset({"show_if", "prefer_not_to_say", *_LAID_OUT}),
    "comprehension": frozenset(),
    "item": frozenset({"show_if", "prefer_not_to_say", *_CONDITIONAL}),
    "pre_survey": frozenset({"show_if", "prefer_not_to_say", *_CONDITIONAL, *_LAID_OUT}),
    "post_survey": frozenset({"show_if", "prefer_not_to_say", *_CONDITIONAL, *_LAID_OUT}),
}
_RESTRICTED = (*sorted(_CONDITIONAL), "show_if", "prefer_not_to_say", *sorted(_LAID_OUT))


class _Asked(Protocol):
    """A question, as far as its place among others goes."""

    @property
    def key(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def show_if(self) -> ShowIf | None: ...

    @property
    def parts(self) -> "tuple[_Asked, ...]": ...

    def check_answer(self, answer: Any, name: str) -> None: ...


def is_field_allowed(part: str, field: str) -> bool:
    """Return whether questions of a part may have a field."""
    return field not in _RESTRICTED or field in _FIELDS_OF.get(part, ())


def check_display(questions: Sequence[_Asked], part: str) -> None:
    """Raise ValueError if a question is shown as its part does not allow.

    An earlier question that ``show_if`` names must exist, and be able to have these answers.
    """
    earlier: dict[str, _Asked] = {}
    keys = [part.key for question in questions for part in question.parts]
    for question in questions:
        for field in _RESTRICTED:
            if getattr(question, field) and not is_field_allowed(part, field):
                raise value_error(
                    "%(name)s: %(key)s cannot have %(field)s here",
                    name=part,
                    key=question.key,
                    field=field.rstrip("_"),
                )
        if question.show_if is not None:
            _check_show_if(question.key, question.show_if, earlier, keys, part)
        earlier |= {part.key: part for part in question.parts}


def _check_show_if(
    key: str, shown: ShowIf, earlier: dict[str, _Asked], keys: Sequence[str], part: str
) -> None:
    where = say("%(name)s: show_if of %(key)s", name=part, key=key)
    if shown.question not in earlier:
        raise ValueError(
            say("%(where)s: %(other)r does not come before it", where=where, other=shown.question)
            if shown.question in keys
            else say(
                "%(where)s: there is no question %(other)r; earlier questions: %(known)s",
                where=where,
                other=shown.question,
                known=", ".join(earlier) or say("none"),
            )
        )
    asked = earlier[shown.question]
    if shown.is_ is None and asked.kind not in ("likert", "number", "slider"):
        raise value_error("%(where)s: %(other)s is not answered by a number", where=where, other=asked.key)
    for value in shown.is_ or ():
        alone = [value] if asked.kind == "multiple" and isinstance(value, str) else value
        asked.check_answer(alone, where)

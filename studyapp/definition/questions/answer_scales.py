"""The scales of questions: what can be answered, and its labels.

Pure: no Django.
"""

import math
from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from foundation.frozen_model import FrozenModel, Growing
from foundation.messages import value_error

AGREEMENT = [
    "Strongly disagree",
    "Disagree",
    "Neither agree nor disagree",
    "Agree",
    "Strongly agree",
]


MOST_STEPS = 1000  # of a slider: finer ones cannot be hit
MOST_COLUMNS = 11  # of a matrix: more do not stand side by side
Label = Annotated[str, Field(min_length=1, max_length=100)]


class Rating(FrozenModel):
    """Points from 1 on with their labels; what a rating and a matrix share."""

    points: Annotated[int, Field(ge=2, le=101)] = 5
    labels: list[Label] = AGREEMENT

    @model_validator(mode="before")
    @classmethod
    def _label_between_ends(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "ends" not in data:
            return data
        ends, points = data["ends"], data.get("points", 5)
        if "labels" in data:
            raise value_error("give either labels or ends")
        if not (isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, str) for end in ends)):
            raise value_error("ends must be two texts: of the first point and of the last")
        rest = {key: value for key, value in data.items() if key != "ends"}
        if not isinstance(points, int) or not 2 <= points <= 101:
            return rest  # the field itself says what is wrong with it
        between = [str(point) for point in range(2, points)]
        return {**rest, "labels": [f"1 – {ends[0]}", *between, f"{points} – {ends[1]}"]}

    @model_validator(mode="after")
    def _check_label_count(self) -> Self:
        if len(self.labels) != self.points:
            raise value_error(
                "%(points)s points need %(points)s labels, not %(n)s", points=self.points, n=len(self.labels)
            )
        return self


class LikertScale(Rating):
    """A rating scale from 1 to ``points``, lowest first, each with a label.

    ``ends`` in place of the labels names the first and the last point: the labels are then "1 – LOW", "2" …
    """


class Choice(FrozenModel):
    """One of the choices of a question."""

    value: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=40)] = Field(
        description="stored value: lower-case letters, digits, `_`"
    )
    label: Annotated[str, Field(min_length=1, max_length=300)] = Field(description="what participants read")


def _list_choices(choices: Any) -> Any:
    """Turn a mapping into a list, because the database keeps no order."""
    if not isinstance(choices, dict):
        return choices
    return [{"value": value, "label": label} for value, label in choices.items()]


def _check_values(choices: list[Choice]) -> list[Choice]:
    """Raise ValueError if two choices have the same value."""
    for value, times in Counter(choice.value for choice in choices).items():
        if times > 1:
            raise value_error("two choices have the value %(value)r", value=value)
    return choices


class Choices(FrozenModel):
    """Choices from a list; what single and multiple choice share."""

    choices: Annotated[list[Choice], Field(min_length=2, max_length=100)] = Field(
        description="what can be chosen, in order: a mapping of value to label, or a list of both"
    )

    _mapping = field_validator("choices", mode="before")(_list_choices)
    _values_differ = field_validator("choices")(_check_values)


class SingleChoice(Choices):
    """One of several choices."""

    kind: Literal["single"] = Field(description="`single`")


class MultipleChoice(Choices):
    """Any number of several choices.

    The answer is stored as a sorted list; every choice has a column of its own.
    """

    kind: Literal["multiple"] = Field(description="`multiple`")


class NumberScale(FrozenModel):
    """A number that participants type.

    It is stored as an integer if bounds and step are whole.
    """

    kind: Literal["number"] = Field(description="`number`")
    min: Annotated[float, Field(ge=-1e9, le=1e9)] = Field(description="smallest number accepted")
    max: Annotated[float, Field(ge=-1e9, le=1e9)] = Field(description="largest number accepted")
    step: Annotated[float, Field(gt=0, le=1e9)] = Field(default=1.0, description="distance between numbers")
    unit: Annotated[str, Field(max_length=40)] | None = Field(
        default=None, description="unit, shown behind the field and in the codebook"
    )

    @model_validator(mode="after")
    def _bounds_hold_something(self) -> Self:
        if self.max <= self.min:
            raise value_error("max must be larger than min")
        if self.step > self.max - self.min:
            raise value_error("step is larger than the distance from min to max")
        return self

    @property
    def is_whole(self) -> bool:
        """True if every number that it takes is an integer."""
        return self.min.is_integer() and self.step.is_integer()

    def read(self, sent: str) -> int | float | None:
        """Return the number that was typed; None if the scale lacks it.

        A comma counts as a decimal point.
        """
        try:
            number = float(sent.replace(",", ".")) if sent.isascii() and "_" not in sent else math.nan
        except ValueError:
            return None
        if not self.min <= number <= self.max:
            return None
        steps = (number - self.min) / self.step
        if not math.isclose(steps, round(steps), abs_tol=1e-6):
            return None
        return int(number) if self.is_whole else number


class SliderScale(NumberScale):
    """A number on a line, chosen by moving a slider.

    Nothing is chosen until the participant moves or clicks it: an untouched slider is missing.
    """

    kind: Literal["slider"] = Field(description="`slider`")  # type: ignore[assignment]  # a number otherwise
    ends: Annotated[list[Label], Field(max_length=2)] = Field(
        default=[], description="labels of the two ends, the lowest first"
    )
    start: float | None = Field(
        default=None,
        description="number that is chosen from the start; `none` for no choice until it is moved",
    )

    @field_validator("start", mode="before")
    @classmethod
    def _parse_start(cls, start: Any) -> Any:
        return None if start == "none" else start

    @model_validator(mode="after")
    def _check_slider(self) -> Self:
        if len(self.ends) == 1:
            raise value_error("ends must be two texts: of the lowest number and of the highest")
        if (self.max - self.min) / self.step > MOST_STEPS:
            raise value_error("a slider has at most %(n)s steps", n=MOST_STEPS)
        if self.start is not None and self.read(repr(self.start)) is None:
            raise value_error("start is not a number of the slider")
        return self


class MatrixRow(FrozenModel):
    """One of the rows of a matrix."""

    key: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=40)] = Field(
        description="ending of the column `KEY_ROW`: lower-case letters, digits, `_`"
    )
    text: Annotated[str, Field(min_length=1, max_length=300)] = Field(description="what participants read")


class MatrixScale(Rating, Growing):
    """Rows that are answered on one rating scale, or by the same choices.

    Every row has a column of its own, `KEY_ROW`.
    """

    kind: Literal["matrix"] = Field(description="`matrix`")
    rows: Annotated[list[MatrixRow], Field(min_length=1, max_length=30)] = Field(
        description="the rows, in order: a mapping of key to text, or a list of both"
    )
    choices: Annotated[list[Choice], Field(max_length=11)] = Field(
        default=[], description="choices in place of points: a mapping of value to label, or a list of both"
    )

    _mapping = field_validator("choices", mode="before")(_list_choices)
    _values_differ = field_validator("choices")(_check_values)

    @field_validator("rows", mode="before")
    @classmethod
    def _row_list(cls, rows: Any) -> Any:
        return [{"key": key, "text": text} for key, text in rows.items()] if isinstance(rows, dict) else rows

    @model_validator(mode="after")
    def _is_one_question_per_row(self) -> Self:
        for key, times in Counter(row.key for row in self.rows).items():
            if times > 1:
                raise value_error("two rows have the key %(key)r", key=key)
        if self.points > MOST_COLUMNS:
            raise value_error("a matrix has at most %(n)s points", n=MOST_COLUMNS)
        if len(self.choices) == 1:
            raise value_error("a matrix needs two or more choices")
        if self.choices and {"points", "labels"} & self.model_fields_set:
            raise value_error("give either points or choices")
        return self

    @property
    def answers(self) -> LikertScale | SingleChoice:
        """The scale of each row."""
        if self.choices:
            return SingleChoice(kind="single", choices=self.choices)
        return LikertScale(points=self.points, labels=self.labels)


class RankingScale(Choices):
    """Choices that participants put in order.

    Every choice has a column of its own, `KEY_CHOICE`, with its rank: 1 for the first.
    """

    kind: Literal["ranking"] = Field(description="`ranking`")
    choices: Annotated[list[Choice], Field(min_length=2, max_length=15)] = Field(
        description="what is ranked, 2 to 15: a mapping of value to label, or a list of both"
    )
    top: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="number of first ranks to give; every choice is ranked if left out"
    )

    @model_validator(mode="after")
    def _ranks_some(self) -> Self:
        if self.top is not None and self.top >= len(self.choices):
            raise value_error("top must be smaller than the number of choices")
        return self

    @property
    def ranks(self) -> int:
        """The number of choices that get a rank."""
        return self.top or len(self.choices)


class TextField(Growing):
    """A text that participants type, without leading and trailing blanks."""

    FIRST = frozenset({"max_length", "lines"})

    kind: Literal["text"] = Field(description="`text`")
    max_length: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1000, description="maximum number of characters"
    )
    lines: Annotated[int, Field(ge=1, le=30)] = Field(default=3, description="height of the field, in lines")
    min_length: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=0, description="minimum number of characters, if anything is entered"
    )
    counter: bool = Field(default=False, description="`true` to count the characters while they are typed")

    @model_validator(mode="after")
    def _lengths_fit(self) -> Self:
        if self.min_length > self.max_length:
            raise value_error("min_length is larger than max_length")
        return self


def _detect_scale_tag(value: Any) -> str:
    if isinstance(value, str):
        return "yes_no"
    kind = value.get("kind", "likert") if isinstance(value, dict) else getattr(value, "kind", "likert")
    return str(kind)


# Discriminated by form, so that an error is about the kind of scale that was meant.
Scale = Annotated[
    Annotated[Literal["yes_no"], Tag("yes_no")]
    | Annotated[LikertScale, Tag("likert")]
    | Annotated[SingleChoice, Tag("single")]
    | Annotated[MultipleChoice, Tag("multiple")]
    | Annotated[NumberScale, Tag("number")]
    | Annotated[SliderScale, Tag("slider")]
    | Annotated[MatrixScale, Tag("matrix")]
    | Annotated[RankingScale, Tag("ranking")]
    | Annotated[TextField, Tag("text")],
    Discriminator(_detect_scale_tag),
]
Kind = Literal["yes_no", "likert", "single", "multiple", "number", "slider", "matrix", "ranking", "text"]

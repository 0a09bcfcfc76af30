"""A question for participants: wording, scale, role, answers and columns.

Pure: no Django. A question declares the columns it fills, so that the codebook is made from here.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from analysis.participants.study_version import Role
from foundation.frozen_model import FrozenModel, Growing
from foundation.messages import say, value_error
from studyapp.definition.questions.answer_scales import (
    Choices,
    Kind,
    LikertScale,
    MatrixScale,
    MultipleChoice,
    NumberScale,
    RankingScale,
    Scale,
    SingleChoice,
    TextField,
)
from studyapp.definition.questions.display import EXCEPT, ONLY, Names, ShowIf

# A stored answer. Several choices are a sorted list; an unanswered question stores nothing.
Answer = bool | int | float | str | list[str]

RANK = "rank"  # unit of a ranked choice

CLOCK_COLUMNS = ("client_total_ms", "client_visible_ms", "client_hidden_ms", "hidden_count")
# Names already used by the tables, the forms or the columns beside the answers.
RESERVED_KEYS = frozenset(
    {
        *CLOCK_COLUMNS,
        *("participant_id", "mode", "version", "condition", "item_id", "position", "shown_at"),
        *("submitted_at", "server_ms", "first_interaction_ms", "system_correct", "excluded_by"),
        *("csrfmiddlewaretoken", "page_key", "consent"),
    }
)


class Column(NamedTuple):
    """A column of an exported table, with unit and values if it has them."""

    name: str
    type: Literal["boolean", "integer", "number", "string"]
    unit: str | None
    values: tuple[tuple[Answer, str], ...]
    meaning: str
    is_free_text: bool = False


# A form sends this in place of an answer; no choice has this value, because values have no hyphen.
DECLINED = "prefer-not-to-say"


IMAGE_FILE = r"^[0-9a-f]{64}\.[a-z0-9]{1,5}$"


class QuestionImage(FrozenModel):
    """An image above the answers, of those that the site holds.

    An image of a dataset has its name at the end of its address.
    """

    file: Annotated[str, Field(pattern=IMAGE_FILE)] = Field(
        description="name of the image: the SHA-256 of its bytes, and its ending"
    )
    alt: Annotated[str, Field(min_length=1, max_length=500)] = Field(
        description="what the image shows, for participants who cannot see it"
    )

    @property
    def path(self) -> str:
        """The path in the image folder."""
        return f"{self.file[:2]}/{self.file}"


class Question(Growing):
    """A question for participants.

    Measures find a question by its ``role``, whatever its key.
    """

    FIRST = frozenset({"role", "required"})

    key: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
    text: Annotated[str, Field(min_length=1, max_length=1000)]
    scale: Scale
    role: Role | None = None
    required: bool = True
    only: Names = Field(default=None, description=ONLY.format(what="asked"))
    except_: Names = Field(default=None, alias="except", description=EXCEPT.format(what="the question"))
    unexplained_text: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="the wording for participants who see no explanations; `text` if left out"
    )
    show_if: ShowIf | None = Field(
        default=None, description="ask only after certain answers to an earlier question, see below"
    )
    prefer_not_to_say: bool = Field(
        default=False,
        description="offer “I prefer not to say”: stored as no answer, and as true in the column "
        "`KEY_declined`",
    )
    random_choices: bool = Field(
        default=False, description="show the choices in an order drawn for each participant"
    )
    fixed: Annotated[int, Field(ge=0, le=98)] = Field(
        default=0, description="with `random_choices`: how many of the last choices stay at the end"
    )
    heading: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="heading of the section that begins with this question"
    )
    heading_text: Annotated[str, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="text below the heading"
    )
    page_break: bool = Field(default=False, description="begin a new page with this question")
    image: QuestionImage | None = Field(
        default=None, description="an image above the answers, with `file` and `alt`"
    )

    @model_validator(mode="after")
    def _display_fits(self) -> Self:
        if self.only is not None and self.except_ is not None:
            raise value_error("give either only or except")
        count = len(self.choices) if isinstance(self.scale, Choices) else 0
        if self.random_choices and count < 2:
            raise value_error("random_choices is for questions with a list of choices")
        if self.fixed and not self.random_choices:
            raise value_error("fixed is for questions with random_choices")
        if self.random_choices and self.fixed > count - 2:
            raise value_error("fixed leaves fewer than two choices to shuffle")
        if self.heading_text is not None and self.heading is None:
            raise value_error("heading_text is for questions with a heading")
        return self

    @model_validator(mode="after")
    def _key_is_free(self) -> Self:
        if self.key in RESERVED_KEYS or self.key.startswith("changes_"):
            raise value_error("the key %(key)r is the name of another column; choose another", key=self.key)
        if self.role is not None and self.kind not in ("yes_no", "likert"):
            raise value_error("the role %(role)r needs a rating scale or yes_no", role=self.role)
        return self

    @property
    def kind(self) -> Kind:
        """The kind of the scale."""
        if isinstance(self.scale, str):
            return "yes_no"
        return "likert" if isinstance(self.scale, LikertScale) else self.scale.kind

    @property
    def is_composite(self) -> bool:
        """True if it has several answers, each with a column of its own."""
        return isinstance(self.scale, MatrixScale | RankingScale)

    @property
    def parts(self) -> "tuple[Question, ...]":
        """The questions of one answer each: rows, ranked choices, or itself.

        Answers and tables know parts only; pages, translations and the definition know the whole.
        """
        match self.scale:
            case MatrixScale(rows=rows):
                texts = {row.key: f"{self.text} – {row.text}" for row in rows}
                scale: Any = self.scale.answers
            case RankingScale(choices=choices, ranks=ranks):
                texts = {choice.value: f"{self.text} – rank of {choice.label!r}" for choice in choices}
                scale = NumberScale(kind="number", min=1, max=max(ranks, 2), unit=RANK)
            case _:
                return (self,)
        # Key and text may be longer than a question's own.
        return tuple(
            Question.model_construct(
                key=f"{self.key}_{key}",
                text=text,
                scale=scale,
                role=None,
                required=self.required,
                only=self.only,
                show_if=self.show_if,
            )
            for key, text in texts.items()
        )

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """The form values and their labels, in order; empty for typed answers."""
        if isinstance(self.scale, str):
            return (("yes", "Yes"), ("no", "No"))
        if isinstance(self.scale, LikertScale):
            return tuple((str(point), label) for point, label in enumerate(self.scale.labels, start=1))
        if isinstance(self.scale, Choices):
            return tuple((choice.value, choice.label) for choice in self.scale.choices)
        return ()

    @property
    def values(self) -> dict[str, Answer]:
        """The stored value of each form value."""
        if isinstance(self.scale, str):
            return {"yes": True, "no": False}
        if isinstance(self.scale, LikertScale):
            return {str(point): point for point in range(1, self.scale.points + 1)}
        return {value: value for value, _label in self.choices}

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the answer, and last that of the count of changes.

        Those of several parts follow each other.
        """
        if self.is_composite:
            return (*self.display_columns, *(column for part in self.parts for column in part.columns))
        changes = Column(
            f"changes_{self.key}", "integer", "count", (),
            f"how often the choice for {self.key} was changed before it was submitted",
        )  # fmt: skip
        return (*self._answer_columns(), *self.display_columns, changes)

    @property
    def display_columns(self) -> tuple[Column, ...]:
        """The columns that say what was declined and in which order."""
        declined = Column(
            self.declined_key, "boolean", None, (),
            f"whether “I prefer not to say” was chosen for {self.key}; empty if it was not asked",
        )  # fmt: skip
        order = Column(
            f"{self.key}_order", "string", None, (),
            f"the choices of {self.key} in the order shown, joined by ;",
        )  # fmt: skip
        return (*([declined] * self.prefer_not_to_say), *([order] * self.random_choices))

    @property
    def declined_key(self) -> str:
        """The name of the stored sign that the answer was declined."""
        return f"{self.key}_declined"

    def _answer_columns(self) -> tuple[Column, ...]:
        labels = dict(self.choices)
        values = tuple((value, labels[sent]) for sent, value in self.values.items())
        match self.scale:
            case MultipleChoice(choices=choices):
                return tuple(
                    Column(f"{self.key}_{choice.value}", "boolean", None, (),
                           f"{self.text} – whether {choice.label!r} was chosen")
                    for choice in choices
                )  # fmt: skip
            case NumberScale():
                kind: Literal["integer", "number"] = "integer" if self.scale.is_whole else "number"
                return (Column(self.key, kind, self.scale.unit, (), self.text),)
            case TextField():
                return (Column(self.key, "string", None, (), self.text, is_free_text=True),)
            case SingleChoice():
                return (Column(self.key, "string", None, values, self.text),)
            case LikertScale():
                return (Column(self.key, "integer", "scale point", values, self.text),)
            case _:
                return (Column(self.key, "boolean", None, values, self.text),)

    def cells(self, answer: Answer) -> dict[str, Answer]:
        """Return the answer by column name."""
        if isinstance(self.scale, MultipleChoice) and isinstance(answer, list):
            return {f"{self.key}_{choice.value}": choice.value in answer for choice in self.scale.choices}
        return {self.key: answer}

    def is_valid_answer(self, answer: Answer) -> bool:
        """Return whether an answer is one that this question can have."""
        match self.scale:
            case MultipleChoice():
                return isinstance(answer, list) and bool(answer) and set(answer) <= self.values.keys()
            case NumberScale():
                number = isinstance(answer, int | float) and not isinstance(answer, bool)
                return number and self.scale.read(repr(answer)) is not None
            case TextField(min_length=least, max_length=most):
                return isinstance(answer, str) and max(least, 1) <= len(answer) <= most
            case MatrixScale() | RankingScale():
                return False  # its parts have answers
        # True == 1 in Python, so the type distinguishes a truth value from a scale point.
        return (type(answer), answer) in [(type(value), value) for value in self.values.values()]

    def check_answer(self, answer: Answer, name: str) -> None:
        """Raise ValueError, naming the field, unless the answer is possible."""
        if not self.is_valid_answer(answer):
            raise value_error(
                "%(name)s: %(key)s is answered by %(answers)s, not %(value)r",
                name=name,
                key=self.key,
                answers=self.format_answers(),
                value=answer,
            )

    def format_answers(self) -> str:
        """Return the possible answers as text for an error."""
        if isinstance(self.scale, NumberScale):
            return say("a number from %(min)g to %(max)g", min=self.scale.min, max=self.scale.max)
        if isinstance(self.scale, TextField):
            return say("a text")
        if self.is_composite:
            return say(
                "one answer in each of the columns %(columns)s",
                columns=", ".join(part.key for part in self.parts),
            )
        words = ", ".join(str(value).lower() for value in self.values.values())
        return say("a list of %(words)s", words=words) if isinstance(self.scale, MultipleChoice) else words


def list_question_parts(questions: Iterable[Question]) -> list[Question]:
    """Return the questions of one answer each: rows and ranked choices apart."""
    return [part for question in questions for part in question.parts]


def check_keys(questions: Sequence[Question], name: str) -> None:
    """Raise ValueError if questions share a column or role, or take a name."""
    columns = Counter(column.name for question in questions for column in question.columns)
    keys = Counter(question.key for question in questions)
    roles = Counter(question.role for question in questions if question.role)
    for kind, times in ((say("the key"), keys), (say("the role"), roles), (say("the column"), columns)):
        for value in (value for value, n in times.items() if n > 1):
            raise value_error(
                "%(name)s: two questions have %(kind)s %(value)r", name=name, kind=kind, value=value
            )
    check_free(sorted(RESERVED_KEYS & columns.keys()), name)


def check_free(taken: Iterable[str], name: str) -> None:
    """Raise ValueError, naming the part, if its questions take a name."""
    for column in taken:
        raise value_error(
            "%(name)s: %(taken)r is the name of another column; choose another key or value",
            name=name,
            taken=column,
        )


def find_question(questions: Iterable[Question], key: str, name: str) -> Question:
    """Return the item question, or part of one, that a field names by its key.

    Raises ValueError, which lists those there are.
    """
    asked = {question.key: question for question in list_question_parts(questions)}
    if key not in asked:
        raise value_error(
            "%(name)s: no item question has the key %(key)r; known keys: %(known)s",
            name=name,
            key=key,
            known=", ".join(asked),
        )
    return asked[key]

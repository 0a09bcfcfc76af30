"""Checks of participants: screening, comprehension, attention.

Pure: no Django. Each check is a table of the answers that pass it and a function that applies it. The
attention check exists as written and as frozen.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from foundation.frozen_model import FrozenModel
from foundation.messages import say, value_error
from studyapp.definition.questions.answer_scales import MultipleChoice, NumberScale
from studyapp.definition.questions.display import Given, Range, check_display, is_same
from studyapp.definition.questions.flow import select_visible_questions
from studyapp.definition.questions.question import Answer, Question, check_keys, find_question

Accepted = Annotated[
    Annotated[list[Given], Tag("list")] | Annotated[Range, Tag("range")],
    Discriminator(lambda value: "range" if isinstance(value, dict | Range) else "list"),
]


class ScreeningQuestion(Question):
    """A question after consent.

    An answer outside ``accept`` screens the participant out.
    """

    accept: Accepted | None = Field(
        default=None,
        description="accepted answers: a list, or for a number a mapping with `at_least` and "
        "`at_most`; every answer if left out",
    )

    quotas: dict[str, Annotated[int, Field(ge=1, le=1_000_000)]] = Field(
        default={},
        description="live participants with an answer whom a version admits: a mapping of answers to "
        "numbers such as `{woman: 20, man: 20}`, with `yes`, `no` and points in quotes. Further ones end as "
        "when the study is full; answers that are left out have no limit",
    )
    FIRST = Question.FIRST | {"accept"}

    @model_validator(mode="after")
    def _quotas_fit(self) -> Self:
        if self.quotas and (self.kind not in ("yes_no", "likert", "single")):
            raise value_error("quotas are for questions with one of several answers")
        for sent in self.quotas:
            if sent not in self.values:
                raise value_error(
                    "quotas: there is no answer %(answer)r; there is %(known)s",
                    answer=sent,
                    known=", ".join(self.values),
                )
            if not self.is_passed_by(self.values[sent]):
                raise value_error("quotas: the answer %(answer)r is not accepted", answer=sent)
        return self

    def quota_of(self, answer: Answer | None) -> int | None:
        """Return the quota of an answer; None without one."""
        sent = (
            (key for key, value in self.values.items() if is_same(value, answer))
            if answer is not None
            else ()
        )
        return self.quotas.get(next(iter(sent), ""))

    @property
    def most_admitted(self) -> int | None:
        """The sum of the quotas; None if an accepted answer has no limit."""
        passing = [sent for sent, value in self.values.items() if self.is_passed_by(value)]
        is_limited = (
            bool(self.quotas) and self.required and self.show_if is None and not self.prefer_not_to_say
        )
        return sum(self.quotas.values()) if is_limited and {*passing} == self.quotas.keys() else None

    @model_validator(mode="after")
    def _check_accept(self) -> Self:
        if isinstance(self.accept, Range) != isinstance(self.scale, NumberScale) and self.accept is not None:
            raise value_error("accept must be a range for a number, and a list of answers for anything else")
        if isinstance(self.accept, Range) and self.passing is None:
            raise value_error("accept: the range holds no number of the scale")
        if isinstance(self.accept, list):
            for value in self.accept:
                alone = [value] if isinstance(self.scale, MultipleChoice) else value
                self.check_answer(alone, "accept")  # type: ignore[arg-type]  # refuses what does not fit
        if self.accept is not None and not self.required:
            raise value_error("a screening question that decides must be required")
        return self

    @property
    def passing(self) -> Answer | None:
        """An answer that passes; None if every answer does."""
        if isinstance(self.accept, Range):
            assert isinstance(self.scale, NumberScale)
            low, high = self.scale.min, self.scale.max
            least = low if self.accept.at_least is None else max(low, self.accept.at_least)
            number = low + math.ceil((least - low) / self.scale.step - 1e-9) * self.scale.step
            return number if number <= high and self.accept.holds(number) else None
        if not self.accept:
            return None
        return [self.accept[0]] if self.kind == "multiple" else self.accept[0]  # type: ignore[list-item]

    def is_passed_by(self, answer: Answer | None) -> bool:
        """Return whether an answer passes.

        Of several choices, one that is accepted is enough.
        """
        if self.accept is None:
            return True
        if answer is None:
            return False
        if isinstance(self.accept, Range):
            return isinstance(answer, int | float) and self.accept.holds(answer)
        return (
            any(choice in self.accept for choice in answer)
            if isinstance(answer, list)
            else (answer in self.accept)
        )


class ComprehensionQuestion(Question):
    """A question about the instructions, with its one correct answer."""

    correct: Given = Field(
        description="the correct answer: as stored, `true`, a scale point, a value, a list"
    )

    @field_validator("correct")
    @classmethod
    def _sort_correct(cls, correct: Answer) -> Answer:
        return sorted(correct) if isinstance(correct, list) else correct

    @model_validator(mode="after")
    def _can_be_answered(self) -> Self:
        self.check_answer(self.correct, "correct")
        if not self.required:
            raise value_error("a question of the comprehension check must be required")
        return self


class Comprehension(FrozenModel):
    """Questions about the instructions.

    Participants who fail the last try end there.
    """

    questions: Annotated[list[ComprehensionQuestion], Field(min_length=1)] = Field(
        description="the questions, each with its `correct` answer"
    )
    tries: Annotated[int, Field(ge=1, le=10)] = Field(default=2, description="number of tries")

    @field_validator("questions")
    @classmethod
    def _keys_differ(cls, questions: list[ComprehensionQuestion]) -> list[ComprehensionQuestion]:
        check_keys(questions, "comprehension")
        check_display(questions, "comprehension")
        return questions


class AttentionDefinition(FrozenModel):
    """A page among the items that shows whether a participant reads.

    `instructed` shows your text in place of a question and asks for certain answers. `contradiction` shows a
    question of the dataset with its gold facts and an answer of yours that they contradict.
    """

    id: Annotated[str, Field(min_length=1, max_length=100)] = Field(description="name in the tables")
    kind: Literal["instructed", "contradiction"] = Field(description="`instructed` or `contradiction`")
    position: Annotated[int, Field(ge=1, le=2000)] = Field(
        description="position among items and attention items, counted together from 1"
    )
    text: Annotated[str, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="for `instructed`: the text shown in place of the question"
    )
    item: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="for `contradiction`: ID of a question that is not an item of the study"
    )
    answer: Annotated[str, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="for `contradiction`: the wrong answer that is shown"
    )
    expected: Annotated[dict[str, Given], Field(min_length=1)] = Field(
        description="answers that pass: a mapping of item question to answer; other questions do not count"
    )

    @model_validator(mode="after")
    def _has_its_fields(self) -> Self:
        needed = {"text"} if self.kind == "instructed" else {"item", "answer"}
        given = {name for name in ("text", "item", "answer") if getattr(self, name) is not None}
        if given != needed:
            shown = ", ".join(sorted(given))
            raise ValueError(
                say("instructed has text, not %(given)s", given=shown)
                if self.kind == "instructed"
                else say("contradiction has answer and item, not %(given)s", given=shown)
            )
        return self


class FrozenAttention(FrozenModel):
    """An attention item as it is shown.

    ``context`` and ``facts`` are None for an instructed one.
    """

    id: str
    kind: Literal["instructed", "contradiction"]
    position: int
    text: str
    item: str | None
    answer: str | None
    gold_answer: str | None
    context: list[tuple[str, list[str]]] | None
    facts: list[tuple[str, int]] | None
    expected: dict[str, Given]

    def is_passed_by(self, answers: Mapping[str, Answer]) -> bool:
        """Return whether every expected answer was given."""
        return all(key in answers and is_same(answers[key], wanted) for key, wanted in self.expected.items())


def check_expected(expected: Mapping[str, Answer], questions: Sequence[Question], name: str) -> None:
    """Raise ValueError if an item question cannot have an expected answer.

    Nor if some participants are not asked it: they could not pass.
    """
    for key, answer in expected.items():
        question = find_question(questions, key, name)
        question.check_answer(answer, name)
        if question.only or question.except_ or question.show_if:
            raise value_error("%(name)s: %(key)s is not asked of every participant", name=name, key=key)


def is_comprehended(check: Comprehension, answers: Mapping[str, Answer]) -> bool:
    """Return whether every question was answered correctly."""
    return all(
        question.key in answers and is_same(answers[question.key], question.correct)
        for question in check.questions
    )


def is_admitted(questions: Sequence[ScreeningQuestion], answers: Mapping[str, Answer]) -> bool:
    """Return whether every screening answer passes.

    An answer that was declined does not pass; a question that was not shown does.
    """
    return all(
        question.is_passed_by(answers.get(question.key))
        for question in select_visible_questions(questions, answers)
    )

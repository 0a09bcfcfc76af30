"""Questions that participants answer: their wording, scales, roles and columns, and parsing what was sent.

Pure: no Django. Every question declares the columns it fills, so that the codebook is made from here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

Role = Literal[
    "correctness_rating",
    "known_before",
    "certainty",
    "helpfulness",
    "trust",
    "relevant_information",
    "irrelevant_information",
    "satisfaction",
]
Answer = bool | int

AGREEMENT = [
    "Strongly disagree",
    "Disagree",
    "Neither agree nor disagree",
    "Agree",
    "Strongly agree",
]

CLOCK_COLUMNS = ("client_total_ms", "client_visible_ms", "client_hidden_ms", "hidden_count")
# Names that the tables, the forms or the columns beside the answers use already.
RESERVED_KEYS = frozenset(
    {
        *CLOCK_COLUMNS,
        *("participant_id", "mode", "version", "condition", "item_id", "position", "shown_at"),
        *("submitted_at", "server_ms", "first_interaction_ms", "system_correct", "excluded_by"),
        *("csrfmiddlewaretoken", "page_key", "consent"),
    }
)


class Column(NamedTuple):
    """One column of an exported table: type as in the bundle, ``unit`` and ``values`` where there are any."""

    name: str
    type: Literal["boolean", "integer"]
    unit: str | None
    values: tuple[tuple[Answer, str], ...]
    meaning: str


class Frozen(BaseModel):
    """Immutable, and an unknown field is an error rather than ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LikertScale(Frozen):
    """A rating scale of ``points`` steps, 1 to ``points``, each with a word label, lowest first."""

    points: Annotated[int, Field(ge=2, le=11)] = 5
    labels: list[Annotated[str, Field(min_length=1, max_length=100)]] = AGREEMENT

    @model_validator(mode="after")
    def _one_label_per_point(self) -> Self:
        if len(self.labels) != self.points:
            raise ValueError(f"{self.points} points need {self.points} labels, not {len(self.labels)}")
        return self


# Told apart by form, so that an error is about the kind of scale that was meant.
Scale = Annotated[
    Annotated[Literal["yes_no"], Tag("yes_no")] | Annotated[LikertScale, Tag("likert")],
    Discriminator(lambda value: "yes_no" if isinstance(value, str) else "likert"),
]


class Question(Frozen):
    """One question put to participants. ``role`` names what the measures read, whatever the key."""

    key: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
    text: Annotated[str, Field(min_length=1, max_length=1000)]
    scale: Scale
    role: Role | None = None
    required: bool = True

    @model_validator(mode="after")
    def _key_is_free(self) -> Self:
        if self.key in RESERVED_KEYS or self.key.startswith("changes_"):
            raise ValueError(f"the key {self.key!r} is the name of another column; choose another")
        return self

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """What a form sends and the label it shows, in order."""
        if self.scale == "yes_no":
            return (("yes", "Yes"), ("no", "No"))
        return tuple((str(point), label) for point, label in enumerate(self.scale.labels, start=1))

    @property
    def values(self) -> dict[str, Answer]:
        """What a form sends and the value it is stored as."""
        if self.scale == "yes_no":
            return {"yes": True, "no": False}
        return {str(point): point for point in range(1, self.scale.points + 1)}

    @property
    def columns(self) -> tuple[Column, Column]:
        """The column of the answer and that of the count of changes."""
        labels = dict(self.choices)
        values = tuple((value, labels[sent]) for sent, value in self.values.items())
        is_boolean = self.scale == "yes_no"
        return (
            Column(self.key, "boolean" if is_boolean else "integer", None if is_boolean else "scale point",
                   values, self.text),
            Column(f"changes_{self.key}", "integer", "count", (),
                   f"how often the choice for {self.key} was changed before it was submitted"),
        )  # fmt: skip


class Questionnaire(Frozen):
    """What is asked beside each item, and once at the end."""

    item: Annotated[list[Question], Field(min_length=1)]
    post_survey: list[Question]

    @model_validator(mode="after")
    def _keys_are_unique(self) -> Self:
        for name, questions in (("item", self.item), ("post_survey", self.post_survey)):
            keys = Counter(question.key for question in questions)
            roles = Counter(question.role for question in questions if question.role)
            for kind, times in (("key", keys), ("role", roles)):
                for value in (value for value, n in times.items() if n > 1):
                    raise ValueError(f"{name}: two questions have the {kind} {value!r}")
        return self


def _agree(key: Role, text: str) -> Question:
    return Question(key=key, text=text, scale=LikertScale(), role=key)


# Schuff et al. 2020, appendix: the wording of the study; the labels of the five points are ours.
TEMPLATES: dict[str, Questionnaire] = {
    "xqa-2020": Questionnaire(
        item=[
            Question(
                key="rated_correct",
                text="Do you think the system's answer is correct?",
                scale="yes_no",
                role="correctness_rating",
            ),
            Question(
                key="known_before",
                text="Did you know the answer without the system's answer or explanations?",
                scale="yes_no",
                role="known_before",
            ),
            _agree("certainty", "I am confident that my choice is correct."),
            _agree("helpfulness", "The given explanation helps me to decide if the answer is correct."),
        ],
        post_survey=[
            _agree("trust", "I trust the question answering system."),
            _agree("relevant_information", "The explanations contained relevant information."),
            _agree("irrelevant_information", "The explanations also contained irrelevant information."),
            _agree("satisfaction", "I am satisfied with the question answering system and its explanations."),
        ],
    )
}


def parse_answers(
    questions: Iterable[Question], data: Mapping[str, str]
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Read one answer per question from what a form sent.

    Returns the answers by key and, by key, a sentence for a person about each answer that cannot be taken.
    A question left open has no answer: it is missing, never False or 0.
    """
    answers: dict[str, Answer] = {}
    errors: dict[str, str] = {}
    for question in questions:
        sent = data.get(question.key, "")
        if sent in question.values:
            answers[question.key] = question.values[sent]
        elif sent:
            errors[question.key] = "Please choose one of the answers offered."
        elif question.required:
            errors[question.key] = "Please answer this question."
    return answers, errors


def parse_changes(questions: Iterable[Question], data: Mapping[str, str]) -> dict[str, int]:
    """Read how often each choice was changed. What is not a count is missing; it is never 0."""
    changes = {}
    for question in questions:
        sent = data.get(f"changes_{question.key}", "")
        if sent.isascii() and sent.isdigit() and len(sent) <= 6:
            changes[question.key] = int(sent)
    return changes

"""The task of a study: what participants do with each item.

Pure: no Django. A new task is a class with a ``kind`` here, its columns in ``exports.task_columns``, and its
pages in ``queries.question_pages``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, field_validator, model_validator

from foundation.frozen_model import FrozenModel, map_kinds
from foundation.messages import value_error

Seconds = Annotated[int, Field(ge=5, le=3600)]
Options = Annotated[
    int,
    Field(
        ge=2,
        le=5,
        description="with `ask: answer`, the number of answers to choose from, at most; questions for yes or "
        "no have these two",
    ),
]


def _build_limits_field(limits: Any, pages: str) -> Any:
    text = "a page that ran out is stored as it is then, and named in the column `timed_out`"
    return Field(default=limits, description=f"seconds for {pages}; {text}")


class Bonus(FrozenModel):
    """Pay for correct answers or predictions, beside the declared pay."""

    per_correct: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = Field(
        description="amount for each item answered or predicted correctly; practice items earn nothing"
    )
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = Field(
        description="three letters, such as `GBP`: that of the recruitment platform"
    )


class AdviceLimits(FrozenModel):
    """Seconds for each page of an item."""

    initial: Seconds | None = Field(default=None, description="for the first answer; no limit if left out")
    final: Seconds | None = Field(default=None, description="for the final answer; no limit if left out")


class Verification(FrozenModel):
    """Participants judge the system's answer beside its explanation."""

    kind: Literal["verification"] = Field(default="verification", description="`verification`")


class Advice(FrozenModel):
    """Participants answer, see the system's answer, and answer again."""

    kind: Literal["advice"] = Field(description="`advice`")
    confidence: bool = Field(default=True, description="ask for the confidence in both answers, from 1 to 5")
    time_limits: AdviceLimits = _build_limits_field(AdviceLimits(), "the pages `initial` and `final`")
    bonus: Bonus | None = Field(default=None, description="pay for each correct final answer")


class PredictionLimits(FrozenModel):
    """Seconds for the page of an item."""

    prediction: Seconds | None = Field(default=None, description="for the prediction; no limit if left out")


class Counterfactual(FrozenModel):
    """Participants predict what the system answers after a change."""

    kind: Literal["counterfactual"] = Field(description="`counterfactual`")
    source: Annotated[str, Field(min_length=1)] = Field(
        description="name of the dataset of changed items, imported in the format `changed`; every system of "
        "a condition has finished predictions on it"
    )
    ask: Literal["answer", "correct"] = Field(
        default="answer",
        description="`answer`: which of some answers the system gives to the changed item; `correct`: "
        "whether its answer is correct",
    )
    options: Options = 5
    time_limits: PredictionLimits = _build_limits_field(PredictionLimits(), "the page `prediction`")
    bonus: Bonus | None = Field(default=None, description="pay for each right prediction")


BlockSize = Annotated[int, Field(ge=2, le=500)]


class Blocks(FrozenModel):
    """Items of each block, even numbers: the system is right in half."""

    before: BlockSize = Field(default=8, description="items of the test before the learning block")
    learning: BlockSize = Field(default=8, description="items after whose prediction the answer is shown")
    after: BlockSize = Field(default=8, description="items of the test after the learning block")

    @model_validator(mode="after")
    def _check_even_sizes(self) -> Self:
        for name, size in self.sizes.items():
            if size % 2:
                raise value_error(
                    "%(block)s: the system is right in half of a block, so that it needs an even number "
                    "of items, not %(n)s",
                    block=name,
                    n=size,
                )
        return self

    @property
    def sizes(self) -> dict[str, int]:
        """The number of items by block, in the order of the study."""
        return {"before": self.before, "learning": self.learning, "after": self.after}

    @property
    def total(self) -> int:
        """The number of items of all blocks."""
        return sum(self.sizes.values())


class SimulationLimits(FrozenModel):
    """Seconds for each page of an item."""

    prediction: Seconds | None = Field(default=None, description="for the prediction; no limit if left out")
    answer: Seconds | None = Field(
        default=None, description="for the answer after it, in the learning block; no limit if left out"
    )


class Simulation(FrozenModel):
    """Participants predict what the system answers, before and after learning."""

    kind: Literal["simulation"] = Field(description="`simulation`")
    blocks: Blocks = Field(default=Blocks(), description="items of each block, see below")
    ask: Literal["answer", "correct"] = Field(
        default="answer",
        description="`answer`: which of some answers the system gives; `correct`: whether its answer is "
        "correct",
    )
    options: Options = 5
    explained_test: bool = Field(
        default=False,
        description="show the explanation, without the answer, while participants predict; explanations can "
        "give the answer away",
    )
    time_limits: SimulationLimits = _build_limits_field(
        SimulationLimits(), "the pages `prediction` and `answer`"
    )
    bonus: Bonus | None = Field(default=None, description="pay for each right prediction, in every block")


class ComparisonLimits(FrozenModel):
    """Seconds for the page of an item."""

    comparison: Seconds | None = Field(default=None, description="for the choice; no limit if left out")


class Criterion(FrozenModel):
    """A question about which of two conditions is better."""

    key: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)] = Field(
        description="name in tables: the column is `preferred_KEY`"
    )
    text: Annotated[str, Field(min_length=1, max_length=300)] = Field(
        description="the question, such as “Which explanation is clearer?”"
    )

    @property
    def question(self) -> str:
        """The key of the question that participants answer."""
        return f"preferred_{self.key}"


# The criterion of a study that names none, by what is compared.
OVERALL = {"explanation": "Which explanation is better?", "answer": "Which answer is better?"}


class Preference(FrozenModel):
    """Participants compare two conditions side by side."""

    kind: Literal["preference"] = Field(description="`preference`")
    of: Literal["explanation", "answer"] = Field(
        default="explanation",
        description="what is compared, as the page names it: `explanation` or `answer`; for explanations, "
        "every condition has to show one",
    )
    criteria: Annotated[list[Criterion], Field(min_length=1, max_length=10)] = Field(
        description="the questions about each pair, each with `key` and `text`; if left out, one with the "
        "key `overall`: “Which explanation is better?” or “Which answer is better?”"
    )
    ties: bool = Field(default=True, description="allow the answer that both are alike")
    time_limits: ComparisonLimits = _build_limits_field(ComparisonLimits(), "the page `comparison`")

    @model_validator(mode="before")
    @classmethod
    def _fill_criterion(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("criteria"):
            return data
        text = OVERALL.get(str(data.get("of")), OVERALL["explanation"])
        return {**data, "criteria": [{"key": "overall", "text": text}]}

    @field_validator("criteria")
    @classmethod
    def _keys_differ(cls, criteria: list[Criterion]) -> list[Criterion]:
        keys = [criterion.key for criterion in criteria]
        for key in keys:
            if keys.count(key) > 1:
                raise value_error("two criteria have the key %(key)r", key=key)
        return criteria

    def translate_criteria(self, texts: Mapping[str, str]) -> "Preference":
        """Return the task with the criteria in another language.

        ``texts`` are the translations of questions beside the items, by key.
        """
        criteria = [
            criterion.model_copy(update={"text": texts.get(criterion.question, criterion.text)})
            for criterion in self.criteria
        ]
        return self.model_copy(update={"criteria": criteria})


Task = Annotated[Verification | Advice | Simulation | Counterfactual | Preference, Discriminator("kind")]
KINDS = map_kinds(Task)
# Tasks in which people predict the system.
Predicting = Simulation | Counterfactual

# Names of columns and fields of tasks. In a study with a task, no question beside the items may use them.
RESERVED = frozenset(
    {
        *("advice", "timed_out", "block", "options", "cannot_tell", "source_item_id", "change"),
        *("system_answer", "prediction_right", "left_condition", "right_condition"),
        *("prediction_server_ms", "prediction_client_total_ms", "prediction_client_visible_ms"),
        *("answer_server_ms", "answer_client_total_ms", "answer_client_visible_ms"),
    }
)
RESERVED_STARTS = ("initial_", "final_", "predicted_", "preferred_")


def is_reserved(name: str) -> bool:
    """Return whether a name belongs to the built-in questions of tasks."""
    return name in RESERVED or name.startswith(RESERVED_STARTS)


def expand_task(written: Any) -> Any:
    """Return the mapping that the word of a task stands for."""
    return {"kind": written} if isinstance(written, str) else written

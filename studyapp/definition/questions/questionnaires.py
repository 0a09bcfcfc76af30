"""Questionnaires: the questions of a study's parts, and our templates.

Pure: no Django.
"""

from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from analysis.participants.study_version import Role
from foundation.frozen_model import Growing
from foundation.messages import value_error
from studyapp.definition.questions.answer_scales import LikertScale
from studyapp.definition.questions.display import ADVISED, EXPLAINED, check_display
from studyapp.definition.questions.question import Question, check_free, check_keys
from studyapp.definition.questions.scales import expand

PARTS_ASKED = ("item", "post_survey", "pre_survey")
ORDER_COLUMN = "question_order"


class Questionnaire(Growing):
    """Questions beside each item, and once before and after all items."""

    FIRST = frozenset({"pre_survey"})

    item: list[Question] = Field(
        description="questions asked beside every item; none are needed where the task asks itself"
    )
    post_survey: list[Question] = Field(description="questions asked once at the end; may be empty")
    pre_survey: list[Question] = Field(
        default=[], description="questions asked once before the items; none if left out"
    )
    random_order: list[Literal["item", "pre_survey", "post_survey"]] = Field(
        default=[],
        description="parts whose questions are shown in an order drawn for each participant: any of `item`, "
        "`pre_survey` and `post_survey`; within sections, if there are any",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_template(cls, data: Any) -> Any:
        """Fill fields that a mapping with ``template`` leaves out."""
        if not isinstance(data, dict) or "template" not in data:
            return data
        rest = {key: value for key, value in data.items() if key != "template"}
        return {**find_template(data["template"]).model_dump(), **rest}

    @field_validator("item", "post_survey", "pre_survey", mode="before")
    @classmethod
    def _fill_templates(cls, entries: Any) -> Any:
        return expand(entries)

    @field_validator("item", "post_survey", "pre_survey")
    @classmethod
    def _check_display(cls, questions: list[Question], info: ValidationInfo) -> list[Question]:
        check_display(questions, info.field_name or "")
        return questions

    @model_validator(mode="after")
    def _keys_are_unique(self) -> Self:
        for name in PARTS_ASKED:
            check_keys(getattr(self, name), name)
        for name in self.random_order:
            columns = {column.name for question in getattr(self, name) for column in question.columns}
            check_free(columns & {ORDER_COLUMN}, name)
        return self

    @property
    def all(self) -> list[Question]:
        """The questions of all three parts, in the order of the study."""
        return [*self.pre_survey, *self.item, *self.post_survey]


def _agree(key: Role, text: str, **fields: Any) -> Question:
    return Question(key=key, text=text, scale=LikertScale(), role=key, **fields)


_HELPFUL = _agree(
    "helpfulness", "The given explanation helps me to decide if the answer is correct.", only=[EXPLAINED]
)
_EXPLANATIONS = (
    _agree("relevant_information", "The explanations contained relevant information.", only=[EXPLAINED]),
    _agree(
        "irrelevant_information",
        "The explanations also contained irrelevant information.",
        only=[EXPLAINED],
    ),
)
_SATISFIED: dict[str, Any] = {
    "key": "satisfaction",
    "text": "I am satisfied with the question answering system and its explanations.",
    "unexplained_text": "I am satisfied with the question answering system.",
}
_SURVEY = [_agree("trust", "I trust the question answering system."), *_EXPLANATIONS, _agree(**_SATISFIED)]
_CORRECT = Question(
    key="rated_correct",
    text="Do you think the system's answer is correct?",
    scale="yes_no",
    role="correctness_rating",
)
_CERTAIN = _agree("certainty", "I am confident that my choice is correct.")
_PREDICTED = Questionnaire(
    item=[
        _agree("certainty", "I am confident that my prediction is right."),
        _agree(
            "helpfulness", "The explanation helps me to predict what the system answers.", only=[EXPLAINED]
        ),
    ],
    post_survey=_SURVEY,
)

# Schuff et al. 2020, appendix: the wording of the study; the labels of the five points are ours. All its
# conditions showed explanations. Without them, questions about explanations are not asked.
TEMPLATES: dict[str, Questionnaire] = {
    "xqa-2020": Questionnaire(
        item=[
            _CORRECT,
            Question(
                key="known_before",
                text="Did you know the answer without the system's answer or explanations?",
                scale="yes_no",
                role="known_before",
            ),
            _CERTAIN,
            _HELPFUL,
        ],
        post_survey=_SURVEY,
    ),
    # For the task advice, which asks for answers and confidence itself: what is left of the above.
    "advice": Questionnaire(
        item=[_HELPFUL],
        post_survey=[
            _agree("trust", "I trust the question answering system.", only=[ADVISED]),
            *_EXPLANATIONS,
            _agree(**_SATISFIED, only=[ADVISED]),
        ],
    ),
    # For the tasks that ask for a prediction themselves.
    "simulation": _PREDICTED,
    "counterfactual": _PREDICTED,
    # For sentences about pictures and the steps of programs: nobody knew such an answer before.
    "pictures": Questionnaire(
        item=[
            _CORRECT,
            _CERTAIN,
            _agree(
                "helpfulness",
                "The steps of the system help me to decide if the answer is correct.",
                only=[EXPLAINED],
            ),
        ],
        post_survey=[
            _agree("trust", "I trust the system."),
            _agree("relevant_information", "The steps showed relevant things.", only=[EXPLAINED]),
            _agree("irrelevant_information", "The steps also showed irrelevant things.", only=[EXPLAINED]),
            _agree(
                "satisfaction",
                "I am satisfied with the system and its steps.",
                unexplained_text="I am satisfied with the system.",
            ),
        ],
    ),
    # For the task preference, which asks for the preferences itself. Participants see all conditions, so
    # questions about "the system" at the end would have no subject.
    "preference": Questionnaire(item=[], post_survey=[]),
}
# The templates of tasks that ask questions of their own, by the task's kind.
TASK_TEMPLATES = ("advice", "simulation", "counterfactual", "preference")


def find_template(name: Any) -> Questionnaire:
    """Return the questionnaire of that name.

    Raises ValueError, which lists those there are.
    """
    if not isinstance(name, str) or name not in TEMPLATES:
        raise value_error(
            "unknown template %(name)r; known templates: %(known)s",
            name=name,
            known=", ".join(sorted(TEMPLATES)),
        )
    return TEMPLATES[name]

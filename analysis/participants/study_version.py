"""A version of a study in a bundle: conditions, questions, decisions."""

from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from ..io.table_columns import Column

Kind = Literal["verification", "advice", "simulation", "counterfactual", "preference"]
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


class Points(BaseModel):
    """A scale of 1 to `points`."""

    points: int = Field(ge=2)
    labels: list[str] | None = None


class Bounds(BaseModel):
    """Numbers within bounds: a slider, or the rank of a choice."""

    min: float
    max: float


class Question(BaseModel):
    """Question of a questionnaire; `role` says how the measures use it.

    only: names of the conditions that ask it; None if all do.
    """

    key: str
    text: str
    scale: Literal["yes_no"] | Points | Bounds
    role: Role | None = None
    required: bool = True
    only: list[str] | None = None

    @model_validator(mode="after")
    def _judgements_are_yes_or_no(self) -> "Question":
        if self.role in ("correctness_rating", "known_before") and self.scale != "yes_no":
            raise ValueError(f"the question with the role {self.role} needs the scale yes_no")
        return self

    @property
    def column(self) -> Column:
        """The column of its answers: booleans as 1 and 0."""
        if isinstance(self.scale, Points):
            return Column(self.key, "integer", required=True, low=1, high=self.scale.points)
        if isinstance(self.scale, Bounds):
            return Column(self.key, "number", required=True, low=self.scale.min, high=self.scale.max)
        return Column(self.key, "boolean", required=True)


class Condition(BaseModel):
    """One condition of the study; `system` is None for ground truth.

    group: its participants saw all conditions of the group; None if the bundle does not say.
    explanation: the style of explanation; None if the bundle does not say.
    represents: it stands for its system in rankings of systems.
    advice: False for the control condition of a study of advice, which shows none.
    """

    name: str
    label: str | None = None
    system: str | None = None
    ground_truth: bool = False
    group: str | None = None
    explanation: str | None = None
    represents: bool = False
    advice: bool = True

    @property
    def explained(self) -> bool:
        """False if the condition is known to show no explanation."""
        return self.explanation != "none"

    @property
    def shows_scored_explanation(self) -> bool:
        """False if participants saw nothing that scores of facts measure."""
        return self.explanation not in ("none", "rationale")

    @property
    def title(self) -> str:
        """The label, or the name without one."""
        return self.label or self.name


class ScoredItem(BaseModel):
    """A column that a score sums up, with its lowest and highest answer."""

    key: str
    low: float
    high: float
    reversed: bool = False


class ScaleScore(BaseModel):
    """A score of a scale: the mean of its items, some of them reversed.

    table: where its column and those of its items are. low, high: range of the mean, before the linear slope
    and intercept.
    """

    table: Literal["trials", "pre_survey", "post_survey"]
    column: str
    title: str
    items: list[ScoredItem] = Field(min_length=1)
    low: float
    high: float
    slope: float = 1.0
    intercept: float = 0.0
    higher: str = ""
    source: str = ""

    @property
    def range(self) -> tuple[float, float]:
        """Return the lowest and the highest score."""
        return self.slope * self.low + self.intercept, self.slope * self.high + self.intercept

    @property
    def columns(self) -> list[Column]:
        """The columns of the score and its items."""
        low, high = self.range
        score = Column(self.column, "number", required=True, low=low - 1e-9, high=high + 1e-9)
        return [score, *(Column(item.key, "number", required=True) for item in self.items)]


class Published(BaseModel):
    """Statements of a publication about this study's exclusions."""

    excluded_percent: float | None = None
    note: str | None = None


class Pay(BaseModel):
    """Pay that participants were promised."""

    amount: float
    currency: str


class _Recruitment(BaseModel):
    platform: str = ""
    pay: Pay | None = None


class Definition(BaseModel):
    """The part of a frozen definition that describes the sample."""

    consent: str | None = None
    recruitment: _Recruitment | None = None
    attention: list[Any] = []
    comprehension: Any = None
    plan: dict[str, Any] | None = None

    @property
    def platform(self) -> str:
        """The recruitment platform, empty if there is none."""
        return self.recruitment.platform if self.recruitment else ""

    @property
    def pay(self) -> Pay | None:
        """The pay that participants were promised, None if it is not declared."""
        return self.recruitment.pay if self.recruitment else None


class Criterion(BaseModel):
    """A criterion on which participants prefer one of two conditions."""

    key: str
    text: str


class TaskOptions(BaseModel):
    """The task of participants in a trial.

    blocks: numbers of items by block, of a simulation. ask: what is predicted, the answer or if it is
        correct.
    """

    kind: Kind = "verification"
    criteria: list[Criterion] = []
    blocks: dict[str, int] = {}
    ask: str = ""
    explained_test: bool = False

    @model_validator(mode="after")
    def _preferences_have_criteria(self) -> "TaskOptions":
        keys = [criterion.key for criterion in self.criteria]
        if self.kind == "preference" and not keys:
            raise ValueError("the task preference needs criteria")
        if len(set(keys)) < len(keys):
            raise ValueError(f"the criteria {', '.join(keys)} need a key each, all different")
        return self


class Sources(BaseModel):
    """Correctness of a condition's answers, and where it comes from.

    near_misses: answers that share a word with the gold answer and count as wrong, because nobody judged
        them.
    """

    condition: str
    answers: int
    correct: int
    exact_match: int
    sources: dict[str, int]
    near_misses: int = 0


class Decision(BaseModel):
    """A recorded decision to launch although a check was open."""

    check: str
    reason: str
    by: str | None = None
    at: str | None = None


class Version(BaseModel):
    """One frozen definition of the study."""

    version: int
    hash: str
    task: TaskOptions = TaskOptions()
    conditions: list[Condition] = Field(min_length=1)
    item_questionnaire: list[Question]
    post_survey: list[Question] = []
    scale_scores: list[ScaleScore] = []
    published: Published | None = None
    definition: Definition = Definition()
    correctness: list[Sources] = []
    decisions: list[Decision] = []

    @field_validator("item_questionnaire", "post_survey", mode="before")
    @classmethod
    def _ratings_only(cls, questions: Any) -> Any:
        """Leave out choices, typed numbers and texts: they have no measure."""
        if not isinstance(questions, list):
            return questions
        return [
            question
            for question in questions
            if not (isinstance(question, dict) and isinstance(scale := question.get("scale"), dict))
            or "kind" not in scale
            or scale["kind"] == "slider"
            or scale.get("unit") == "rank"
        ]

    @property
    def titles(self) -> dict[str, str]:
        """Return the titles of the conditions by name."""
        return {condition.name: condition.title for condition in self.conditions}

    def list_unasked(self) -> dict[str, frozenset[str]]:
        """Return roles, or keys without one, that each condition does not ask.

        A condition without advice has "advice" among them.
        """
        questions = self.item_questionnaire + self.post_survey
        return {
            condition.name: frozenset(
                question.role or question.key
                for question in questions
                if question.only is not None and condition.name not in question.only
            )
            | frozenset(() if condition.advice else ("advice",))
            for condition in self.conditions
        }

    def question(self, role: str) -> Question | None:
        """Return the question with the role, of either questionnaire."""
        questions = self.item_questionnaire + self.post_survey
        return next((question for question in questions if question.role == role), None)


class Study(BaseModel):
    """study_version.json."""

    study: str
    title: str
    exported_by: str = ""
    commit: str | None = None
    versions: list[Version] = Field(min_length=1)

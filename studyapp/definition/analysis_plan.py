"""The analysis plan as a researcher writes it in a study definition.

Pure: no Django. A launch freezes it in the form of plan files, so that the report of the version uses it.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import AliasChoices, Field, model_validator

from analysis.participants.measures import Measure
from analysis.participants.study_version import Version
from analysis.planning.declared_plan import PlanFile
from analysis.planning.frozen_version import list_measures
from analysis.scores.score_table import SCORES
from analysis.stats.correlations import Coefficient
from analysis.stats.results import Target
from analysis.stats.sequential import MOST_ANALYSES, Spending
from foundation.frozen_model import FrozenModel
from foundation.messages import say, value_error
from studyapp.definition.questions.question import list_question_parts
from studyapp.definition.questions.questionnaires import Questionnaire
from studyapp.definition.questions.scale_scores import ScaleKey, list_score_columns

Name = Annotated[str, Field(min_length=1, max_length=100)]
Sentence = Annotated[str, Field(min_length=1, max_length=2_000)]
Knowledge = Annotated[
    str, Field(max_length=2_000, description="knowledge of the data at the time of writing")
]
Number = Annotated[float, Field(allow_inf_nan=False)]
_SCORES = frozenset(score.key for score in SCORES)


class Contrast(FrozenModel):
    """A confirmatory comparison of two conditions."""

    measure: Name = Field(description="key of a measure, such as `over_estimation`")
    first: Name = Field(description="name of the first condition")
    second: Name = Field(description="name of the condition that is compared with it")


class Margin(FrozenModel):
    """Bounds within which two conditions count as equivalent."""

    measure: Name = Field(description="key of a measure")
    lower: Number = Field(description="lower bound of the difference; of the ratio for times")
    upper: Number = Field(description="upper bound")


class InterimAnalyses(FrozenModel):
    """Analyses while the study runs, by alpha spending."""

    fractions: Annotated[
        list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=1, max_length=MOST_ANALYSES)
    ] = Field(description="shares of the planned sample at each analysis, such as `[0.5, 1]`")
    spending: Spending = Field(
        default="obrien_fleming", description="spending function: `obrien_fleming` or `pocock`"
    )


class AnalysisPlan(FrozenModel):
    """A plan that the researchers declare before the data."""

    hypotheses: Annotated[list[Sentence], Field(max_length=50)] = Field(default=[], description="sentences")
    target: Target | None = Field(
        default=None,
        description="subject of the confirmatory comparisons: `these_items` (other participants, the same "
        "items) or `items_like_these` (other participants and items); by default the second, or the first "
        "with interim analyses",
    )
    baseline: Name | None = Field(
        default=None, description="condition with which the others are compared if `family` is empty"
    )
    family: Annotated[list[Contrast], Field(max_length=200)] = Field(
        default=[], description="the confirmatory comparisons, which Holm's correction covers together"
    )
    margins: Annotated[list[Margin], Field(max_length=100)] = Field(
        default=[], description="bounds of equivalence tests, by measure"
    )
    scores: Annotated[list[Name], Field(max_length=100)] = Field(
        default=[],
        description="keys of the model scores that are related to people; by default all main ones",
    )
    coefficient: Coefficient = Field(default="pearson", description="correlation that the report shows")
    sign_share: Annotated[float, Field(gt=0.5, le=1)] = Field(
        default=0.9,
        description="share of replicates in which a sign of the rank table must recur to be coloured",
    )
    participants: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None, description="planned sample size per condition"
    )
    interim_analyses: InterimAnalyses | None = Field(
        default=None,
        validation_alias=AliasChoices("interim_analyses", "looks"),  # its name in earlier drafts
        description="interim analyses of the only comparison of the family",
    )
    alpha: Annotated[float, Field(gt=0, le=0.5)] = Field(default=0.05, description="two-sided level")
    known: Knowledge = ""  # words: allow - the name of a field in plan files
    authors: Annotated[list[Sentence], Field(max_length=100)] = Field(default=[], description="names")

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        for score in self.scores:
            if score not in _SCORES:
                raise value_error("scores: there is no score %(score)r", score=score)
        measures = [margin.measure for margin in self.margins]
        for measure in measures:
            if measures.count(measure) > 1:
                raise value_error("margins: %(measure)r is given twice", measure=measure)
        if unused := {*measures} - {row.measure for row in self.family}:
            raise value_error("margins: %(measure)r is not in the family", measure=min(unused))
        if len({*self._rows()}) < len(self.family):
            raise value_error("family: a comparison is given twice")
        if self.interim_analyses and self.target not in (None, "these_items"):
            raise value_error("target: interim analyses need these_items")
        if self.interim_analyses and (len(self.family) != 1 or self.participants is None):
            raise value_error(
                "interim_analyses: interim analyses need one comparison in family, and participants"
            )
        fractions = [0.0, *self.interim_analyses.fractions] if self.interim_analyses else []
        if any(later - earlier < 1e-3 for earlier, later in pairwise(fractions)):
            raise value_error("interim_analyses: the fractions must increase by 0.001 or more")
        return self

    def freeze(self) -> PlanFile:
        """Return the plan in the form of plan files."""
        return PlanFile.model_validate(
            {
                **self.model_dump(exclude={"family", "margins"}),
                "family": self._rows(),
                "margins": {row.measure: (row.lower, row.upper) for row in self.margins},
            }
        )

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(row.measure, row.first, row.second) for row in self.family]


def check_plan(plan: AnalysisPlan, conditions: Mapping[str, bool], measures: Mapping[str, bool]) -> None:
    """Check that a plan names only what its study has.

    Args:
        plan: The plan.
        conditions: True for the ground truth, by name of the condition.
        measures: True for measures that are compared as ratios, by key.

    Raises:
        ValueError: The message names the field.
    """
    for number, row in enumerate(plan.family, start=1):
        where = say("family: comparison %(n)s", n=number)
        _check_measure(row.measure, measures, where)
        for name in (row.first, row.second):
            _check_condition(name, conditions, where)
        if row.first == row.second:
            raise value_error("%(where)s: names the same condition twice", where=where)
    if plan.baseline is not None:
        _check_condition(plan.baseline, conditions, "baseline")
        if conditions[plan.baseline] and list(conditions.values()).count(False) > 1:
            raise value_error("baseline: the ground truth is not a system")
    for margin in plan.margins:
        _check_measure(margin.measure, measures, "margins")
        middle = 1 if measures[margin.measure] else 0
        is_ratio_below = measures[margin.measure] and margin.lower <= 0
        if not margin.lower < middle < margin.upper or is_ratio_below:
            raise value_error(
                "margins: the bounds of %(measure)s must lie on both sides of %(middle)s",
                measure=margin.measure,
                middle=middle,
            )


def list_question_measures(
    asked: Questionnaire, own: Sequence[ScaleKey], task: Mapping[str, Any]
) -> list[Measure]:
    """Return the measures that the task and the questions allow.

    Args:
        asked: The questionnaire.
        own: Scales of the study's own.
        task: The task with its options.
    """
    parts = {
        "item_questionnaire": list_question_parts(asked.item),
        "pre_survey": list_question_parts(asked.pre_survey),
        "post_survey": list_question_parts(asked.post_survey),
    }
    version = Version.model_validate(
        {
            "version": 1,
            "hash": "",
            "task": task,
            "conditions": [{"name": "any"}],
            "scale_scores": list_score_columns(parts, own),
            **{part: [row.model_dump(mode="json") for row in rows] for part, rows in parts.items()},
        }
    )
    return list_measures(version)


def _check_measure(key: str, measures: Collection[str], where: str) -> None:
    if key not in measures:
        names = ", ".join(measures)
        raise value_error(
            "%(where)s: there is no measure %(key)r; known: %(names)s", where=where, key=key, names=names
        )


def _check_condition(name: str, conditions: Collection[str], where: str) -> None:
    if name not in conditions:
        raise value_error("%(where)s: there is no condition %(name)r", where=where, name=name)

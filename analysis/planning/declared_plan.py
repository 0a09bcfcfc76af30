"""Plans declared before the data, and the file that holds one.

`report --plan` and `preregister --plan` read the file; without one they use the plan that the study declares.
It is JSON with any of these fields; the plan does not declare what it leaves out::

    {"hypotheses": ["Facts shown as highlights lower over-estimation."],
     "target": "items_like_these",
     "baseline": "plain",
     "family": [["over_estimation", "plain", "highlights"]],
     "margins": {"over_estimation": [-0.05, 0.05]}, "rope": [-0.18, 0.18],
     "scores": ["loca"], "coefficient": "pearson", "sign_share": 0.9,
     "participants": 40,
     "interim_analyses": {"fractions": [0.5, 1.0], "spending": "obrien_fleming"},
     "alpha": 0.05, "known": "Nothing.", "authors": ["…"]}

``target`` is what the confirmatory statements are about: ``these_items`` (other participants, the same items)
or ``items_like_these`` (other participants and other items), which is the default, but not with interim
analyses: their tests are about these items. ``baseline`` is the condition with which the others are compared
if no ``family`` is declared. ``family`` names measure, first and second condition; ``margins`` bound an
equivalence test of a measure, and ``rope`` the differences in log odds that the Bayesian model counts as
none. ``scores`` are the model scores that are related to people, ``coefficient`` the correlation that is
reported, and ``sign_share`` the share of bootstrap replicates in which a sign of the rank table must recur.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from ..io.errors import AnalysisError, InputError, find_first_problem
from ..io.whole_files import read_json
from ..participants.study_version import Version
from ..stats.correlations import Coefficient
from ..stats.results import Target
from ..stats.sequential import Boundaries, Spending, boundaries
from .power import Power


class _Declared(BaseModel):
    """The declarations of a plan, in a file and in the analysis alike."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    hypotheses: tuple[str, ...] = ()
    baseline: str | None = None
    family: tuple[tuple[str, str, str], ...] = ()
    margins: Mapping[str, tuple[float, float]] = {}
    scores: tuple[str, ...] = ()
    coefficient: Coefficient = "pearson"
    sign_share: float = Field(default=0.9, gt=0.5, le=1)
    rope: tuple[float, float] | None = None
    participants: int | None = None
    alpha: float = Field(default=0.05, gt=0, lt=1)
    resamples: int = Field(default=2000, ge=0)
    permutations: int = Field(default=9999, ge=1)
    seed: int = Field(default=1, ge=0)
    known: str = ""  # words: allow - the name of a field in plan files
    authors: tuple[str, ...] = ()


class Plan(_Declared):
    """A plan that the researchers declare before the data.

    Attributes:
        hypotheses: Sentences.
        target: Subject of the confirmatory comparisons: these items, or items like these.
        baseline: Condition with which the others are compared if no family is declared.
        family: Measure, first and second condition of each confirmatory comparison; Holm's correction covers
            them together.
        margins: Bounds within which conditions count as equivalent, by measure.
        scores: Keys of the model scores that are related to people; Holm's correction of correlations covers
            them together. Without any all headline scores count.
        coefficient: Correlation that the report shows; its files have all.
        sign_share: Share of replicates in which a sign of the rank table must recur to be coloured.
        rope: Region of practical equivalence of the Bayesian model, in log odds; None without one.
        participants: Sample size per condition.
        alpha: Two-sided level.
        resamples: Number of bootstrap replicates.
        permutations: Number of random permutations of each test.
        seed: Of all random numbers.
        power: The simulated power that the sample size rests on.
        interim_analyses: Boundaries of interim analyses of the family's only comparison; None without any.
        known: Knowledge of the data at the time of writing.
        authors: Names.
    """

    target: Target = "items_like_these"
    power: Power | None = None
    interim_analyses: Boundaries | None = None


class _InterimAnalyses(BaseModel):
    model_config = ConfigDict(extra="forbid")
    fractions: list[float] = Field(min_length=1)
    spending: Spending = "obrien_fleming"


class PlanFile(_Declared):
    """A plan as a file holds it, and as a study freezes it."""

    target: Target | None = None
    interim_analyses: _InterimAnalyses | None = Field(
        default=None,
        validation_alias=AliasChoices("interim_analyses", "looks"),  # the name until 0.1
    )


def load_plan(path: Path) -> Plan:
    """Read a plan from its file.

    Args:
        path: JSON file of the plan.

    Returns:
        The plan.

    Raises:
        InputError: The file is missing or not JSON, or a field is unknown or has a wrong value; the message
            names file and field.
    """
    try:
        return build_plan(PlanFile.model_validate(read_json(path)))
    except ValidationError as error:
        field, problem = find_first_problem(error)
        raise InputError(path, f"{field}: {problem}") from None
    except ValueError as error:
        raise InputError(path, str(error)) from None


def build_plan(declared: PlanFile) -> Plan:
    """Return a plan with the boundaries of its interim analyses.

    Raises:
        ValueError: The interim analyses are malformed, or do not fit the target; the message names the field.
    """
    interim = declared.interim_analyses
    try:
        bounds = (
            boundaries(interim.fractions, spending=interim.spending, alpha=declared.alpha)
            if interim
            else None
        )
    except ValueError as error:
        raise ValueError(f"interim_analyses: {error}") from None
    target = declared.target or ("these_items" if interim else "items_like_these")
    if interim and target != "these_items":
        raise ValueError("target: the tests of interim analyses are about these_items; set it to that")
    return Plan(**{**dict(declared), "interim_analyses": bounds, "target": target})


def read_frozen_plan(version: Version) -> Plan | None:
    """Return the plan that a version of a study declares, None without one.

    Raises:
        AnalysisError: The plan of the version is malformed.
    """
    if version.definition.plan is None:
        return None
    try:
        return build_plan(PlanFile.model_validate(version.definition.plan))
    except ValidationError as error:
        raise AnalysisError(
            f"the plan of version {version.version}: {': '.join(find_first_problem(error))}"
        ) from None
    except ValueError as error:
        raise AnalysisError(f"the plan of version {version.version}: {error}") from None

"""A plan as a file: what was declared before the data, read by `report --plan` and `preregister`.

The file is JSON with any of these fields; what it leaves out is not declared::

    {"hypotheses": ["Facts shown as highlights lower over-estimation."],
     "family": [["over_estimation", "plain", "highlights"]],
     "margins": {"over_estimation": [-0.05, 0.05]},
     "participants": 40,
     "looks": {"fractions": [0.5, 1.0], "spending": "obrien_fleming"},
     "alpha": 0.05, "known": "Nothing.", "authors": ["…"]}

``family`` names measure, first and second condition; ``margins`` bound an equivalence test of a measure.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..io.errors import InputError, first_problem
from ..io.tabular_files import read_json
from ..stats.sequential import Spending, boundaries
from .preregistration import Plan


class _Looks(BaseModel):
    model_config = ConfigDict(extra="forbid")
    fractions: list[float] = Field(min_length=1)
    spending: Spending = "obrien_fleming"


class _PlanFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    hypotheses: list[str] = []
    family: list[tuple[str, str, str]] = []
    margins: dict[str, tuple[float, float]] = {}
    participants: int | None = None
    looks: _Looks | None = None
    alpha: float = Field(default=0.05, gt=0, lt=1)
    resamples: int = Field(default=2000, ge=0)
    permutations: int = Field(default=9999, ge=1)
    seed: int = Field(default=1, ge=0)
    known: str = ""
    authors: list[str] = []


def load_plan(path: Path) -> Plan:
    """The plan in a file. Raises InputError naming file and field."""
    try:
        read = _PlanFile.model_validate(read_json(path))
        looks = read.looks
        bounds = boundaries(looks.fractions, spending=looks.spending, alpha=read.alpha) if looks else None
    except ValidationError as error:
        field, problem = first_problem(error)
        raise InputError(path, f"{field}: {problem}") from None
    except ValueError as error:
        raise InputError(path, f"looks: {error}") from None
    return Plan(
        hypotheses=tuple(read.hypotheses),
        family=tuple(read.family),
        margins=read.margins,
        participants=read.participants,
        looks=bounds,
        alpha=read.alpha,
        resamples=read.resamples,
        permutations=read.permutations,
        seed=read.seed,
        known=read.known,
        authors=tuple(read.authors),
    )

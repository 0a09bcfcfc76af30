"""Types of ``scores.json`` (docs/reference/bundle.md)."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from predictions.models import PredictionRun

Fraction = Annotated[float, Field(ge=-1.0, le=1.0)]  # below 0 for scores of erasure alone


class SystemScores(BaseModel):
    """The scores of one system; a score of None has a reason."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    revision: str | None
    n: int | None
    source: str
    scores: dict[str, Fraction | None]
    reasons: dict[str, str]


class ScoresDocument(BaseModel):
    """The content of ``scores.json``; all scores are fractions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    dataset: str | None
    systems: dict[str, SystemScores]


def build_scores_document(runs: Iterable[PredictionRun]) -> dict[str, Any]:
    """Return the scores of runs as ``scores.json``, systems by name.

    Runs without scores are left out.

    Raises:
        ValueError: Two runs are of one system, or runs are of several datasets; the document cannot hold
        that.
    """
    scored = sorted((run for run in runs if hasattr(run, "score")), key=lambda run: run.system.name)
    datasets = sorted({run.dataset.name for run in scored})
    if len(datasets) > 1:
        raise ValueError(f"runs: are of several datasets: {', '.join(datasets)}")
    names = [run.system.name for run in scored]
    if len(set(names)) < len(names):
        raise ValueError(f"runs: two are of one system: {', '.join(names)}")
    document = ScoresDocument(
        dataset=datasets[0] if datasets else None,
        systems={run.system.name: _build_system_scores(run) for run in scored},
    )
    return document.model_dump(mode="json")


def _build_system_scores(run: PredictionRun) -> SystemScores:
    return SystemScores(
        revision=run.revision,
        n=run.score.n,
        source="computed",
        scores=run.score.values,
        reasons=run.score.reasons,
    )

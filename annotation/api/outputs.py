"""Endpoints of systems against gold: list, faithfulness, comparison."""

from dataclasses import asdict
from typing import Annotated, Literal

from django.http import HttpResponse
from pydantic import Field
from rest_framework.request import Request

from accounts.policy import Act
from annotation.api.base import EditorView, answer, read_query
from annotation.api.describe import described
from annotation.api.shapes import ComparisonRow, FaithfulnessRow, SystemList, SystemRow
from annotation.queries import outputs
from annotation.schemas import Payload
from annotation.views.access import member_or_404
from foundation.import_fields import Text

Name = Annotated[Text, Field(min_length=1, max_length=100)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]


class FaithfulnessQuery(Payload):
    """A system to score; ``resamples`` above 0 add confidence intervals.

    The ``worst`` items are listed.
    """

    system: Name
    revision: Name
    worst: Annotated[int, Field(ge=0, le=1000)] = outputs.WORST
    resamples: Annotated[int, Field(ge=0, le=10_000)] = 0
    seed: Seed = 0


class ComparisonQuery(Payload):
    """Two systems to compare. Spans have one averaging only."""

    first_system: Name
    first_revision: Name
    second_system: Name
    second_revision: Name
    averaging: Literal["per_example", "cumulative", "per_occurrence", "negative_iou"] = "per_example"
    module: Name = "overall"
    trials: Annotated[int, Field(ge=1, le=100_000)] = 100_000
    seed: Seed = 0


class SystemsView(EditorView):
    """The systems with model outputs in a project."""

    @described(answers=SystemList)
    def get(self, request: Request, slug: str) -> HttpResponse:
        """List systems."""
        member = member_or_404(request, slug, Act.ANNOTATION_SETTLE)
        systems = outputs.systems(member.project)
        return answer(SystemList(results=[SystemRow(**asdict(system)) for system in systems]))


class FaithfulnessView(EditorView):
    """A system's modules against the current gold."""

    @described(answers=FaithfulnessRow, query=FaithfulnessQuery, errors=(409,))
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Score a systems modules."""
        member = member_or_404(request, slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, FaithfulnessQuery)
        scores = outputs.faithfulness(
            member.project,
            query.system,
            query.revision,
            most=query.worst,
            resamples=query.resamples,
            seed=query.seed,
        )
        return answer(FaithfulnessRow.model_validate(asdict(scores)))


class ComparisonView(EditorView):
    """Two systems against the same gold."""

    @described(answers=ComparisonRow, query=ComparisonQuery, errors=(409,))
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Compare two systems."""
        member = member_or_404(request, slug, Act.ANNOTATION_SETTLE)
        query = read_query(request, ComparisonQuery)
        comparison = outputs.compare(
            member.project,
            (query.first_system, query.first_revision),
            (query.second_system, query.second_revision),
            averaging=query.averaging,
            module=query.module,
            trials=query.trials,
            seed=query.seed,
        )
        return answer(ComparisonRow(**asdict(comparison)))

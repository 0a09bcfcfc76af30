"""Types of requests and responses about the outputs of systems."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, RootModel

from accounts.rest.bodies import Payload
from accounts.rest.pages import Page
from annotation.content.schemas import ModuleOutput, Object, Position, SystemRecord, Value
from annotation.queries import outputs
from annotation.rest.shapes import Name, SystemName
from annotation.suggestions import Fit
from foundation.imports.import_fields import Text
from touchstone.client.project_rows import Averaging, OutputSystem

Seed = Annotated[int, Field(ge=0, lt=2**32)]


class SystemRecords(RootModel[list[SystemRecord]]):
    """Model outputs for several items, as a list."""


class OutputRow(Payload):
    """The output of one revision of a system for an item."""

    id: str
    item_id: str
    item: str
    system: str
    revision: str
    created_at: datetime
    proposals: list[list[tuple[float, float, float, float]]]
    modules: list[ModuleOutput]
    answer: Value | None
    marks: dict[Position, tuple[Object, ...]]
    score: float | None


class OutputQuery(Page):
    """Filters of model outputs."""

    item: Name | None = None
    system: Name | None = None
    revision: Name | None = None


class NewOutputsQuery(Payload):
    """The system and revision of added outputs."""

    system: SystemName
    revision: SystemName


class Added(Payload):
    """The number of new rows."""

    added: int


class SystemList(Payload):
    """The systems with model outputs in a project."""

    results: list[OutputSystem]


class AcceptanceRow(Payload):
    """The decisions of people on the suggestions of a system's revision.

    The numbers of suggestions are of ``shown`` finished annotations, whose annotators saw them; the agreement
    of the system, from 0 to 1, is apart for these and for ``blind`` ones.
    """

    system: str
    revision: str
    shown: int
    suggested: int
    accepted: int
    changed: int
    rejected: int
    with_shown: float | None
    blind: int
    with_blind: float | None


class AcceptanceList(Payload):
    """The systems that suggest something in a project."""

    results: list[AcceptanceRow]


class FaithfulnessQuery(Payload):
    """A system to score; ``resamples`` above 0 add confidence intervals.

    The ``worst`` items are listed.
    """

    system: SystemName
    revision: SystemName
    worst: Annotated[int, Field(ge=0, le=1000)] = outputs.WORST_ITEMS
    resamples: Annotated[int, Field(ge=0, le=10_000)] = 0
    seed: Seed = 0


class ComparisonQuery(Payload):
    """Two systems to compare. Spans have one averaging only."""

    first_system: SystemName
    first_revision: SystemName
    second_system: SystemName
    second_revision: SystemName
    averaging: Averaging = "per_example"
    module: SystemName = "overall"
    trials: Annotated[int, Field(ge=1, le=100_000)] = 100_000
    seed: Seed = 0


class NewOutputRun(Payload):
    """The served system: a modular network, or a reader or language model.

    The first executes the programs; the others are asked about the items, and ``fit`` says what becomes of
    their answers.
    """

    system: SystemName
    kind: Literal["modular", "reader"] = "modular"
    fit: Fit | None = None


class MlBackend(Payload):
    """The address of the Label Studio ML backend of a project; "" for none."""

    url: Annotated[Text, Field(max_length=500)]

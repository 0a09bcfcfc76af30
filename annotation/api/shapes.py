"""Types of requests and responses of the data API, and of its OpenAPI."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, RootModel

from annotation.schemas import (
    Document,
    ItemRecord,
    Kind,
    ModuleOutput,
    Payload,
    Position,
    SystemRecord,
    Value,
)
from foundation.import_fields import Text

RoleName = Literal["annotator", "adjudicator", "manager"]
WorkspaceRoleName = Literal["owner", "researcher", "analyst", "viewer", "manager", "adjudicator", "annotator"]
Purpose = Literal["ordinary", "qualification", "hidden gold"]
AnnotationStatus = Literal[
    "reserved", "submitted", "in review", "returned", "accepted", "expired", "released"
]
Key = int  # the id of a row


class ItemStatus(StrEnum):
    """Status of items: wanting annotators, complete, with or without gold."""

    OPEN = "open"
    COMPLETE = "complete"
    GOLD = "gold"
    NO_GOLD = "no gold"


class ProjectRow(Payload):
    """A project that I see, and my roles in it: by share or in its workspace."""

    slug: str
    title: str
    kind: Kind
    status: Literal["open", "closed"]
    roles: list[WorkspaceRoleName]
    annotators_per_item: int


class ProjectDetail(ProjectRow):
    """A project with its progress: counts of items and annotations.

    ``complete`` items have enough submitted annotations; ``places`` is the number of annotations wanted
    over all items.
    """

    items: int
    complete: int
    gold: int
    places: int
    submitted: int


class ImageRow(Payload):
    """An image of an item; ``url`` is empty if only its name is known."""

    name: str
    width: int | None
    height: int | None
    url: str


class ItemRow(Payload):
    """An item. For annotators, fields that could reveal gold are null.

    These are purpose, extra, counts, and the answer if the project hides it.
    """

    id: Key
    external_id: str
    position: int
    kind: Kind
    program: str
    text: str
    passage: str
    tokens: list[tuple[Position, Position]]
    images: list[ImageRow]
    answer: Value | None
    purpose: Purpose | None
    extra: dict[str, Any] | None
    places: int | None
    taken: int | None
    submitted: int | None
    has_gold: bool | None


class ImportRow(Payload):
    """The results of an import, or of its dry run."""

    added: int
    unchanged: int
    with_gold: int
    annotations: int
    images: int


class AnnotationRow(Payload):
    """One person's annotation of an item, or an adjudication."""

    id: Key
    item_id: Key
    item: str
    annotator: str
    task: Literal["annotation", "adjudication"]
    status: AnnotationStatus
    revision: int
    started_at: datetime
    saved_at: datetime | None
    submitted_at: datetime | None
    active_seconds: float
    predictions_shown: list[str]
    document: Document


class HistoryRow(Payload):
    """One edit and its inverse."""

    id: UUID
    revision: int
    by: str
    at: datetime
    edit: dict[str, Any]
    inverse: dict[str, Any]
    undoes: UUID | None


class CommentRow(Payload):
    """A comment on an annotation, a node or an object."""

    id: Key
    node: int | None
    object: str
    text: str
    by: str
    at: datetime
    resolved: bool


class AnnotationDetail(AnnotationRow):
    """An annotation with every edit, oldest first, and its comments."""

    history: list[HistoryRow]
    comments: list[CommentRow]


class SavedRow(Payload):
    """A stored operation, the revision after it, and the inverse edit."""

    id: UUID
    revision: int
    inverse: dict[str, Any]


class Outcome(Payload):
    """The values of a program, and if they contradict the answer."""

    revision: int
    values: list[Any]
    mismatch: bool | None


class Saved(Outcome):
    """An annotation after its operations."""

    saved: list[SavedRow]


class EditorState(Outcome):
    """All that the editor shows of an annotation."""

    id: Key
    task: Literal["annotation", "adjudication"]
    status: AnnotationStatus
    reserved_until: datetime | None
    item: dict[str, Any]
    program: dict[str, Any]
    document: Document
    guidelines: dict[str, Any]
    comments: list[CommentRow]
    predictions: list[dict[str, Any]] | None
    others: dict[str, Any] | None
    history: list[dict[str, Any]]
    keys: dict[str, str]


class Next(Payload):
    """The address to continue at, and with ``go_on`` the next item's state."""

    next: str | None
    work: EditorState | None = None


class GoldRow(Payload):
    """A version of an item's gold. ``work`` is the annotation it came from."""

    id: Key
    item_id: Key
    item: str
    version: int
    current: bool
    method: Literal["imported", "accepted", "adjudicated"]
    work: Key | None
    by: str | None
    at: datetime
    document: Document


class ItemRecords(RootModel[list[ItemRecord]]):
    """Items as a list."""


class SystemRecords(RootModel[list[SystemRecord]]):
    """Model outputs for several items, as a list."""


class NewGold(Payload):
    """A document to become an item's gold."""

    document: Document


class PredictionRow(Payload):
    """The output of one revision of a system for an item."""

    id: Key
    item_id: Key
    item: str
    system: str
    revision: str
    created_at: datetime
    proposals: list[list[tuple[float, float, float, float]]]
    modules: list[ModuleOutput]
    answer: Value | None


class Added(Payload):
    """The number of new rows."""

    added: int


class MemberRow(Payload):
    """A person of the project, with all of their roles in it.

    ``role`` is that of the share, which has ended or never was if ``active`` is false.
    """

    username: str
    role: RoleName
    active: bool
    roles: list[WorkspaceRoleName]
    qualified: bool | None
    joined_at: datetime


class NewMember(Payload):
    """A person to add to the project, and their role."""

    username: Annotated[Text, Field(min_length=1, max_length=150)]
    role: RoleName = "annotator"
    active: bool = True


class GuidelineRow(Payload):
    """A version of the instructions for a module ("" for the project)."""

    module: str
    version: int
    text: str
    created_at: datetime
    created_by: str | None


class NewGuideline(Payload):
    """The text of a module's next version."""

    module: Annotated[str, Field(max_length=60, pattern=r"^[a-z0-9-]*$")] = ""
    text: Annotated[Text, Field(min_length=1, max_length=20_000)]


class WebhookRow(Payload):
    """An address that receives events; all kinds if ``kinds`` is empty."""

    id: Key
    url: str
    kinds: list[str]
    active: bool
    created_at: datetime
    waiting: int
    failed: int


class NewWebhook(Payload):
    """An address to send events to."""

    url: Annotated[Text, Field(min_length=1, max_length=500)]
    kinds: Annotated[list[Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]], Field(max_length=50)] = []


class MadeWebhook(WebhookRow):
    """A new webhook with its signing secret, which is shown only once."""

    secret: str


class DeliveryRow(Payload):
    """One event for one address. ``next_at`` is null if delivered or failed."""

    id: Key
    kind: str
    created_at: datetime
    attempts: int
    next_at: datetime | None
    delivered_at: datetime | None
    last_error: str


class Problem(Payload):
    """An error message and its field. Some errors add data.

    Examples are open nodes, and the stored document after a conflict.
    """

    model_config = ConfigDict(extra="allow")

    detail: str
    field: str = ""


class ItemPage(Payload):
    """Some items, and the address of the next page."""

    next: str | None
    results: list[ItemRow]


class AnnotationPage(Payload):
    """Some annotations, and the address of the next page."""

    next: str | None
    results: list[AnnotationRow]


class GoldPage(Payload):
    """Some gold, and the address of the next page."""

    next: str | None
    results: list[GoldRow]


class PredictionPage(Payload):
    """Some model outputs, and the address of the next page."""

    next: str | None
    results: list[PredictionRow]


class DeliveryList(Payload):
    """The last deliveries, newest first."""

    results: list[DeliveryRow]


class ProjectList(Payload):
    """My projects, newest first."""

    results: list[ProjectRow]


class MemberList(Payload):
    """The people of a project."""

    results: list[MemberRow]


class GuidelineList(Payload):
    """Guidelines, every version, by module."""

    results: list[GuidelineRow]


class WebhookList(Payload):
    """The webhooks of a project."""

    results: list[WebhookRow]


class SystemRow(Payload):
    """A revision of a system, with its numbers of items and of gold."""

    system: str
    revision: str
    items: int
    with_gold: int


class SystemList(Payload):
    """The systems with model outputs in a project."""

    results: list[SystemRow]


class FigureRow(Payload):
    """One score with a 95 % confidence interval.

    Precision, recall and F1 of boxes, or the loss of spans in nats.
    """

    n: int
    precision: float | None
    recall: float | None
    f1: float | None
    loss: float | None
    interval: tuple[float, float] | None


class WorstRow(Payload):
    """An item with its score (F1, or loss) and its worst step."""

    item_id: Key
    item: str
    score: float
    node: int | None
    module: str | None
    module_score: float | None


class FaithfulnessRow(Payload):
    """A system against the current gold, with the worst items first."""

    system: str
    revision: str
    kind: Kind
    items: int
    without_gold: int
    figures: dict[str, dict[str, FigureRow]]
    upper: dict[str, dict[str, FigureRow]]
    worst: list[WorstRow]


class ComparisonRow(Payload):
    """Two systems compared by a paired permutation test.

    ``difference`` is first minus second.
    """

    first: float
    second: float
    difference: float
    n: int
    trials: int
    as_extreme: int
    p: float

"""What the data API sends out and takes in, declared once: the OpenAPI description is made from these."""

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
Purpose = Literal["ordinary", "qualification", "hidden gold"]
AnnotationStatus = Literal[
    "reserved", "submitted", "in review", "returned", "accepted", "expired", "released"
]
Key = int  # the id of a row


class ItemStatus(StrEnum):
    """Which items: those that want annotators, those with enough finished works, with or without gold."""

    OPEN = "open"
    COMPLETE = "complete"
    GOLD = "gold"
    NO_GOLD = "no gold"


class ProjectRow(Payload):
    """A project that one is a member of, and one's role in it."""

    slug: str
    title: str
    kind: Kind
    status: Literal["open", "closed"]
    role: RoleName
    annotators_per_item: int


class ProjectDetail(ProjectRow):
    """A project with how far it is: ordinary items, those with enough finished works, those with gold."""

    items: int
    complete: int
    gold: int
    places: int
    submitted: int


class ImageRow(Payload):
    """An image of an item, its size as shown; ``url`` is empty where the site has only its name."""

    name: str
    width: int | None
    height: int | None
    url: str


class ItemRow(Payload):
    """An item. For annotators what could give gold away is null: purpose, extra, counts, at times answer."""

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
    """What an import did, or with ``dry_run`` would do."""

    added: int
    unchanged: int
    with_gold: int
    annotations: int
    images: int


class AnnotationRow(Payload):
    """One person's work on one item, or an adjudication."""

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
    """One edit: what it did, and what takes it back."""

    id: UUID
    revision: int
    by: str
    at: datetime
    edit: dict[str, Any]
    inverse: dict[str, Any]
    undoes: UUID | None


class CommentRow(Payload):
    """A remark on a work, a node or an object."""

    id: Key
    node: int | None
    object: str
    text: str
    by: str
    at: datetime
    resolved: bool


class AnnotationDetail(AnnotationRow):
    """A work with every edit that it was made of, oldest first, and its comments."""

    history: list[HistoryRow]
    comments: list[CommentRow]


class SavedRow(Payload):
    """An operation that is stored: the work's revision after it, and the edit that takes it back."""

    id: UUID
    revision: int
    inverse: dict[str, Any]


class Outcome(Payload):
    """What the program gives on what is drawn: a value per node, and whether it contradicts the answer."""

    revision: int
    values: list[Any]
    mismatch: bool | None


class Saved(Outcome):
    """A work after its operations."""

    saved: list[SavedRow]


class EditorState(Outcome):
    """All that the editor shows of a work."""

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
    """Where to go on, and with ``go_on`` the item that was handed out there."""

    next: str | None
    work: EditorState | None = None


class GoldRow(Payload):
    """A version of an item's gold. ``work`` is what it was accepted or settled from."""

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
    """A system's outputs for several items, as a list."""


class NewGold(Payload):
    """The document to become an item's gold."""

    document: Document


class PredictionRow(Payload):
    """What one revision of a system put out for an item."""

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
    """How many rows were new."""

    added: int


class MemberRow(Payload):
    """Somebody in a project; ``active`` is false once their membership ended."""

    username: str
    role: RoleName
    active: bool
    qualified: bool | None
    joined_at: datetime


class NewMember(Payload):
    """Who is to be in the project, and as what."""

    username: Annotated[Text, Field(min_length=1, max_length=150)]
    role: RoleName = "annotator"
    active: bool = True


class GuidelineRow(Payload):
    """A version of what annotators are asked to do for one module ("" for the whole project)."""

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
    """An address that is told of events; of every kind where ``kinds`` is empty."""

    id: Key
    url: str
    kinds: list[str]
    active: bool
    created_at: datetime
    waiting: int
    failed: int


class NewWebhook(Payload):
    """An address to tell of events."""

    url: Annotated[Text, Field(min_length=1, max_length=500)]
    kinds: Annotated[list[Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]], Field(max_length=50)] = []


class MadeWebhook(WebhookRow):
    """A new webhook with the secret that signs its deliveries. It is shown this once."""

    secret: str


class DeliveryRow(Payload):
    """One event on its way to one address. ``next_at`` is null once it is delivered or given up."""

    id: Key
    kind: str
    created_at: datetime
    attempts: int
    next_at: datetime | None
    delivered_at: datetime | None
    last_error: str


class TokenState(Payload):
    """Whether one has a token, and since when. The token itself is told only when it is made."""

    made_at: datetime | None


class MadeToken(TokenState):
    """A new token. The one before is no longer valid."""

    token: str


class Problem(Payload):
    """What is wrong, as a sentence, and where it is known the field. Some errors say more: open nodes, what
    is stored now."""

    model_config = ConfigDict(extra="allow")

    detail: str
    field: str = ""


class ItemPage(Payload):
    """Some items, and the address of the next ones."""

    next: str | None
    results: list[ItemRow]


class AnnotationPage(Payload):
    """Some works, and the address of the next ones."""

    next: str | None
    results: list[AnnotationRow]


class GoldPage(Payload):
    """Some gold, and the address of the next."""

    next: str | None
    results: list[GoldRow]


class PredictionPage(Payload):
    """Some systems' outputs, and the address of the next ones."""

    next: str | None
    results: list[PredictionRow]


class DeliveryList(Payload):
    """The last deliveries, the newest first."""

    results: list[DeliveryRow]


class ProjectList(Payload):
    """One's projects, newest first."""

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
    """A revision of a system: for how many items it has outputs, and how many of those have gold."""

    system: str
    revision: str
    items: int
    with_gold: int


class SystemList(Payload):
    """The systems with outputs in a project."""

    results: list[SystemRow]


class FigureRow(Payload):
    """One score: precision, recall and F1 of boxes, or the loss of spans in nats; with a 95 % interval."""

    n: int
    precision: float | None
    recall: float | None
    f1: float | None
    loss: float | None
    interval: tuple[float, float] | None


class WorstRow(Payload):
    """An item with its score (F1, or loss) and the step that went most wrong."""

    item_id: Key
    item: str
    score: float
    node: int | None
    module: str | None
    module_score: float | None


class FaithfulnessRow(Payload):
    """A system against the current gold: figures by averaging and module, and the worst items first."""

    system: str
    revision: str
    kind: Kind
    items: int
    without_gold: int
    figures: dict[str, dict[str, FigureRow]]
    upper: dict[str, dict[str, FigureRow]]
    worst: list[WorstRow]


class ComparisonRow(Payload):
    """A first system against a second by a paired permutation test; ``difference`` is first minus second."""

    first: float
    second: float
    difference: float
    n: int
    trials: int
    as_extreme: int
    p: float

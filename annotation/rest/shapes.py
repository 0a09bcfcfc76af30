"""Types of requests and responses about projects and items."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from accounts.rest.bodies import Payload
from accounts.rest.pages import Page, PageOf
from accounts.rest.shapes import RoleName
from annotation.downloads import ExportFormat
from annotation.imports import ImportFormat
from annotation.schemas import Document, ItemRecord, Kind, Position, Value
from foundation.import_fields import Text

ProjectRoleName = Literal["annotator", "adjudicator", "manager"]
Purpose = Literal["ordinary", "qualification", "hidden gold"]
Name = Annotated[Text, Field(min_length=1, max_length=200)]
SystemName = Annotated[Text, Field(min_length=1, max_length=100)]
UserName = Annotated[Text, Field(min_length=1, max_length=150)]
Slug = Annotated[Text, Field(pattern=r"^[-a-zA-Z0-9_]+$", max_length=100)]
Title = Annotated[Text, Field(min_length=1, max_length=200)]
FileName = Annotated[Text, Field(min_length=1, max_length=100)]
Annotators = Annotated[int, Field(ge=1, le=20)]


class ProjectRow(Payload):
    """A project that you see, and your roles in it: by share or workspace."""

    id: str
    slug: str
    workspace: str
    title: str
    kind: Kind
    status: Literal["open", "closed"]
    roles: list[RoleName]
    annotators_per_item: int
    created_at: datetime


class ProjectSettings(Payload):
    """The settings of a project that annotators notice."""

    reservation_minutes: int
    show_answer: bool
    show_predictions: bool
    qualification_score: float | None
    hidden_gold_every: int | None
    due_on: date | None


class ProjectDetail(ProjectRow, ProjectSettings):
    """A project with its settings and its progress.

    The progress counts ordinary items and their annotations. ``complete`` items have enough submitted
    annotations; ``assignments`` is the number of annotations wanted over all items.
    """

    items: int
    complete: int
    gold: int
    assignments: int
    submitted: int


class Labels(Payload):
    """The layers of a plain task, as in a label configuration."""

    layers: list[dict[str, Any]]


LabelName = Annotated[Text, Field(min_length=1, max_length=60)]


class NewLabelName(Payload):
    """A label of a layer, or of a question about its marks, and its new name."""

    layer: LabelName
    question: Annotated[Text, Field(max_length=60)] = ""
    label: LabelName
    new_name: LabelName


class LabelToRemove(Payload):
    """A label to delete, and the label that takes over its uses, if any."""

    layer: LabelName
    question: Annotated[Text, Field(max_length=60)] = ""
    label: LabelName
    into: Annotated[Text, Field(max_length=60)] = ""


class ProjectQuery(Page):
    """Filters of projects."""

    workspace: SystemName | None = None
    status: Literal["open", "closed"] | None = None


class ChangedSettings(Payload):
    """The settings to change; those that are left out stay as they are."""

    title: Title = ""
    annotators_per_item: Annotators = 1
    reservation_minutes: Annotated[int, Field(ge=1, le=10_000)] = 120
    show_answer: bool = True
    show_predictions: bool = False
    qualification_score: Annotated[float, Field(ge=0, le=1)] | None = None
    hidden_gold_every: Annotated[int, Field(ge=2, le=32_767)] | None = None
    due_on: date | None = None


class NewProject(ChangedSettings):
    """A new project, of which you become a manager."""

    workspace: SystemName
    slug: Slug
    title: Title
    kind: Kind
    labels: Labels | None = None


class MemberRow(Payload):
    """A person of the project, with all of their roles in it.

    ``role`` is that of the share, which has ended or never was if ``active`` is false.
    """

    id: str
    user: str
    role: ProjectRoleName
    active: bool
    roles: list[RoleName]
    qualified: bool | None
    blind: bool
    joined_at: datetime


class NewMember(Payload):
    """A person to add to the project, and their role.

    ``blind`` people see no model outputs; without it that stays as it is.
    """

    user: UserName
    role: ProjectRoleName = "annotator"
    blind: bool | None = None


class Qualification(Payload):
    """The decision of a manager, whatever the score is."""

    qualified: bool


class NewProjectInvitation(Payload):
    """The role that a link gives in the project."""

    role: ProjectRoleName
    days: Annotated[int, Field(ge=1, le=90)] = 7
    email: Annotated[Text, Field(max_length=254)] = ""


class GuidelineRow(Payload):
    """A version of the instructions for a module ("" for the project)."""

    id: str
    module: str
    version: int
    text: str
    created_at: datetime
    created_by: str | None


class GuidelineQuery(Page):
    """Filters of guidelines."""

    module: Annotated[Text, Field(max_length=60)] | None = None


class NewGuideline(Payload):
    """The text of a module's next version."""

    module: Annotated[str, Field(max_length=60, pattern=r"^[a-z0-9-]*$")] = ""
    text: Annotated[Text, Field(min_length=1, max_length=20_000)]


class NewProjectWebhook(Payload):
    """An address to send events to."""

    url: Annotated[Text, Field(min_length=1, max_length=500)]
    kinds: Annotated[list[Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]], Field(max_length=50)] = []


class ItemStatus(StrEnum):
    """Status of items: wanting annotators, complete, with or without gold."""

    OPEN = "open"
    COMPLETE = "complete"
    GOLD = "gold"
    NO_GOLD = "no gold"


class ImageRow(Payload):
    """An image of an item; ``url`` is empty if only its name is known."""

    id: str
    name: str
    width: int | None
    height: int | None
    url: str


class ItemRow(Payload):
    """An item. For annotators, fields that could reveal gold are null.

    These are purpose, extra, counts, and the answer if the project hides it.
    """

    id: str
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
    annotators_wanted: int | None
    assigned: int | None
    submitted: int | None
    has_gold: bool | None


class ItemQuery(Page):
    """Filters of items. Annotators see those assigned to them."""

    status: ItemStatus | None = None
    external_id: Name | None = None


class NewOrder(Payload):
    """The order of assignment; ``first`` and ``last`` name ``items``."""

    order: Literal["file", "random", "uncertain", "disputed", "first", "last"]
    items: Annotated[list[Name], Field(max_length=1_000)] = []


class OrderedItems(Payload):
    """The number of items whose place in the order was set."""

    items: int


class ItemRecords(RootModel[list[ItemRecord]]):
    """Items as a list."""


class NewItemsQuery(Payload):
    """The purpose of new items; a dry run checks them and stores nothing."""

    purpose: Purpose = "ordinary"
    dry_run: bool = False


class ImportCounts(Payload):
    """The results of an import, or of its dry run."""

    added: int
    unchanged: int
    with_gold: int
    annotations: int
    images: int


class ImportFileQuery(NewItemsQuery):
    """The format of an uploaded file of items, or of images in a zip file.

    Its name is for messages. ``labels_from_file`` replaces the task of a project without items.
    """

    format: ImportFormat
    labels_from_file: bool = False
    file_name: FileName = "upload"


class NewItemExport(Payload):
    """The format of an exported file; ``gold_only`` leaves out other items."""

    format: ExportFormat
    gold_only: bool = False


class ImageQuery(Page):
    """Filters of images."""

    name: Annotated[Text, Field(min_length=1, max_length=500)] | None = None


class NewImageQuery(Payload):
    """The name of an uploaded image, by which items refer to it."""

    name: Annotated[Text, Field(min_length=1, max_length=500)]


class GoldRow(Payload):
    """A version of an item's gold.

    ``annotation`` is the ID of the annotation that it came from.
    """

    id: str
    item_id: str
    item: str
    version: int
    current: bool
    method: Literal["imported", "accepted", "adjudicated"]
    annotation: str | None
    by: str | None
    at: datetime
    document: Document


class GoldQuery(Page):
    """Filters of gold: current, or with ``versions`` every version."""

    item: Name | None = None
    versions: bool = False


class NewGold(Payload):
    """A document to become an item's gold."""

    document: Document


class AgreementRow(Payload):
    """A measure of inter-annotator agreement with its confidence interval.

    ``by`` and ``name`` are the group of nodes: all, those of a module or depth, or those of a module at whose
    children two people agree. ``value`` is null if it cannot be given; ``reason`` says why.
    """

    by: str
    name: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None


class FirstDifference(Payload):
    """The number of pairs of people who first differ at a module (or never)."""

    module: str | None
    pairs: int


class ProjectAgreement(Payload):
    """Inter-annotator agreement over the items that two or more finished."""

    items: int
    results: list[AgreementRow]
    first_differences: list[FirstDifference]


ProjectPage, MemberPage, GuidelinePage = PageOf[ProjectRow], PageOf[MemberRow], PageOf[GuidelineRow]
ItemPage, ImagePage, GoldPage = PageOf[ItemRow], PageOf[ImageRow], PageOf[GoldRow]

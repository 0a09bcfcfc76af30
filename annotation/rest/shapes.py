"""Types of requests and responses about projects and items."""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, RootModel

from accounts.rest.bodies import Payload
from accounts.rest.pages import Page
from annotation.content.schemas import Document, ItemRecord, Kind
from annotation.downloads import ExportFormat
from annotation.event_labels import EVENT_LABELS
from annotation.importing.items import ImportFormat
from foundation.imports.import_fields import Filled, Text
from foundation.messages import value_error
from touchstone.client.project_rows import (
    ItemStatus,
    Order,
    ProjectRole,
    ProjectStatus,
    Purpose,
)

Name = Annotated[Text, Field(min_length=1, max_length=200)]
SystemName = Annotated[Text, Field(min_length=1, max_length=100)]
UserName = Annotated[Text, Field(min_length=1, max_length=150)]
Slug = Annotated[Text, Field(pattern=r"^[-a-zA-Z0-9_]+$", max_length=100)]
Title = Annotated[Filled, Field(max_length=200)]
FileName = Annotated[Text, Field(min_length=1, max_length=100)]
Annotators = Annotated[int, Field(ge=1, le=20)]


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
    status: ProjectStatus | None = None


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


class NewMember(Payload):
    """A person to add to the project, and their role.

    ``blind`` people see no model outputs; without it that stays as it is.
    """

    user: UserName
    role: ProjectRole = "annotator"
    blind: bool | None = None


class Qualification(Payload):
    """The decision of a manager, whatever the score is."""

    qualified: bool


class NewProjectInvitation(Payload):
    """The role that a link gives in the project."""

    role: ProjectRole
    days: Annotated[int, Field(ge=1, le=90)] = 7
    email: Annotated[Text, Field(max_length=254)] = ""


class GuidelineQuery(Page):
    """Filters of guidelines."""

    module: Annotated[Text, Field(max_length=60)] | None = None


class NewGuideline(Payload):
    """The text of a module's next version."""

    module: Annotated[str, Field(max_length=60, pattern=r"^[a-z0-9-]*$")] = ""
    text: Annotated[Filled, Field(max_length=20_000)]


def _check_event(kind: str) -> str:
    if kind not in EVENT_LABELS.kinds:
        raise value_error("%(kind)r is not an event of a project", kind=kind)
    return kind


class NewProjectWebhook(Payload):
    """An address to send events to."""

    url: Annotated[Text, Field(min_length=1, max_length=500)]
    kinds: Annotated[list[Annotated[str, AfterValidator(_check_event)]], Field(max_length=50)] = []


class ItemQuery(Page):
    """Filters of items. Annotators see those assigned to them."""

    status: ItemStatus | None = None
    external_id: Name | None = None


class NewOrder(Payload):
    """The order of assignment; ``first`` and ``last`` name ``items``."""

    order: Order
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

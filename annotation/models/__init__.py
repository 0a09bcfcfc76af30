"""Tables of projects, members, items, model outputs, annotations and gold."""

from annotation.models.annotations import Annotation, AppendOnlyRow, Comment, Gold, Operation
from annotation.models.batches import Batch
from annotation.models.imports import ItemImport
from annotation.models.items import ImageFile, Item, Order, SystemOutput
from annotation.models.projects import AuditEvent, Guideline, KeyBindings, Kind, Membership, Project, Role
from annotation.models.runs import OutputFailure, OutputRun
from annotation.models.webhooks import Delivery, Webhook

__all__ = [
    "Annotation",
    "AppendOnlyRow",
    "AuditEvent",
    "Batch",
    "Comment",
    "Delivery",
    "Gold",
    "Guideline",
    "ImageFile",
    "Item",
    "ItemImport",
    "KeyBindings",
    "Kind",
    "Membership",
    "Operation",
    "Order",
    "OutputFailure",
    "OutputRun",
    "Project",
    "Role",
    "SystemOutput",
    "Webhook",
]

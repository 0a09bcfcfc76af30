"""Tables of the annotation app: projects and people, items and systems' outputs, works and gold."""

from annotation.models.annotations import AppendOnlyRow, Comment, Gold, Operation, Work
from annotation.models.items import ImageFile, Item, SystemOutput
from annotation.models.projects import AuditEvent, Guideline, KeyBindings, Kind, Membership, Project, Role
from annotation.models.runs import OutputFailure, OutputRun
from annotation.models.webhooks import Delivery, Webhook

__all__ = [
    "AppendOnlyRow",
    "AuditEvent",
    "Comment",
    "Delivery",
    "Gold",
    "Guideline",
    "ImageFile",
    "Item",
    "KeyBindings",
    "Kind",
    "Membership",
    "Operation",
    "OutputFailure",
    "OutputRun",
    "Project",
    "Role",
    "SystemOutput",
    "Webhook",
    "Work",
]

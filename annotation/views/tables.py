"""The tables of the pages of annotation: columns and how they sort."""

from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from foundation.pages.tables import Column, Table

# A row is a person in a project, their roles there, and whether they get items.
PROJECTS = Table(
    (
        Column("project", _("Project"), lambda row: row[0].project.title.casefold()),
        Column("kind", _("Objects to mark"), lambda row: row[0].project.get_kind_display()),
        Column("status", _("Status"), lambda row: row[0].project.get_status_display()),
        Column("roles", _("Your roles")),
        Column("submitted", _("Submitted by you"), lambda row: row[0].project.done, is_number=True),
        Column("returned", _("Returned to you"), lambda row: row[0].project.returned, is_number=True),
        Column("due", _("Due date"), lambda row: row[0].project.due_on),
        Column("action", _("Action")),
    )
)
PEOPLE = Table(
    (
        Column("person", _("Person"), lambda row: row.name.casefold()),
        Column("role", _("Role"), lambda row: row.role),
        Column("finished", _("Finished"), lambda row: row.finished, is_number=True),
        Column("week", _("Last 7 days"), lambda row: row.last_week, is_number=True),
        Column("in_progress", _("In progress"), lambda row: row.under_way, is_number=True),
        Column("returned", _("Returned"), lambda row: row.returned, is_number=True),
        Column("seconds", _("Seconds per item"), lambda row: row.seconds, is_number=True),
        Column("f1", _("F1 against gold"), lambda row: row.known_f1, is_number=True),
        Column("saved", _("Last saved"), lambda row: row.last_saved),
        Column("action", _("Action")),
    ),
    "-finished",
)
# Only orders that an index gives: a project may have 100,000 items. A text is too long for an index, and a
# state is computed from several tables; the page searches the one and filters by the other.
ITEMS = Table(
    (
        Column("item", _("Item"), ("external_id",)),
        Column("text", _("Text")),
        Column("state", _("State")),
        Column("submitted", _("Submitted"), ("submitted",), is_number=True),
        Column("position", _("Position"), ("position",)),
    ),
    "position",
)
SYSTEMS = Table(
    (
        Column("system", _("System"), lambda row: (row.system.casefold(), row.revision)),
        Column("revision", _("Revision"), lambda row: row.revision),
        Column("items", _("Items"), lambda row: row.items, is_number=True),
        Column("gold", _("With gold"), lambda row: row.with_gold, is_number=True),
        Column("action", _("Action")),
    ),
    "system",
    parameter="systems",
)
ACCEPTANCE = Table(
    (
        Column("system", _("System"), lambda row: (row.system.casefold(), row.revision)),
        Column("shown", _("Shown to annotators"), lambda row: row.shown, is_number=True),
        Column("suggested", _("Suggestions"), lambda row: row.suggested, is_number=True),
        Column("accepted", _("Accepted"), lambda row: row.accepted, is_number=True),
        Column("changed", _("Changed"), lambda row: row.changed, is_number=True),
        Column("rejected", _("Rejected"), lambda row: row.rejected, is_number=True),
        Column("left", _("Undecided"), lambda row: row.left, is_number=True),
        Column("with_shown", _("Agreement, shown"), lambda row: row.with_shown, is_number=True),
        Column("with_blind", _("Agreement, not shown"), lambda row: row.with_blind, is_number=True),
    ),
    "system",
    parameter="suggestions",
)
# A row is a run, its progress, and the reasons of its failures.
RUNS = Table(
    (
        Column("system", _("System"), lambda row: (row[0].system.casefold(), row[0].revision)),
        Column("status", _("Status"), lambda row: str(row[0].get_status_display())),
        Column("progress", _("Progress"), lambda row: row[1].done),
        Column("failed", _("Failed"), lambda row: row[1].failures, is_number=True),
        Column("action", _("Action")),
    ),
    parameter="runs",
)
# A row is an import, and if it can be undone.
IMPORTS = Table(
    (
        Column("file", _("File"), lambda row: row[0].source.casefold()),
        Column("time", _("Time"), lambda row: row[0].at),
        Column("user", _("User"), lambda row: row[0].by and row[0].by.username.casefold()),
        Column("items", _("Items"), lambda row: row[0].counts.get("added"), is_number=True),
        Column("images", _("Images"), lambda row: row[0].counts.get("images"), is_number=True),
        Column("action", _("Action")),
    ),
    "-time",
)
BATCHES = Table(
    (
        Column("batch", _("Batch"), lambda row: row.batch.name.casefold()),
        Column("person", _("Person"), lambda row: row.batch.annotator.username.casefold()),
        Column("finished", _("Finished"), lambda row: row.finished / (row.items or 1), is_number=True),
        Column("due", _("Due date"), lambda row: row.batch.due_on),
        Column("action", _("Action")),
    )
)
LOWEST = Table(
    (
        Column("item", _("Item"), lambda row: row.item),
        Column("score", _("Score"), lambda row: row.score),
        Column("step", _("Lowest-scoring step"), lambda row: row.module_score),
    )
)
AUDIT = Table(
    (
        Column("time", _("Time (UTC)"), ()),  # events are written as they happen
        # The words of these are in other tables or translated, so no index has their order.
        Column("user", _("User")),
        Column("event", _("Event")),
        Column("details", _("Details")),
    ),
    "-time",
)
IN_PROGRESS = Table(
    (
        Column("item", _("Item"), ("item__position",)),
        Column("annotator", _("Annotator"), ("annotator__username",)),
        Column("status", _("Status"), ("status",)),
        Column("edits", _("Edits"), ("revision",), is_number=True),
        Column("saved", _("Last saved"), (Coalesce("saved_at", "started_at"),)),
        Column("reserved", _("Reserved until"), (F("reserved_until"),)),
        Column("action", _("Action")),
    ),
    "saved",
)

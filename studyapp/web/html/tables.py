"""The tables of the staff pages of studies: columns and how they sort."""

from django.db.models import F
from django.db.models.functions import Coalesce, Lower
from django.utils.translation import gettext_lazy as _

from foundation.pages.tables import Column, Table

STUDIES = Table(
    (
        Column("title", _("Study"), (Lower("title"),)),
        Column("status", _("Status"), ("status",)),
        Column("participants", _("Participants"), ("assigned",), is_number=True),
        Column("completed", _("Completed"), ("completed",), is_number=True),
        Column("created", _("Created"), ("created_at",)),
    ),
    "-created",
)
ARCHIVED = Table(
    (
        Column("title", _("Study"), (Lower("title"),)),
        Column("created", _("Created"), ("created_at",)),
        Column("archived", _("Archived"), ("archived_at",)),
    ),
    "-archived",
)
PEOPLE = Table(
    (
        Column("participant", _("Participant")),
        Column("state", _("State")),
        Column("condition", _("Condition"), ("group",)),
        Column("mode", _("Mode"), ("mode",)),
        Column("link", _("Link")),
        Column("consented", _("Consented"), ()),  # participants are created as they consent
        Column("items", _("Items"), ("items_submitted",), is_number=True),
        Column(
            "minutes",
            _("Minutes"),
            (Coalesce("completed_at", "ended_at") - F("consented_at"),),
            is_number=True,
        ),
        Column("flags", _("Flags")),
    ),
    "-consented",
)
SUBMISSIONS = Table(
    (
        Column("participant", _("Participant"), lambda ids: ids.participant.public_id),
        Column("platform", _("Platform"), lambda ids: ids.platform),
        Column("person", _("ID on the platform"), lambda ids: ids.person_id),
        Column("submission", _("Submission"), lambda ids: ids.session_id),
    )
)
LINKS = Table(
    (
        Column("label", _("Label"), lambda link: link.label.casefold()),
        Column("mode", _("Mode"), lambda link: link.mode),
        Column("for", _("For")),
        Column("arrived", _("Arrived"), lambda link: link.arrived, is_number=True),
        Column("completed", _("Completed"), lambda link: link.completed, is_number=True),
        Column("created", _("Created"), lambda link: link.created_at),
        Column("used", _("Last used"), lambda link: link.last_used),
    )
)
LOG = Table(
    (
        Column("when", _("Time (UTC)"), ()),  # events are written as they happen
        Column("who", _("Person")),
        Column("what", _("Event")),
        Column("details", _("Details")),
    ),
    "-when",
)
# A row is a webhook and the labels of its events.
SIZE_PLANS = Table(
    (
        Column("simulated", _("Simulated (UTC)"), lambda plan: plan.pk),
        Column("effects", _("Effects")),
        Column("items", _("Items"), lambda plan: plan.assumptions["items"], is_number=True),
        Column("target", _("Target power"), lambda plan: plan.assumptions["target"], is_number=True),
        Column(
            "needed", _("Per condition"), lambda plan: (plan.result or {}).get("participants"), is_number=True
        ),
        Column("state", _("State"), lambda plan: plan.status),
        Column("workspace", _("Workspace"), lambda plan: plan.workspace.name.casefold()),
    ),
    "-simulated",
)
SYSTEM_PLANS = Table(
    (
        Column("simulated", _("Simulated (UTC)"), lambda plan: plan.pk),
        Column("correlations", _("True correlations")),
        Column("coefficient", _("Coefficient"), lambda plan: plan.assumptions["coefficient"]),
        Column("noise", _("Noise"), lambda plan: plan.assumptions["noise"], is_number=True),
        Column("target", _("Target power"), lambda plan: plan.assumptions["target"], is_number=True),
        Column("state", _("State"), lambda plan: plan.status),
        Column("workspace", _("Workspace"), lambda plan: plan.workspace.name.casefold()),
    ),
    "-simulated",
)
QUEUES = Table(
    (
        Column("system", _("System"), lambda row: row[0].system.name.casefold()),
        Column("dataset", _("Dataset"), lambda row: row[0].dataset.name.casefold()),
        Column("queued", _("Queued"), lambda row: row[1].answers, is_number=True),
        Column("unjudged", _("Unjudged"), lambda row: row[1].unjudged, is_number=True),
        Column("once", _("Judged once"), lambda row: row[1].judged_once, is_number=True),
        Column("disagreed", _("Disagreed"), lambda row: row[1].disagreed, is_number=True),
        Column("settled", _("Settled"), lambda row: row[1].settled, is_number=True),
    )
)

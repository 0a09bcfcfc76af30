"""Labels of the audit log.

``actions.audit`` records no kind without a label.
"""

from django.utils.translation import gettext_lazy as _

from accounts.models import Role, Scope
from foundation.pages.event_labels import EventLabels

EVENT_LABELS = EventLabels(
    kinds={
        "account_activated": _("Account activated"),
        "account_created": _("Account created"),
        "account_deactivated": _("Account deactivated"),
        "account_deleted": _("Account deleted"),
        "account_exported": _("Data of an account downloaded"),
        "export_downloaded": _("Export downloaded"),
        "invitation_accepted": _("Invitation accepted"),
        "invitation_created": _("Invitation created"),
        "invitation_revoked": _("Invitation revoked"),
        "login": _("Login"),
        "login_failed": _("Failed login"),
        "logout": _("Logout"),
        "password_changed": _("Password changed"),
        "password_link_created": _("One-time link for a new password created"),
        "password_reset": _("Password reset"),
        "payments_ordered": _("Payments ordered"),
        "personal_data_read": _("Personal data read"),
        "role_ended": _("Role ended"),
        "role_given": _("Role given"),
        "second_factor_added": _("Second factor added"),
        "second_factor_removed": _("Second factor removed"),
        "sessions_ended": _("Logged out everywhere"),
        "token_created": _("API token created"),
        "token_revoked": _("API token revoked"),
        "workspace_created": _("Workspace created"),
        "workspace_renamed": _("Workspace renamed"),
    },
    details={
        "email": _("e-mail address"),
        "kind": _("kind"),
        "name": _("name"),
        "object": _("object"),
        "page": _("page"),
        "role": _("role"),
        "scope": _("scope"),
        "total": _("total"),
    },
    values={
        "page": {
            "external_ids": _("External IDs"),
            "participant_file": _("File of one participant"),
            "log": _("Log"),
            "participant": _("Participant"),
            "participants": _("Participants"),
            "payments": _("Payments"),
            "privacy": _("Privacy"),
            "report": _("Report"),
            "responses": _("Responses"),
            "running": _("Running"),
        },
        "role": dict(Role.choices),
        "scope": dict(Scope.choices),
    },
)

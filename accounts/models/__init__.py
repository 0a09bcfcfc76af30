"""Tables of users, workspaces, roles, tokens and the audit log."""

from accounts.models.audit import AuditEntry, LogEvent
from accounts.models.requests import AnsweredRequest
from accounts.models.tokens import ApiToken, Scope
from accounts.models.users import User
from accounts.models.workspaces import Invitation, Membership, Role, ShareBase, Workspace

__all__ = [
    "AnsweredRequest",
    "ApiToken",
    "AuditEntry",
    "Invitation",
    "LogEvent",
    "Membership",
    "Role",
    "Scope",
    "ShareBase",
    "User",
    "Workspace",
]

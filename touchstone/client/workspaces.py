"""Workspaces: their people, roles and invitations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from .connection import Connection, address
from .rows import InvitationRow, MemberRow, NewInvitationRow, RoleName, WorkspaceRow


class Workspaces:
    """The workspaces in which you have a role."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> Iterator[WorkspaceRow]:
        """Yield workspaces."""
        return self._connection.pages(address("workspaces"), {})

    def get(self, workspace: str) -> WorkspaceRow:
        """Return a workspace."""
        return self._connection.get(address("workspaces", workspace))

    def create(self, slug: str, *, name: str) -> WorkspaceRow:
        """Create a workspace; only administrators of the site may."""
        body = {"slug": slug, "name": name}
        return self._connection.send("POST", address("workspaces"), body, once=True).json()

    def rename(self, workspace: str, *, name: str) -> WorkspaceRow:
        """Rename a workspace; its short name stays."""
        path = address("workspaces", workspace)
        return self._connection.send("PATCH", path, {"name": name}).json()

    def members(self, workspace: str) -> Sequence[MemberRow]:
        """Return the people of a workspace, by user name."""
        return self._connection.get(address("workspaces", workspace, "members"))["results"]

    def give_role(self, workspace: str, *, user: str, role: RoleName) -> Sequence[MemberRow]:
        """Give a person a role, and return the people of the workspace."""
        path, body = address("workspaces", workspace, "members"), {"user": user, "role": role}
        return self._connection.send("POST", path, body).json()["results"]

    def end_role(self, workspace: str, *, user: str, role: RoleName) -> Sequence[MemberRow]:
        """End a role of a person, and return the people of the workspace."""
        path = address("workspaces", workspace, "members", user, role)
        return self._connection.send("DELETE", path).json()["results"]

    def invitations(self, workspace: str) -> Iterator[InvitationRow]:
        """Yield the invitations that can still be accepted."""
        return self._connection.pages(address("workspaces", workspace, "invitations"), {})

    def invite(
        self,
        workspace: str,
        *,
        role: RoleName,
        days: int = 7,
        email: str = "",
        kind: Literal["", "study", "project"] = "",
        object: str = "",
    ) -> NewInvitationRow:
        """Create an invitation. Its address is in this row alone.

        Args:
            workspace: The workspace.
            role: The role that the link gives.
            days: The days for which it is valid.
            email: The address that it is sent to, if any.
            kind: The kind of the one object to share; "" invites to the whole workspace.
            object: The short name of that object.
        """
        path = address("workspaces", workspace, "invitations")
        body = {"role": role, "days": days, "email": email, "kind": kind, "object": object}
        return self._connection.send("POST", path, body, once=True).json()

    def revoke(self, workspace: str, invitation: str) -> None:
        """Revoke an invitation."""
        self._connection.send("DELETE", address("workspaces", workspace, "invitations", invitation))

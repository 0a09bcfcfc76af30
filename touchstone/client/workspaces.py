"""Workspaces: their people, roles and invitations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from .connection import Subject
from .rows import InvitationRow, MemberRow, NewInvitationRow, RoleName, WorkspaceRow


class Workspaces(Subject):
    """The workspaces in which you have a role.

    Methods take the short name of a workspace as `workspace`.
    """

    _root = "workspaces"

    def list(self) -> Iterator[WorkspaceRow]:
        """Yield workspaces."""
        return self._pages()

    def get(self, workspace: str) -> WorkspaceRow:
        """Return a workspace."""
        return self._get(workspace)

    def create(self, slug: str, *, name: str) -> WorkspaceRow:
        """Create a workspace; only administrators of the site may.

        Args:
            slug: Its short name, of letters, digits, hyphens and underscores.
            name: Its name, for people.
        """
        return self._create(body={"slug": slug, "name": name})

    def rename(self, workspace: str, *, name: str) -> WorkspaceRow:
        """Rename a workspace; its short name stays.

        Args:
            workspace: The short name of the workspace.
            name: Its new name, for people.
        """
        return self._send("PATCH", workspace, body={"name": name})

    def members(self, workspace: str) -> Sequence[MemberRow]:
        """Return the people of a workspace, by user name."""
        return self._get(workspace, "members")["results"]

    def give_role(self, workspace: str, *, user: str, role: RoleName) -> Sequence[MemberRow]:
        """Give a person a role, and return the people of the workspace.

        Args:
            workspace: The short name of the workspace.
            user: The user name of the person.
            role: The role.
        """
        return self._post(workspace, "members", body={"user": user, "role": role})["results"]

    def end_role(self, workspace: str, *, user: str, role: RoleName) -> Sequence[MemberRow]:
        """End a role of a person, and return the people of the workspace.

        Args:
            workspace: The short name of the workspace.
            user: The user name of the person.
            role: The role.
        """
        return self._send("DELETE", workspace, "members", user, role)["results"]

    def invitations(self, workspace: str) -> Iterator[InvitationRow]:
        """Yield the invitations that can still be accepted."""
        return self._pages(workspace, "invitations")

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
            workspace: The short name of the workspace.
            role: The role that the link gives.
            days: The days for which it is valid, 1 to 90.
            email: The address that it is sent to, if any.
            kind: The kind of the one object to share; "" invites to the whole workspace.
            object: The short name of that object.
        """
        body = {"role": role, "days": days, "email": email, "kind": kind, "object": object}
        return self._create(workspace, "invitations", body=body)

    def revoke(self, workspace: str, invitation: str) -> None:
        """Revoke an invitation.

        Args:
            workspace: The short name of the workspace.
            invitation: The ID of the invitation.
        """
        self._delete(workspace, "invitations", invitation)

"""Types of requests and responses about workspaces and their people."""

from typing import Annotated, Any, Literal

from pydantic import Field

from accounts.rest.bodies import Payload
from foundation.imports.import_fields import Filled, Text
from touchstone.client.rows import MemberRow, RoleName

Slug = Annotated[Text, Field(pattern=r"^[-a-zA-Z0-9_]+$", max_length=100)]


class AccountData(Payload):
    """All that is stored about you, by table, without secrets."""

    tables: dict[str, list[dict[str, Any]]]


class DeletedAccount(Payload):
    """Your password again; the user name of an account without one."""

    password: str


class Renamed(Payload):
    """The new name of a workspace; its short name stays."""

    name: Annotated[Filled, Field(max_length=200)]


class NewWorkspace(Renamed):
    """A new workspace, of which you become the owner."""

    slug: Slug


class Members(Payload):
    """The people of a workspace, by user name."""

    results: list[MemberRow]


class MemberRole(Payload):
    """A role of a user."""

    user: Annotated[Text, Field(min_length=1, max_length=150)]
    role: RoleName


class NewInvitation(Payload):
    """The role that a link gives, in the workspace or on one object of it."""

    role: RoleName
    days: Annotated[int, Field(ge=1, le=90)] = 7
    email: Annotated[Text, Field(max_length=254)] = ""
    kind: Literal["", "study", "project"] = ""
    object: Annotated[Text, Field(max_length=100)] = ""

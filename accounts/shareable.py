"""Objects that are shared on their own: a study, an annotation project.

Accounts import none of them. `settings.SHAREABLE` names a module for each kind, with what `Sharing` lists.
"""

from collections.abc import Collection, Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import Role, User, Workspace
from accounts.policy_table import Act

_KIND_LABELS = {"study": _("Study"), "project": _("Annotation project")}


class Shareable(Protocol):
    """An object of a workspace that can be shared."""

    @property
    def pk(self) -> int:
        """Its key."""

    @property
    def slug(self) -> str:
        """Its short name."""

    @property
    def title(self) -> str:
        """Its title."""

    @property
    def workspace(self) -> Workspace:
        """The workspace that it belongs to."""

    def shared_roles(self, user: User) -> frozenset[Role]:
        """Return the roles in which it was shared with a user."""


class Sharing(Protocol):
    """The module that shares one kind of objects.

    Attributes:
        ROLES: The roles that can be given on such an object.
        INVITES: The act on an object that lets people invite to it, besides owners of its workspace.
        OBJECTS: All such objects, with their workspaces.
    """

    ROLES: tuple[Role, ...]
    INVITES: Act | None
    OBJECTS: QuerySet[Any]

    def list_shares(
        self, *, workspace: Workspace | None = None, users: Collection[User] | None = None
    ) -> Iterable[tuple[Shareable, User, Role]]:
        """Return who has which role on which object.

        Args:
            workspace: Only on objects of this workspace.
            users: Only of these users.
        """

    def share(self, *, object: Shareable, user: User, role: Role, by: User | None) -> None:
        """Give a user a role on an object."""

    def end_share(self, *, object: Shareable, user: User, role: Role, by: User | None) -> None:
        """End a role of a user on an object."""


class Share(NamedTuple):
    """A role of a user on one object alone."""

    kind: str
    object: Shareable
    user: User
    role: Role

    @property
    def kind_label(self) -> str:
        """The kind of the object, as pages name it."""
        return label_kind(self.kind)


def load_sharing_module(kind: str) -> Sharing:
    """Return the module that shares one kind of objects.

    Raises:
        KeyError: There is no such kind.
    """
    return cast(Sharing, import_module(settings.SHAREABLE[kind]))


def list_shares(
    *, workspace: Workspace | None = None, users: Collection[User] | None = None
) -> Iterator[Share]:
    """Yield the shares of every kind, in a workspace or of some users."""
    for kind in settings.SHAREABLE:
        for shared, user, role in load_sharing_module(kind).list_shares(workspace=workspace, users=users):
            yield Share(kind, shared, user, role)


def label_kind(kind: str) -> str:
    """Return the label of a kind; an unknown kind is its own label."""
    return str(_KIND_LABELS.get(kind, kind))


def list_kind_choices() -> list[tuple[str, str]]:
    """Return the kinds with their labels."""
    return [(kind, label_kind(kind)) for kind in settings.SHAREABLE]

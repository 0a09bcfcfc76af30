"""The workspace that tests use unless they need two, and the people in it."""

from collections.abc import Iterator
from contextlib import contextmanager

from accounts.models import Membership, Role, User, Workspace

_current = ["main"]


def main() -> Workspace:
    """The workspace of a new site.

    It is created again if a test emptied the database.
    """
    slug = _current[-1]
    return Workspace.objects.get_or_create(slug=slug, defaults={"name": slug.capitalize()})[0]


@contextmanager
def using(slug: str) -> Iterator[Workspace]:
    """Let the factories put what they make into another workspace."""
    _current.append(slug)
    try:
        yield main()
    finally:
        _current.pop()


def give(user: User, *roles: Role, workspace: Workspace | None = None) -> User:
    for role in roles:
        Membership.objects.get_or_create(workspace=workspace or main(), user=user, role=role)
    return user

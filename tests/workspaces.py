"""The workspace that tests use unless they need two, and the people in it."""

from accounts.models import Membership, Role, User, Workspace


def main() -> Workspace:
    """The workspace of a new site, made again where a test emptied the database."""
    return Workspace.objects.get_or_create(slug="main", defaults={"name": "Main"})[0]


def give(user: User, *roles: Role, workspace: Workspace | None = None) -> User:
    for role in roles:
        Membership.objects.get_or_create(workspace=workspace or main(), user=user, role=role)
    return user

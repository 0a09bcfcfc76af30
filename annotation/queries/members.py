"""Read the people of projects, and their roles there."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet

from accounts.models import Invitation, Role, User, Workspace
from accounts.models import Membership as WorkspaceMembership
from accounts.policy_table import Act
from accounts.queries.people import select_pending_invitations
from accounts.queries.workspaces import select_workspaces
from annotation.models import Annotation, Membership, Project
from foundation.database.counting import build_count_column
from foundation.database.prepared_queries import Prepared, make_slot

SHARED = "project"  # the key of `settings.SHAREABLE`


def list_visible_projects(user: User) -> QuerySet[Project]:
    """Return the projects that a user sees."""
    shares = Membership.objects.filter(user=user, active=True)
    return Project.objects.filter(
        Q(pk__in=shares.values("project")) | Q(workspace__in=select_workspaces(user, Act.PROJECT_SEE))
    )


def list_memberships(user: User, workspace: Workspace | None = None) -> list[Membership]:
    """Return the person in each project that they see, the newest first.

    With a workspace only in its own. Three queries. The projects have counts of the person's submitted and
    returned annotations.
    """
    visible = list_visible_projects(user)
    if workspace is not None:
        visible = visible.filter(workspace=workspace)
    mine = Annotation.objects.filter(project=OuterRef("pk"), annotator=user, task=Annotation.Task.ANNOTATION)
    projects = visible.annotate(
        done=build_count_column(mine.filter(status__in=Annotation.FINISHED)),
        returned=build_count_column(mine.filter(status=Annotation.Status.RETURNED)),
    ).order_by("-created_at")
    return as_members(user, list(projects))


def as_members(user: User, projects: Sequence[Project]) -> list[Membership]:
    """Return the person in each of these projects. Two queries."""
    rows = Membership.objects.filter(user=user, project__in=projects)
    stored = {member.project_id: member for member in rows}
    members = [stored.get(project.pk) or _build_unstored_member(project, user) for project in projects]
    for member, project in zip(members, projects, strict=True):
        member.project, member.user = project, user
    load_workspace_roles(members)
    return members


def list_active_members(
    *, workspace: Workspace | None, users: Collection[User] | None
) -> QuerySet[Membership]:
    """Return the shares of projects: of one workspace, with these users."""
    rows = Membership.objects.filter(active=True).select_related("project__workspace", "user")
    if workspace is not None:
        rows = rows.filter(project__workspace=workspace)
    if users is not None:
        rows = rows.filter(user__in=users)
    return rows.order_by("project__slug", "user__username")


def list_project_invitations(project: Project) -> QuerySet[Invitation]:
    """Return the invitations to a project that can still be accepted."""
    return select_pending_invitations(project.workspace).filter(kind=SHARED, object_id=project.pk)


def load_workspace_roles(members: Sequence[Membership]) -> None:
    """Read the roles of these people in their workspaces, in one query."""
    rows = WorkspaceMembership.objects.filter(
        user__in={member.user_id for member in members},
        workspace__in={member.project.workspace_id for member in members},
    )
    roles: dict[tuple[int, int], set[Role]] = defaultdict(set)
    for user, workspace, role in rows.values_list("user", "workspace", "role"):
        roles[user, workspace].add(Role(role))
    for member in members:
        member.workspace_roles = frozenset(roles[member.user_id, member.project.workspace_id])


_NAMED = Prepared(
    lambda: Membership.objects.select_related("project").filter(
        user=make_slot("user", User), project__slug=make_slot("slug", Project, "slug")
    )
)
_OF_WORK = Prepared(
    lambda: (
        Membership.objects.select_related("project")
        .filter(user=make_slot("user", User), project__annotations=make_slot("annotation", Annotation))
        .annotate(annotator=F("project__annotations__annotator"), task=F("project__annotations__task"))
    )
)


_PROJECT_OF = Prepared(
    lambda: Project.objects.filter(annotations=make_slot("annotation", Annotation)).annotate(
        annotator=F("annotations__annotator"), task=F("annotations__task")
    )
)


def find_membership(user: User, slug: str) -> Membership | None:
    """Return a person in a project, None without any role there.

    One query for those with whom the project is shared.
    """
    member = _NAMED.first(user=user.pk, slug=slug)
    if member is not None:
        return _keep_if_has_role(member, user)
    project = Project.objects.filter(slug=slug).first()
    return _keep_if_has_role(_build_unstored_member(project, user), user) if project is not None else None


def find_member(project: Project, username: str) -> Membership | None:
    """Return the active user of that name in a project.

    None without any role there.
    """
    user = User.objects.filter(username=username, is_active=True).first()
    return find_membership(user, project.slug) if user is not None else None


def find_membership_of_annotation(user: User, annotation: int) -> tuple[Membership, Annotation] | None:
    """Return the person in the project of an annotation, and the annotation.

    One query for those with whom the project is shared. The annotation has only the columns that say whose it
    is; others load on access.
    """
    whose: Any = _OF_WORK.first(user=user.pk, annotation=annotation)
    member: Membership | None = whose
    if member is None:
        whose = _PROJECT_OF.first(annotation=annotation)
        member = _build_unstored_member(whose, user) if whose is not None else None
    if member is None or _keep_if_has_role(member, user) is None:
        return None
    columns = {
        "id": annotation,
        "project_id": member.project_id,
        "annotator_id": whose.annotator,
        "task": whose.task,
    }
    reference = Annotation.from_db(None, list(columns), list(columns.values()))
    reference.project = member.project
    return member, reference


def _build_unstored_member(project: Project, user: User) -> Membership:
    """Return a person without a row: only roles in the workspace count."""
    return Membership(project=project, user=user, active=False)


def _keep_if_has_role(member: Membership, user: User) -> Membership | None:
    """Return the person if they have a role on the project."""
    member.user = user
    return member if member.active or member.workspace_roles else None

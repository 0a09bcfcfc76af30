"""Rules of who may do what in a project.

`accounts.policy_table` says which role allows which act; here are the roles of a person on a project, and
what depends on the state of the project or the annotation. Each rule is a pair: ``check_x`` raises with a
message for a person, ``can_x`` is its truth value. Strangers to a project get a 404.

Exceptions: `NotAllowed`, an AnnotationError.
"""

from django.utils.translation import gettext as _

from accounts.models import Role, User
from accounts.policy_table import Act, Roles, find_granting_roles, is_allowed
from accounts.rights.roles import explain_refusal
from annotation.errors import AnnotationError
from annotation.models import Annotation, Membership, Project
from annotation.models import Role as ProjectRole

# The right that each task of an annotation needs.
TASKS = {Annotation.Task.ANNOTATION: Act.ANNOTATE, Annotation.Task.ADJUDICATION: Act.ANNOTATION_SETTLE}


class NotAllowed(AnnotationError):
    """The person may not do this; the message is for that person."""

    status = 403


def collect_roles(member: Membership) -> Roles:
    """Return a person's roles on a project: by share and workspace."""
    return Roles(member.workspace_roles, member.shared_roles)


def may(member: Membership, act: Act) -> bool:
    """Return True if a role of the person allows the act.

    The share is asked first: an annotator's request needs no query for the roles in the workspace.
    """
    return is_allowed(Roles(shared=member.shared_roles), act) or is_allowed(collect_roles(member), act)


def check(member: Membership, act: Act) -> None:
    """Check that a role of the person allows the act."""
    if not may(member, act):
        raise NotAllowed(explain_refusal(collect_roles(member), act))


def list_acts(member: Membership) -> frozenset[Act]:
    """Return the acts that the person may do, for the buttons of a page."""
    return frozenset(act for act in Act if may(member, act))


def list_roles(member: Membership) -> list[Role]:
    """Return the roles by which the person sees the project."""
    roles = collect_roles(member)
    counting = Roles(
        roles.workspace & find_granting_roles(Act.PROJECT_SEE),
        roles.shared & find_granting_roles(Act.PROJECT_SEE, shared=True),
    )
    return list(counting)


def check_own_role(by: User | None, user: User, role: str, *, active: bool) -> None:
    """Check that a manager stays one: nobody ends or lowers their own role."""
    if by == user and (role != ProjectRole.MANAGER or not active):
        raise NotAllowed(_("You cannot change your own role. Ask another manager."))


def check_annotating(member: Membership) -> None:
    """Check that the member may receive items now."""
    check(member, Act.ANNOTATE)
    if member.project.status != Project.Status.OPEN:
        raise NotAllowed(_("This project is closed and assigns no more items."))
    if member.qualified is False:
        raise NotAllowed(
            _(
                "Your score on the qualification items is below this project’s threshold. "
                "Please contact its manager."
            )
        )


def can_begin(member: Membership) -> bool:
    """Return True if the member may receive items now."""
    try:
        check_annotating(member)
    except NotAllowed:
        return False
    return True


def can_see(member: Membership, annotation: Annotation) -> bool:
    """Return True if the member may see an annotation.

    An adjudication shows everybody's objects, so its author needs the right to settle still.
    """
    own = annotation.annotator_id == member.user_id and annotation.task == Annotation.Task.ANNOTATION
    return own or may(member, Act.ANNOTATION_SETTLE)


def check_owner(user: User, annotation: Annotation) -> None:
    """Check that the annotation is the user's own."""
    if annotation.annotator_id != user.pk:
        raise NotAllowed(_("You can only change your own annotations."))


def check_working(member: Membership, annotation: Annotation) -> None:
    """Check that the annotation is the member's, who may do its task still."""
    if annotation.annotator_id != member.user_id:
        raise NotAllowed(_("You can only change your own annotations."))
    check(member, TASKS[Annotation.Task(annotation.task)])


def check_releasing(member: Membership, annotation: Annotation) -> None:
    """Check that the member may release an assignment.

    Annotators release their own, managers any.
    """
    if annotation.annotator_id != member.user_id and not may(member, Act.ANNOTATION_MANAGE):
        raise NotAllowed(_("Only its annotator or a manager can release an item."))


def check_editing(user: User, annotation: Annotation) -> None:
    """Check that the user may change an annotation.

    It must be their own, and not submitted, or returned.
    """
    check_owner(user, annotation)
    if annotation.status not in (Annotation.Status.RESERVED, Annotation.Status.RETURNED):
        raise NotAllowed(
            _("This annotation is %(status)s. Reopen it, or ask a reviewer to return it, to make changes.")
            % {"status": annotation.get_status_display().lower()}
        )

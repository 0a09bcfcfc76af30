"""Rules of who may do what in a project.

Each rule is a pair: ``check_x`` raises with a message for a person, ``can_x`` is its truth value. Strangers
to a project get a 404.

Exceptions: `NotAllowed`, an AnnotationError.
"""

from django.utils.translation import gettext as _

from accounts.models import User
from annotation.errors import AnnotationError
from annotation.models import Annotation, Membership, Project, Role

RANK = {Role.ANNOTATOR: 0, Role.ADJUDICATOR: 1, Role.MANAGER: 2}


class NotAllowed(AnnotationError):
    """The person may not do this; the message is for that person."""


def check_role(member: Membership, role: Role) -> None:
    """Check that the member has this role or a higher one."""
    if not has_role(member, role):
        raise NotAllowed(_("You need the role %(role)s in this project.") % {"role": role.label})


def has_role(member: Membership, role: Role) -> bool:
    """Return True if the member has this role or a higher one."""
    return member.active and RANK[Role(member.role)] >= RANK[role]


def check_annotating(member: Membership) -> None:
    """Check that the member may receive items now."""
    if member.project.status != Project.Status.OPEN:
        raise NotAllowed(_("This project is closed and assigns no more items."))
    if member.qualified is False:
        raise NotAllowed(
            _(
                "Your score on the qualification items is below this project’s threshold. "
                "Please contact its manager."
            )
        )


def can_see(member: Membership, annotation: Annotation) -> bool:
    """Return True if the member may see an annotation.

    An adjudication shows everybody's objects, so its author needs the role still.
    """
    own = annotation.annotator_id == member.user_id and annotation.task == Annotation.Task.ANNOTATION
    return own or has_role(member, Role.ADJUDICATOR)


def check_owner(user: User, annotation: Annotation) -> None:
    """Check that the annotation is the user's own."""
    if annotation.annotator_id != user.pk:
        raise NotAllowed(_("You can only change your own annotations."))


def check_releasing(member: Membership, annotation: Annotation) -> None:
    """Check that the member may release an assignment.

    Annotators release their own, managers any.
    """
    if annotation.annotator_id != member.user_id and not has_role(member, Role.MANAGER):
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

"""Who may do what in a project. Each rule is a pair: ``check_x`` raises with a sentence for a person,
``can_x`` is its truth value. A stranger to a project is told that it is not there.

Exceptions: `NotAllowed`, an AnnotationError.
"""

from django.utils.translation import gettext as _

from accounts.models import User
from annotation.errors import AnnotationError
from annotation.models import Annotation, Membership, Project, Role

RANK = {Role.ANNOTATOR: 0, Role.ADJUDICATOR: 1, Role.MANAGER: 2}


class NotAllowed(AnnotationError):
    """The person may not do this; the message is a sentence for that person."""


def check_role(member: Membership, role: Role) -> None:
    """Whether the member has this role or a higher one."""
    if not has_role(member, role):
        raise NotAllowed(
            _("This is for people with the role %(role)s in this project.") % {"role": role.label}
        )


def has_role(member: Membership, role: Role) -> bool:
    return member.active and RANK[Role(member.role)] >= RANK[role]


def check_annotating(member: Membership) -> None:
    """Whether the member may be handed items now."""
    if member.project.status != Project.Status.OPEN:
        raise NotAllowed(_("This project is closed; no more items are handed out."))
    if member.qualified is False:
        raise NotAllowed(
            _(
                "The qualification items did not reach the score that this project asks for. "
                "Please speak to its manager."
            )
        )


def check_seeing(member: Membership, annotation: Annotation) -> None:
    """Whether the member may look at a work: annotation is blind, so only one's own or as an adjudicator."""
    if not can_see(member, annotation):
        raise NotAllowed(_("Annotators work blind: this is the work of somebody else."))


def can_see(member: Membership, annotation: Annotation) -> bool:
    """An adjudication shows what everybody drew: who adjudicates no more does not see it any more."""
    own = annotation.annotator_id == member.user_id and annotation.task == Annotation.Task.ANNOTATION
    return own or has_role(member, Role.ADJUDICATOR)


def check_owner(user: User, annotation: Annotation) -> None:
    """Whether a work is the user's own: nobody changes what somebody else drew."""
    if annotation.annotator_id != user.pk:
        raise NotAllowed(_("Only the person who does a work changes it."))


def check_releasing(member: Membership, annotation: Annotation) -> None:
    """Whether the member may give a work's place back: it is their own, or they manage the project."""
    if annotation.annotator_id != member.user_id and not has_role(member, Role.MANAGER):
        raise NotAllowed(_("Only its annotator, or a manager, gives an item back."))


def check_editing(user: User, annotation: Annotation) -> None:
    """Whether the user may change a work: their own, before it is submitted or after it came back."""
    check_owner(user, annotation)
    if annotation.status not in (Annotation.Status.RESERVED, Annotation.Status.RETURNED):
        raise NotAllowed(
            _("This work is %(status)s; take it back, or ask for its return, to change it.")
            % {"status": annotation.get_status_display().lower()}
        )

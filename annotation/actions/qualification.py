"""Decide who qualifies, when all qualification items are submitted."""

from django.db import transaction

from accounts.models import User
from annotation.actions import audit
from annotation.models import Annotation, Item, Membership
from annotation.queries.qualification import is_decided_by_manager, score_of


def judge_if_finished(*, member: Membership) -> bool | None:
    """Decide if a member qualified; None if items are missing.

    It runs after each submission, and before the next assignment in case the first was cut off. Both are
    outside the other transaction, which locks rows that come after the member's. Without gold there is no
    score, and a manager decides (`decide`). A later score does not change the decision of a manager.
    """
    project = member.project
    if project.qualification_score is None:
        return None
    asked = project.items.filter(purpose=Item.Purpose.QUALIFICATION).count()
    own = Annotation.objects.filter(
        project=project,
        annotator=member.user_id,
        item__purpose=Item.Purpose.QUALIFICATION,
        status__in=Annotation.HANDED_IN,
    )
    if own.count() < asked:
        return None
    score = score_of(member, Item.Purpose.QUALIFICATION)
    if score.mean is None:
        return None
    reached = score.mean >= project.qualification_score
    if reached == member.qualified:
        return reached
    if member.qualified is not None and is_decided_by_manager(member):
        return member.qualified
    return _store(member, reached, None, {"score": score.mean, "items": score.items})


def decide(*, member: Membership, qualified: bool, by: User | None) -> Membership:
    """Record a manager's decision, regardless of the score.

    It lifts a failed qualification, and people who work here by a role in the workspace have it too.
    """
    if member.pk is None:
        roles = member.workspace_roles
        member, _is_new = Membership.objects.get_or_create(
            project=member.project, user=member.user, defaults={"active": False}
        )
        member.workspace_roles = roles
    _store(member, qualified, by, {"decided": True})
    return member


@transaction.atomic
def _store(member: Membership, qualified: bool, by: User | None, data: dict[str, object]) -> bool:
    member.qualified = qualified
    member.save(update_fields=["qualified"])
    audit.record(
        project=member.project,
        kind="qualification_judged",
        by=by,
        data={"member": member.user.get_username(), "qualified": qualified, **data},
    )
    return qualified

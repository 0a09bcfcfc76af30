"""Who qualifies: judged by the score that the project asks for, when the last qualification item is in."""

from django.db import transaction

from accounts.models import User
from annotation.actions import audit
from annotation.models import Annotation, Item, Membership
from annotation.queries.qualification import FINISHED, score_of


def judge_if_finished(*, member: Membership) -> bool | None:
    """Judge a member whose qualification items are all in; None: not yet.

    Called when one is handed in and, should that have been cut off, before the next item is handed out; each
    time outside the other transaction, which holds rows that come after the member's. Without gold there is
    nothing to judge by: a manager decides then (`decide`).
    """
    project = member.project
    if project.qualification_score is None:
        return None
    asked = project.items.filter(purpose=Item.Purpose.QUALIFICATION).count()
    own = Annotation.objects.filter(
        project=project,
        annotator=member.user_id,
        item__purpose=Item.Purpose.QUALIFICATION,
        status__in=FINISHED,
    )
    if own.count() < asked:
        return None
    score = score_of(member, Item.Purpose.QUALIFICATION)
    if score.mean is None:
        return None
    reached = score.mean >= project.qualification_score
    if reached == member.qualified:
        return reached
    return _store(member, reached, None, {"score": score.mean, "items": score.items})


def decide(*, member: Membership, qualified: bool, by: User) -> bool:
    """Let a manager decide, whatever the score."""
    return _store(member, qualified, by, {"decided": True})


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

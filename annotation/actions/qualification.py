"""Who qualifies: judged by the score that the project asks for, when the last qualification item is in."""

from django.db import transaction

from accounts.models import User
from annotation.actions import audit
from annotation.models import Item, Membership, Work
from annotation.queries.qualification import FINISHED, score_of


def judge_if_finished(*, work: Work) -> bool | None:
    """Judge the annotator of a submitted qualification work, if it was the last one; None: not yet.

    Called by the action that submits it, in its transaction. Without gold there is nothing to judge by: a
    manager decides then (`decide`).
    """
    project = work.project
    if work.item.purpose != Item.Purpose.QUALIFICATION or project.qualification_score is None:
        return None
    asked = project.items.filter(purpose=Item.Purpose.QUALIFICATION).count()
    own = Work.objects.filter(
        project=project,
        annotator=work.annotator_id,
        item__purpose=Item.Purpose.QUALIFICATION,
        status__in=FINISHED,
    )
    if own.count() < asked:
        return None
    member = Membership.objects.select_related("project", "user").get(project=project, user=work.annotator_id)
    score = score_of(member, Item.Purpose.QUALIFICATION)
    if score is None or score.mean is None:
        return None
    return _store(
        member, score.mean >= project.qualification_score, None, {"score": score.mean, "items": score.items}
    )


@transaction.atomic
def decide(*, member: Membership, qualified: bool, by: User) -> bool:
    """Let a manager decide, whatever the score."""
    return _store(member, qualified, by, {"decided": True})


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

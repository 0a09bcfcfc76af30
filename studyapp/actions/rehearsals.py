"""Write rehearsals: a draft frozen provisionally, for bots and the team."""

from django.db import transaction

from accounts.models import User
from studyapp.actions import events
from studyapp.actions.studies import freeze
from studyapp.models import Study
from studyapp.queries.design.launches import plan_launch


@transaction.atomic
def start_rehearsal(*, study: Study, by: User | None) -> Study:
    """Freeze the draft provisionally, and open it as a study of its own.

    The study itself stays as it is. Each content is rehearsed in a study of its own, so that an entry link
    always leads to the draft it was made for; rehearsals of other drafts admit nobody any more.

    Returns:
        The rehearsal: an open study that no list or export shows.

    Raises:
        StudyRefused: the draft is not complete, or a check before a launch refuses it.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    plan = plan_launch(study)
    content_hash = plan.content.hash()
    rehearsals = Study.every.filter(rehearsal_of=study)
    rehearsal = rehearsals.filter(versions__hash=content_hash).first()
    if rehearsal is None:
        rehearsal = Study.every.create(
            workspace=study.workspace,
            # No definition can have this name: it holds two dashes in a row.
            slug=f"{study.pk}--{content_hash[:16]}",
            title=study.title,
            definition={},
            rehearsal_of=study,
            created_by=by,
        )
        freeze(study=rehearsal, plan=plan, by=by)
    rehearsals.exclude(pk=rehearsal.pk).update(status=Study.Status.CLOSED)
    rehearsals.filter(pk=rehearsal.pk).update(status=Study.Status.OPEN)
    rehearsal.status = Study.Status.OPEN
    events.record(kind="rehearsal_started", study=study, by=by, data={"hash": content_hash})
    return rehearsal

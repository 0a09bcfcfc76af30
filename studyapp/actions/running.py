"""Write changes of running studies: quotas, notes, archiving."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User, Workspace
from studyapp.actions import events
from studyapp.actions.drafts import start_draft
from studyapp.errors import StudyappError
from studyapp.models import Condition, Event, Study
from studyapp.queries.design.drafts import read_current_draft


class CannotRun(StudyappError):
    """The act does not fit the state of the study.

    The message is for the person who tried it.
    """

    status = 409


@transaction.atomic
def set_condition(*, condition: Condition, is_open: bool, quota: int | None, by: User | None) -> Condition:
    """Open or close a condition and set its quota of live participants.

    A quota counts participants who completed or are active; None is no limit. Lowering it sends nobody
    away.
    """
    condition = (
        Condition.objects.select_for_update(no_key=True).select_related("version__study").get(pk=condition.pk)
    )
    before = {"is_open": condition.is_open, "quota": condition.quota}
    after = {"is_open": is_open, "quota": quota}
    if before == after:
        return condition
    condition.is_open, condition.quota = is_open, quota
    condition.save(update_fields=["is_open", "quota"])
    events.record(
        kind="condition_set",
        study=condition.version.study,
        by=by,
        data={
            "version": condition.version.number,
            "condition": condition.name,
            "before": before,
            "after": after,
        },
    )
    return condition


@transaction.atomic
def write_note(*, study: Study, text: str, by: User | None) -> Event:
    """Add a note to the log of a study.

    Raises:
        CannotRun: an empty one.
    """
    if not text.strip():
        raise CannotRun(_("The note is empty."))
    return events.record(kind="note", study=study, by=by, data={"text": text.strip()})


@transaction.atomic
def archive_study(*, study: Study, by: User | None) -> Study:
    """Archive a study, which removes it from the list.

    Raises CannotRun while people can enter it.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.status in (Study.Status.OPEN, Study.Status.PAUSED):
        raise CannotRun(_("Close the study before you archive it."))
    if study.archived_at is None:
        study.archived_at = timezone.now()
        study.save(update_fields=["archived_at"])
        events.record(kind="study_archived", study=study, by=by)
    return study


@transaction.atomic
def restore_study(*, study: Study, by: User | None) -> Study:
    """Restore an archived study to the list."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if study.archived_at is not None:
        study.archived_at = None
        study.save(update_fields=["archived_at"])
        events.record(kind="study_restored", study=study, by=by)
    return study


@transaction.atomic
def duplicate_study(*, study: Study, slug: str, title: str, workspace: Workspace, by: User | None) -> Study:
    """Create a draft in a workspace from another study; data is not copied.

    An incomplete draft is copied as it is.

    Raises:
        CannotRun: a study has that name already.
    """
    if Study.objects.filter(slug=slug).exists():
        raise CannotRun(_("A study with this name already exists."))
    copy = start_draft(
        draft={**read_current_draft(study).draft, "study": slug, "title": title}, workspace=workspace, by=by
    )
    events.record(kind="study_duplicated", study=copy, by=by, data={"from": study.slug})
    return copy

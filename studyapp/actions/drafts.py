"""Write drafts of the studio: start, change, undo and redo."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import User, Workspace
from foundation.errors import BadFile
from foundation.images.image_files import store_image
from foundation.messages import say
from studyapp.actions import events
from studyapp.errors import StudyappError
from studyapp.models import DraftRevision, Study
from studyapp.queries.access import can_choose_data, list_draft_data, list_study_data
from studyapp.queries.design.drafts import (
    Edited,
    find_current_revision,
    find_redoable_revision,
    find_undoable_revision,
    read_current_draft,
)
from studyapp.studio.drafts import Draft, build_stored_draft, open_draft


class DraftChanged(StudyappError):
    """Another person changed the draft in the meantime.

    The message is for the person who tried to save.
    """

    status = 409


class DataNotShared(StudyappError):
    """A person to whom only the study is shared chose other data."""

    status = 403


class NothingToDo(StudyappError):
    """There is nothing to undo or to redo."""

    status = 409


MOST_IMAGE_BYTES = 10 << 20


def store_question_image(*, file: UploadedFile) -> str:
    """Store an image for a question without its metadata; return its name.

    Raises:
        BadFile: It is too large, or not an image that browsers show.
    """
    name = Path(file.name or "image")
    if (file.size or 0) > MOST_IMAGE_BYTES:
        raise BadFile(name, say("is larger than %(most)s MB", most=MOST_IMAGE_BYTES >> 20))
    with tempfile.NamedTemporaryFile() as draft:
        for chunk in file.chunks():
            draft.write(chunk)
        draft.flush()
        try:
            return store_image(Path(draft.name)).partition("/")[2]
        except BadFile as error:
            raise BadFile(name, say("is not an image that browsers show")) from error


@transaction.atomic
def start_draft(*, draft: Mapping[str, Any], workspace: Workspace, by: User | None) -> Study:
    """Make a study with a draft in a workspace; it need not be complete.

    Raises:
        DraftChanged: a study of that name is there already.
    """
    slug = draft["study"]
    content = open_draft(draft)
    defaults: dict[str, Any] = {
        "workspace": workspace, "title": _choose_title(slug, content), "definition": {}, "created_by": by,
    }  # fmt: skip
    study, is_new = Study.objects.get_or_create(slug=slug, defaults=defaults)
    if not is_new:
        raise DraftChanged(_("A study with this name already exists."))
    events.record(kind="study_created", study=study, by=by)
    _store(study, None, content, "start", by)
    return study


@transaction.atomic
def save_draft(
    *, study: Study, base: int, draft: Mapping[str, Any], changed: str, by: User | None
) -> DraftRevision | None:
    """Store a draft as the current revision.

    ``base`` is the revision that the draft was made from. Returns None, and stores nothing, if nothing
    differs.

    Raises:
        DraftChanged: another revision counts by now.
        DataNotShared: this person may not give the study other data.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    now = read_current_draft(study)
    if now.number != base:
        raise DraftChanged(
            _(
                "The draft was changed in the meantime. Your changes are not saved; they are shown below, "
                "and saving now replaces these fields."
            )
        )
    content = {**draft, "study": study.slug}
    if build_stored_draft(content) == build_stored_draft(now.draft):
        return None
    _check_data(study, content, by)
    return _store(study, _ensure_revision(study, now, by), content, changed, by)


def undo_draft(*, study: Study, by: User | None) -> DraftRevision:
    """Go back to the previous revision.

    Raises:
        NothingToDo: there is no change to undo.
        DataNotShared: as `save_draft`, unless it was their own change.
    """
    return _go(study, find_undoable_revision, "undo", _("There is nothing to undo."), by)


def redo_draft(*, study: Study, by: User | None) -> DraftRevision:
    """Redo the last change that was undone.

    Raises:
        NothingToDo: there is no change to redo.
        DataNotShared: as `save_draft`.
    """
    return _go(study, find_redoable_revision, "redo", _("There is nothing to redo."), by)


def go_to_revision(*, study: Study, number: int, by: User | None) -> DraftRevision:
    """Make an earlier or later revision the current one.

    Raises:
        NothingToDo: there is no such revision.
        DataNotShared: as `save_draft`.
    """

    def find_revision(study: Study, _now: Edited) -> DraftRevision | None:
        return study.revisions.filter(number=number).first()

    return _go(study, find_revision, "go to", _("There is no such revision."), by)


def _ensure_revision(study: Study, now: Edited, by: User | None) -> int:
    """Return the number of the revision that is changed.

    A definition that did not come from the studio becomes a revision first.
    """
    if now.number:
        return now.number
    return replace_draft(study=study, draft=now.draft, by=by).number


def replace_draft(*, study: Study, draft: Draft, by: User | None) -> DraftRevision:
    """Make a draft from outside the studio the current revision.

    The study must be locked.
    """
    before = find_current_revision(study)
    return _store(study, before.number if before else None, draft, "definition", by)


def _store(study: Study, before: int | None, content: Draft, changed: str, by: User | None) -> DraftRevision:
    last = study.revisions.aggregate(last=Max("number"))["last"] or 0
    revision = DraftRevision.objects.create(
        study=study, number=last + 1, before=before, content=content, changed=changed, made_by=by
    )
    _make_current(study, revision, changed, by)
    return revision


@transaction.atomic
def _go(
    study: Study,
    find: Callable[[Study, Edited], DraftRevision | None],
    act: str,
    refusal: str,
    by: User | None,
) -> DraftRevision:
    """Make the revision that is found current; refuse without one."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    revision = find(study, read_current_draft(study))
    if revision is None:
        raise NothingToDo(refusal)
    current = find_current_revision(study)
    takes_back_own = current is not None and current.made_by == by and current.before == revision.number
    if not takes_back_own:
        _check_data(study, revision.content, by)
    _make_current(study, revision, act, by)
    return revision


def _make_current(study: Study, revision: DraftRevision, changed: str, by: User | None) -> None:
    study.draft_number = revision.number
    study.definition = build_stored_draft(revision.content)
    study.title = _choose_title(study.slug, revision.content)
    study.save(update_fields=["draft_number", "definition", "title"])
    data = {"revision": revision.number, "changed": changed}
    events.record(kind="study_edited", study=study, by=by, data=data)


def _check_data(study: Study, content: Mapping[str, Any], by: User | None) -> None:
    """Check that a person may let a study use the data that a draft names.

    Everybody to whom a study is shared can read and judge the data that it uses.
    """
    if can_choose_data(by, study) or list_draft_data(build_stored_draft(content)) <= list_study_data(study):
        return
    raise DataNotShared(
        _(
            "Only the study is shared with you: it can use no other dataset or system than now. Ask the "
            "people who create studies in its workspace to choose others."
        )
    )


def _choose_title(slug: str, content: Mapping[str, Any]) -> str:
    title = content.get("title")
    return title if isinstance(title, str) and 0 < len(title) <= 200 else slug

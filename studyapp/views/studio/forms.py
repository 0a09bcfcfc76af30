"""Read drafts from the forms of the studio."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from django.core import signing
from django.http import HttpRequest

from accounts.rights.access import require_user
from foundation.pages.whole_numbers import parse_whole_number
from studyapp.models import Study
from studyapp.queries.design.drafts import Edited, list_usable_names, read_current_draft
from studyapp.studio.drafts import Draft, fit_draft
from studyapp.studio.forms import build_form
from studyapp.studio.steps import Step
from studyapp.studio.widgets import read


class Submitted(NamedTuple):
    """The stored and the submitted draft.

    ``base`` is the number of the revision that the form showed.
    """

    now: Edited
    base: int
    draft: Draft


def draft_sent(request: HttpRequest, study: Study, step: Step | None, now: Edited) -> Draft:
    """Return the draft with the submitted fields of a step, less empty ones.

    They are read as the form showed them: another person may have added or removed rows since.
    """
    if step is None:
        return now.draft
    shown = _read_shown_draft(request, study, now)
    built = build_form(step, shown, list_usable_names(shown, study, require_user(request)))
    sent = {name: remove_nul(values) for name, values in request.POST.lists()}
    rest = {name: value for name, value in now.draft.items() if name not in step.fields}
    return {**rest, **read(built.widgets, sent)}


def _read_shown_draft(request: HttpRequest, study: Study, now: Edited) -> Draft:
    """Return the draft that the form was filled from."""
    with suppress(signing.BadSignature):
        unsaved: Draft = signing.loads(request.POST.get("shown", ""), salt=_salt(study))
        return now.draft | unsaved
    base = base_sent(request)
    revision = None if base == now.number else study.revisions.filter(number=base).first()
    return now.draft if revision is None else revision.content


def sign_unsaved(study: Study, step: Step, draft: Draft) -> str:
    """Return the fields of a form that no revision holds, for ``shown``."""
    fields = {name: draft[name] for name in step.fields if name in draft}
    return signing.dumps(fields, salt=_salt(study), compress=True)


def _salt(study: Study) -> str:
    return f"studio.shown.{study.pk}"


def read_submitted_draft(request: HttpRequest, study: Study, step: Step) -> Submitted:
    """Return the draft that the form of a step submitted."""
    now = read_current_draft(study)
    draft = fit_draft(draft_sent(request, study, step, now), now.draft)
    return Submitted(now, base_sent(request), draft)


def base_sent(request: HttpRequest) -> int:
    """Return the number of the revision that a form showed, -1 if invalid."""
    base = parse_whole_number(request.POST.get("base", ""))
    return -1 if base is None else base


def remove_nul(texts: Iterable[object]) -> list[str]:
    """Remove NUL characters, which PostgreSQL does not store in texts."""
    return [str(text).replace("\0", "") for text in texts]

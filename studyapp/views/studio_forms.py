"""Read drafts from the forms of the studio."""

from collections.abc import Iterable
from typing import NamedTuple

from django.http import HttpRequest

from accounts.access import user_of
from foundation.pages.whole_numbers import whole_number
from studyapp.models import Study
from studyapp.queries.drafts import Edited, edited, known_names
from studyapp.studio.drafts import Draft, fitted
from studyapp.studio.forms import form
from studyapp.studio.steps import Step
from studyapp.studio.widgets import read


class Submitted(NamedTuple):
    """The stored and the submitted draft.

    ``base`` is the number of the revision that the form showed.
    """

    now: Edited
    base: int
    draft: Draft


def draft_sent(request: HttpRequest, study: Study, step: Step | None, draft: Draft) -> Draft:
    """Return the draft with the submitted fields of a step, less empty ones."""
    if step is None:
        return draft
    built = form(step, draft, known_names(draft, study, user_of(request)))
    sent = {name: without_nul(values) for name, values in request.POST.lists()}
    rest = {name: value for name, value in draft.items() if name not in step.fields}
    return {**rest, **read(built.widgets, sent)}


def submitted(request: HttpRequest, study: Study, step: Step) -> Submitted:
    """Return the draft that the form of a step submitted."""
    now = edited(study)
    draft = fitted(draft_sent(request, study, step, now.draft), now.draft)
    return Submitted(now, base_sent(request), draft)


def base_sent(request: HttpRequest) -> int:
    """Return the number of the revision that a form showed, -1 if invalid."""
    base = whole_number(request.POST.get("base", ""))
    return -1 if base is None else base


def without_nul(texts: Iterable[object]) -> list[str]:
    """Remove NUL characters, which PostgreSQL does not store in texts."""
    return [str(text).replace("\0", "") for text in texts]

"""What a form of the studio sent, as a draft."""

from collections.abc import Iterable
from typing import NamedTuple

from django.http import HttpRequest

from studyapp.models import Study
from studyapp.queries.drafts import Edited, edited, known_names
from studyapp.studio.drafts import Draft
from studyapp.studio.edits import MOST_DIGITS
from studyapp.studio.forms import form
from studyapp.studio.steps import Step
from studyapp.studio.widgets import read


class Submitted(NamedTuple):
    """A draft as it was and as it was sent. ``base`` is the revision that the form was made from."""

    now: Edited
    base: int
    draft: Draft


def draft_sent(request: HttpRequest, step: Step | None, draft: Draft) -> Draft:
    """The draft with the fields of a step as they were sent; an empty field is left out."""
    if step is None:
        return draft
    built = form(step, draft, known_names(str(draft.get("dataset", ""))))
    sent = {name: without_nul(values) for name, values in request.POST.lists()}
    rest = {name: value for name, value in draft.items() if name not in step.fields}
    return {**rest, **read(built.widgets, sent)}


def submitted(request: HttpRequest, study: Study, step: Step) -> Submitted:
    """What was sent by the form of a step."""
    now = edited(study)
    return Submitted(now, base_sent(request), draft_sent(request, step, now.draft))


def base_sent(request: HttpRequest) -> int:
    """The revision that a form was made from, -1 for what is no number of one."""
    base = request.POST.get("base", "")
    return int(base) if base.isdecimal() and len(base) <= MOST_DIGITS else -1


def without_nul(texts: Iterable[object]) -> list[str]:
    """Texts as sent, without NUL: no database keeps it in a text, and nobody types it."""
    return [str(text).replace("\0", "") for text in texts]

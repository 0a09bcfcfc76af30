"""What a form of the studio sent, as a draft."""

from typing import NamedTuple

from django.http import HttpRequest

from studyapp.models import Study
from studyapp.queries.drafts import Edited, edited, known
from studyapp.studio.drafts import Draft
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
    built = form(step, draft, known(str(draft.get("dataset", ""))))
    # No database keeps NUL in a text, and nobody types it.
    sent = {name: [str(value).replace("\0", "") for value in values] for name, values in request.POST.lists()}
    rest = {name: value for name, value in draft.items() if name not in step.fields}
    return {**rest, **read(built.widgets, sent)}


def submitted(request: HttpRequest, study: Study, step: Step) -> Submitted:
    """What was sent by the form of a step."""
    now = edited(study)
    base = request.POST.get("base", "")
    return Submitted(now, int(base) if base.isdecimal() else -1, draft_sent(request, step, now.draft))

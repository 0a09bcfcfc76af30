"""Participants of a study for staff: the table, one participant, and acts."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.errors import NotFound, TouchstoneError
from foundation.pages.tables import SortedTable
from foundation.pages.whole_numbers import parse_whole_number
from foundation.translated_messages import show_errors, translate_error
from studyapp.actions import exclusions, privacy
from studyapp.actions.participants import replace_link as make_new_link
from studyapp.actions.participants import revoke_links
from studyapp.exports.responses import load_response_data, load_response_page
from studyapp.models import ExternalIds, Participant, Study
from studyapp.queries.participants.privacy import read_stored_data
from studyapp.queries.participants.table import (
    PeoplePage,
    Person,
    Step,
    find_person,
    list_steps,
    read_people_page,
)
from studyapp.queries.running.condition_styles import label_groups, style_conditions
from studyapp.queries.running.responses import ResponseFilter
from studyapp.queries.studies import load_frozen_study
from studyapp.views.access import StudyRequest, study_page
from studyapp.web.event_labels import EVENT_LABELS
from studyapp.web.forms.participants import BEHAVIOUR_LABELS
from studyapp.web.forms.results import STATE_LABELS, PeopleForm, ReasonForm
from studyapp.web.html.tables import PEOPLE


@require_safe
@study_page(Act.STUDY_RESULTS, reads="participants")
def people(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the participants that the filters let through, the latest first."""
    form = PeopleForm(request.GET, study=study)
    table = PEOPLE.of(request.GET)
    page = read_people_page(
        study,
        form.build_filter(),
        before=parse_whole_number(request.GET.get("before", "")),
        order=() if table.is_default else table.order(),
        number=table.number,
    )
    context = {
        "study": study,
        "form": form,
        "page": page,
        "rows": [(person, STATE_LABELS[person.state]) for person in page.rows],
        "styles": style_conditions(study),
        "labels": label_groups(study),
        "table": table,
        "is_filtered": any(request.GET.get(name) for name in form.fields),
        "first": table.address() if request.GET.get("before") or table.number > 1 else "",
        "next": _build_next_link(table, page),
    }
    return render(request, "studyapp/staff/people.html", context)


def _build_next_link(table: SortedTable, page: PeoplePage) -> str:
    if page.after is not None:
        return table.address(before=page.after)
    return table.address(page=table.number + 1) if page.has_more else ""


@require_safe
@study_page(Act.STUDY_RESULTS, reads="participant")
def person(request: StudyRequest, study: Study, person: str) -> HttpResponse:
    """Show the way, the answers and the times of a participant."""
    return _page(request, study, _person(study, person))


@require_POST
@study_page(Act.STUDY_PERSONAL)
def replace_link(request: StudyRequest, study: Study, person: str) -> HttpResponse:
    """Make a new personal link and show it, only once; the old ones end."""
    row = _person(study, person).row
    with show_errors(request, TouchstoneError):
        token = make_new_link(participant=row, by=require_user(request))
        link = settings.SITE_URL + reverse("studyapp:resume", args=[token])
        return _page(request, study, _person(study, person), new_link=link)
    return redirect("studyapp:staff_person", study.slug, person)


@require_safe
@study_page(Act.STUDY_PERSONAL, reads="participant_file")
def export_person(request: StudyRequest, study: Study, person: str) -> HttpResponse:
    """Return all that is stored about a participant, for one who asks."""
    row = _person(study, person).row
    if row.status == Participant.Status.WITHDRAWN:
        raise Http404  # whose answers no page shows; `export_participant` prints them for the person
    response = JsonResponse(read_stored_data(row), json_dumps_params={"indent": 2})
    response["Content-Disposition"] = f'attachment; filename="{person}.json"'
    return response


class PersonAct(NamedTuple):
    """An act on a participant: the right it needs, and the message after it."""

    right: Act
    act: Callable[..., Any]
    done: str | Promise


ACTS = {
    "exclude": PersonAct(Act.STUDY_EDIT, exclusions.exclude_participant, _("Participant excluded.")),
    "include": PersonAct(Act.STUDY_EDIT, exclusions.include_participant, _("Participant included again.")),
    "revoke": PersonAct(Act.STUDY_PERSONAL, revoke_links, _("Personal links ended.")),
    "withdraw": PersonAct(Act.STUDY_PERSONAL, privacy.withdraw, _("Participant withdrawn.")),
    "anonymise": PersonAct(Act.STUDY_PERSONAL, privacy.anonymise_participant, _("Participant anonymised.")),
    "delete": PersonAct(Act.STUDY_PERSONAL, privacy.delete_participant, _("Participant deleted.")),
}


def act_page(name: str) -> Callable[..., HttpResponse]:
    """Return the view that does one of `ACTS` for a reason."""
    right, act, done = ACTS[name]

    @require_POST
    @study_page(right)
    def page(request: StudyRequest, study: Study, person: str) -> HttpResponse:
        shown = _person(study, person)
        form = ReasonForm(request.POST, prefix=name)
        if not form.is_valid():
            return _page(request, study, shown, failed=(name, form), status=422)
        with show_errors(request, TouchstoneError):
            act(participant=shown.row, reason=form.cleaned_data["reason"], by=require_user(request))
            messages.success(request, str(done))
        # The participant may be gone, or have another ID now.
        kept = Participant.objects.filter(pk=shown.row.pk, public_id=person).exists()
        if kept:
            return redirect("studyapp:staff_person", study.slug, person)
        return redirect("studyapp:staff_people", study.slug)

    return page


def _page(
    request: StudyRequest,
    study: Study,
    person: Person,
    *,
    failed: tuple[str, ReasonForm] | None = None,
    new_link: str = "",
    status: int = 200,
) -> HttpResponse:
    row = person.row
    behaviour = row.link.behaviour if row.link else ""
    names = [name for name in _acts_on(person) if ACTS[name].right in request.may]
    may_identify = Act.STUDY_PERSONAL in request.may
    context = {
        "study": study,
        "person": person,
        "behaviour": BEHAVIOUR_LABELS.get(behaviour, behaviour),
        "state_label": STATE_LABELS[person.state],
        "styles": style_conditions(study),
        "labels": label_groups(study),
        "steps": _steps(study, person),
        "may_identify": may_identify,
        "may_replace_link": may_identify and row.status == Participant.Status.ACTIVE,
        "new_link": new_link,
        "link_days": settings.PARTICIPANT_LINK_DAYS,
        "external": ExternalIds.objects.filter(participant=row).first() if may_identify else None,
        "promise": load_frozen_study(row.version).privacy.withdrawal,
        "refused": failed and failed[1],
        "forms": [
            (name, failed[1] if failed and failed[0] == name else ReasonForm(prefix=name)) for name in names
        ],
    }
    return render(request, "studyapp/staff/person.html", context, status=status)


def _acts_on(person: Person) -> list[str]:
    """Return the names of the acts that are possible on a participant."""
    impossible = {
        "exclude": person.exclusion is not None,
        "include": person.exclusion is None,
        "withdraw": person.row.status == Participant.Status.WITHDRAWN,
        "anonymise": person.row.anonymised_on is not None,
    }
    return [name for name in ACTS if not impossible.get(name)]


def _steps(study: Study, person: Person) -> list[dict[str, Any]]:
    """Return the way of a participant with its labels and exclusions."""
    steps = list_steps(person)
    marks: dict[str, Any] = {}
    if any(step.kind == "item" for step in steps):
        data = load_response_data(study)
        own = ResponseFilter(participant=person.row.public_id)
        content = load_frozen_study(person.row.version)
        size = content.pages + len(content.practice) + 1
        marks = {row["item_id"]: row["excluded_by"] for row in load_response_page(data, own, size=size).rows}
    return [_describe_step(step, marks) for step in steps]


def _describe_step(step: Step, marks: dict[str, Any]) -> dict[str, Any]:
    if step.event is None:
        return {"step": step, "excluded_by": marks.get(step.title) if step.kind == "item" else None}
    label = EVENT_LABELS.kind_label(step.event.kind)
    return {"step": step, "label": label, "details": EVENT_LABELS.detail_labels(step.event.data)}


def _person(study: Study, public_id: str) -> Person:
    try:
        return find_person(study, public_id)
    except NotFound as error:
        raise Http404(translate_error(error)) from error

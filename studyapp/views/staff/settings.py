"""Settings of a study: its links, and acts on it as a whole."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.translated_messages import translate_error
from studyapp.actions.links import create_link
from studyapp.errors import StudyRefused
from studyapp.models import Study
from studyapp.queries.participants.recruitment import list_links_with_counts
from studyapp.simulation_job import SimulationOptions
from studyapp.views.access import study_page
from studyapp.views.staff.results import start_job
from studyapp.web.forms.participants import BEHAVIOUR_LABELS, BotsForm, LinkForm
from studyapp.web.html.tables import LINKS


@require_safe
@study_page(Act.STUDY_SEE)
def settings_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the links of a study and the acts on the study as a whole."""
    return _page(request, study, LinkForm())


@require_POST
@study_page(Act.STUDY_EDIT)
def make_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Create an entry link and show it once: only its hash is stored."""
    form = LinkForm(request.POST)
    if form.is_valid():
        try:
            _link, token = create_link(study=study, by=require_user(request), **form.cleaned_data)
        except StudyRefused as error:
            form.add_error(error.field, translate_error(error))
        else:
            address = settings.SITE_URL + reverse("studyapp:join", args=[token])
            return _page(request, study, LinkForm(), new_link=address)
    return _page(request, study, form, status=422)


@require_POST
@study_page(Act.STUDY_EDIT)
def bots(request: HttpRequest, study: Study) -> HttpResponse:
    """Start bots that take part in the study."""
    form = BotsForm(request.POST)
    if not form.is_valid():
        return _page(request, study, LinkForm(), bots_form=form, status=422)
    options = SimulationOptions(study=study.pk, **form.cleaned_data)
    return start_job(request, study, "simulate_participants", options)


def _page(
    request: HttpRequest,
    study: Study,
    form: LinkForm,
    *,
    new_link: str = "",
    bots_form: BotsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    table = LINKS.of(request.GET)
    context = {
        "study": study,
        "behaviours": BEHAVIOUR_LABELS,
        "links": table.rows(list_links_with_counts(study)),
        "table": table,
        "form": form,
        "new_link": new_link,
        "bots_form": bots_form or BotsForm(),
        "refused": bots_form or form,
    }
    return render(request, "studyapp/staff/settings.html", context, status=status)

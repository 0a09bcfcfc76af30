"""Preview of the participants' pages of a launched version."""

from csp.decorators import csp_replace
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from accounts.policy_table import Act
from studyapp.models import Study
from studyapp.queries.studies import find_latest_version, load_translated_study
from studyapp.views.access import study_page
from studyapp.views.studio.preview import FRAME_CSP, build_preview_form, choices, render_preview


@require_safe
@study_page(Act.STUDY_SEE)
def preview(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page of the newest version at two widths, each in a frame."""
    version = find_latest_version(study)
    if version is None:
        messages.error(request, _("Launch the study to preview its pages."))
        return redirect("studyapp:staff_study", study.slug)
    content = load_translated_study(version, "")
    chosen = choices(content, request.GET)
    context = {
        "study": study,
        "version": version,
        "preview": build_preview_form(content, chosen),
        "query": urlencode(chosen),
    }
    return render(request, "studyapp/staff/preview.html", context)


@csp_replace(FRAME_CSP)
@require_safe
@study_page(Act.STUDY_SEE)
@xframe_options_sameorigin
def preview_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page of the newest version, chosen in the address."""
    version = find_latest_version(study)
    if version is None:
        raise Http404(_("Launch the study to preview its pages."))
    content = load_translated_study(version, "")
    return render_preview(request, study, content, choices(content, request.GET))

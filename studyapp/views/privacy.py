"""Privacy pages: withdrawal with a code, and removal by researchers."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from accounts.policy_table import Act
from accounts.rights.access import require_user
from foundation.errors import NotFound
from foundation.pages.filled_fields import FilledField
from foundation.translated_messages import translate_error
from studyapp.actions import privacy as actions
from studyapp.models import Participant, Study
from studyapp.queries.participants.privacy import find_participant, find_participant_by_code, list_promises
from studyapp.queries.studies import load_translated_study
from studyapp.views import participant_messages
from studyapp.views.access import study_page, use_browser_language


@require_http_methods(["GET", "HEAD", "POST"])
@use_browser_language
def withdraw(request: HttpRequest) -> HttpResponse:
    """Ask for the withdrawal code, then once more; do what was promised."""
    if request.method != "POST":
        return _ask(request)
    participant = find_participant_by_code(request.POST.get("code", ""))
    if participant is None:
        return _ask(request, _("This code is not valid. Please compare it with the code that you received."))
    if "sure" not in request.POST and participant.status != Participant.Status.WITHDRAWN:
        return _ask_again(request, participant)
    context = participant_messages.confirm_withdrawal(actions.withdraw(participant=participant))
    return render(request, "studyapp/participant/message.html", context)


def _ask(request: HttpRequest, error: str = "") -> HttpResponse:
    context = {"title": "Touchstone", "error": error, "code": request.POST.get("code", "") if error else ""}
    return render(request, "studyapp/participant/withdraw.html", context, status=422 if error else 200)


def _ask_again(request: HttpRequest, participant: Participant) -> HttpResponse:
    content = load_translated_study(participant.version, translation.get_language() or "")
    context = {
        "title": content.shown_title,
        "code": request.POST["code"],
        "deletes": content.privacy.withdrawal == "delete",
        "items": participant.items_submitted,
        "mark": participant.mode,
    }
    return render(request, "studyapp/participant/withdraw_confirm.html", context)


class PersonForm(forms.Form):
    """A participant to remove from a study."""

    person = forms.CharField(max_length=100, strip=True, label=gettext_lazy("Participant ID or external ID"))
    act = forms.ChoiceField(
        choices=[
            ("anonymise", gettext_lazy("Anonymise: keep the answers, remove all identifiers")),
            ("delete", gettext_lazy("Delete: remove the answers and all identifiers")),
        ],
        widget=forms.RadioSelect,
        label=gettext_lazy("How to remove"),
    )
    reason = FilledField(max_length=200, label=gettext_lazy("Reason (no names or IDs)"))
    sure = forms.BooleanField(label=gettext_lazy("I understand that this cannot be undone"))


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Act.STUDY_PERSONAL, reads="privacy")
def study_privacy(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the privacy terms of each version; remove a participant."""
    form = PersonForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        return _page(request, study, form)
    try:
        participant = find_participant(study, form.cleaned_data["person"])
    except NotFound as error:
        form.add_error("person", translate_error(error))
        return _page(request, study, form)
    deletes = form.cleaned_data["act"] == "delete"
    act = actions.delete_participant if deletes else actions.anonymise_participant
    act(participant=participant, by=require_user(request), reason=form.cleaned_data["reason"])
    messages.success(request, _("Participant deleted.") if deletes else _("Participant anonymised."))
    return redirect("studyapp:staff_privacy", study.slug)


def _page(request: HttpRequest, study: Study, form: PersonForm) -> HttpResponse:
    context: dict[str, Any] = {"study": study, "form": form, "promises": list_promises(study)}
    return render(request, "studyapp/staff/privacy.html", context, status=422 if form.errors else 200)

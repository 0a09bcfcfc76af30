"""The page "Your data": download all that is stored, delete the account."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from accounts.actions import audit
from accounts.actions.deletion import FORMER_NAME, delete_account
from accounts.people.forms import DeleteAccountForm
from accounts.queries.account_data import collect_account_data
from accounts.rights.access import require_user
from foundation.errors import TouchstoneError
from foundation.translated_messages import translate_error


@require_safe
@login_required
def show_account_data(request: HttpRequest) -> HttpResponse:
    """Say what is stored, and offer to download or delete it."""
    return _page(request, DeleteAccountForm(user=require_user(request)))


@require_POST
@login_required
def download(request: HttpRequest) -> HttpResponse:
    """Return all that is stored about the person."""
    user = require_user(request)
    audit.record(kind="account_exported", by=user, subject=user)
    response = JsonResponse(collect_account_data(user), json_dumps_params={"indent": 2})
    response["Content-Disposition"] = 'attachment; filename="touchstone-account.json"'
    return response


@require_POST
@login_required
@sensitive_post_parameters("password")
def delete(request: HttpRequest) -> HttpResponse:
    """Delete the account after the password."""
    user = require_user(request)
    form = DeleteAccountForm(request.POST, user=user)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        delete_account(user=user, by=user)
    except TouchstoneError as error:
        form.add_error(None, translate_error(error))
        return _page(request, form, status=409)
    request.session.flush()  # not `logout`, which would log the name of before
    messages.success(request, _("Your account is deleted."))
    return redirect("accounts:login")


def _page(request: HttpRequest, form: DeleteAccountForm, *, status: int = 200) -> HttpResponse:
    context = {"form": form, "former": FORMER_NAME.format(number=require_user(request).pk)}
    return render(request, "people/account_data.html", context, status=status)

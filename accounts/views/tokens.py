"""The page of a person's API tokens."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.actions.tokens import CreatedToken, create_token, revoke_token
from accounts.models import Scope
from accounts.people.forms import TokenForm
from accounts.queries.tokens import select_tokens
from accounts.rights.access import require_existing, require_user


@require_safe
@login_required
def list_tokens(request: HttpRequest) -> HttpResponse:
    """List the tokens of the person, with a form for a new one."""
    return _page(request, TokenForm())


@require_POST
@login_required
def create(request: HttpRequest) -> HttpResponse:
    """Create a token and show it, only once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    data = form.cleaned_data
    created = create_token(
        name=data["name"], scope=Scope(data["scope"]), days=data["days"], by=require_user(request)
    )
    return _page(request, TokenForm(), created)


@require_POST
@login_required
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke a token."""
    user = require_user(request)
    token = require_existing(select_tokens(user).filter(pk=pk).first())
    revoke_token(token=token, by=user)
    messages.success(request, _("Revoked the token %(name)s.") % {"name": token.name})
    return redirect("people:tokens")


def _page(
    request: HttpRequest, form: TokenForm, created: CreatedToken | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "tokens": select_tokens(require_user(request)),
        "form": form,
        "created": created,
        "now": timezone.now(),
    }
    return render(request, "people/tokens.html", context, status=status)

"""The page of a person's API token."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.actions import tokens
from annotation.queries.tokens import made_at
from annotation.views.access import user_of


@require_safe
@login_required
def token(request: HttpRequest) -> HttpResponse:
    """Show if a token exists, and the buttons to make or delete it."""
    return render(request, "annotation/token.html", {"made_at": made_at(user_of(request))})


@require_POST
@login_required
@never_cache
def make_token(request: HttpRequest) -> HttpResponse:
    """Make a token and show it once; the previous one ends."""
    new = tokens.renew(user=user_of(request))
    return render(request, "annotation/token.html", {"made_at": new.created, "key": new.key})


@require_POST
@login_required
def end_token(request: HttpRequest) -> HttpResponse:
    """Delete the token."""
    tokens.end(user=user_of(request))
    return redirect("annotation:token")

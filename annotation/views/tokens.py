"""The page of one's own token for the API."""

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
    """Whether one has a token, and the buttons to make, replace or end it."""
    return render(request, "annotation/token.html", {"made_at": made_at(user_of(request))})


@require_POST
@login_required
@never_cache
def make_token(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once; the one before ends."""
    made = tokens.renew(user=user_of(request))
    return render(request, "annotation/token.html", {"made_at": made.created, "key": made.key})


@require_POST
@login_required
def end_token(request: HttpRequest) -> HttpResponse:
    """End one's token."""
    tokens.end(user=user_of(request))
    return redirect("annotation:token")

"""The front door: a sentence about this site, and the login."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Redirect users to their start page; tell others about this site."""
    if request.user.is_authenticated:
        return redirect("start")
    return render(request, "studyapp/home.html")

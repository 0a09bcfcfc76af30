"""The front door: what this site is."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.policy import Act
from studyapp.queries.access import reach_of


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Redirect users with studies to these; tell others what this site is."""
    user = request.user
    if isinstance(user, User) and Act.STUDY_SEE in reach_of(user).anywhere:
        return redirect("studyapp:staff_home")
    return render(request, "studyapp/home.html")

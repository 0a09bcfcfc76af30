"""The front door: what this site is."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Staff go to their studies; anybody else reads what this site is."""
    if request.user.is_authenticated and request.user.is_staff:
        return redirect("studyapp:staff_home")
    return render(request, "studyapp/home.html")

"""Where people land after their login."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect


@login_required
def start(request: HttpRequest) -> HttpResponse:
    """Staff go to their studies, everybody else to their annotation projects."""
    return redirect("studyapp:staff_home" if request.user.is_staff else "annotation:home")

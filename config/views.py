"""What belongs to the whole site: where people land after their login, and the description of the API."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import IsAuthenticated


@login_required
def start(request: HttpRequest) -> HttpResponse:
    """Staff go to their studies, everybody else to their annotation projects."""
    return redirect("studyapp:staff_home" if request.user.is_staff else "annotation:home")


class Schema(SpectacularAPIView):
    """The OpenAPI document of every endpoint under api/, for everybody with a login or a token."""

    permission_classes = [IsAuthenticated]

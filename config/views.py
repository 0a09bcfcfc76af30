"""What belongs to the whole site: where people land after login, texts of scripts, the API's description."""

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import translation
from django.utils.cache import patch_cache_control
from django.views.i18n import JavaScriptCatalog
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import IsAuthenticated


@login_required
def start(request: HttpRequest) -> HttpResponse:
    """Staff go to their studies, everybody else to their annotation projects."""
    return redirect("studyapp:staff_home" if request.user.is_staff else "annotation:home")


class ScriptTexts(JavaScriptCatalog):
    """The texts that scripts show, in the language of the address, so that browsers may keep each."""

    def get(self, request: HttpRequest, *args: Any, language: str, **kwargs: Any) -> HttpResponse:
        if language not in dict(settings.LANGUAGES):
            raise Http404(f"{language} is no language of this site.")
        with translation.override(language):
            response = super().get(request, *args, **kwargs)
        patch_cache_control(response, private=True, max_age=3600)
        return response


class Schema(SpectacularAPIView):
    """The OpenAPI document of every endpoint under api/, for everybody with a login or a token."""

    permission_classes = [IsAuthenticated]

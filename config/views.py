"""Views of the whole site: start page, texts of scripts, API schema."""

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
    """Redirect staff to the studies, other users to their projects."""
    return redirect("studyapp:staff_home" if request.user.is_staff else "annotation:home")


class ScriptTexts(JavaScriptCatalog):
    """The texts of scripts in one language; browsers may cache them."""

    def get(self, request: HttpRequest, *args: Any, language: str, **kwargs: Any) -> HttpResponse:
        """Return the catalogue in the language of the address."""
        if language not in dict(settings.LANGUAGES):
            raise Http404(f"This site does not have the language {language}.")
        with translation.override(language):
            response = super().get(request, *args, **kwargs)
        patch_cache_control(response, private=True, max_age=3600)
        return response


class Schema(SpectacularAPIView):
    """The OpenAPI document of all endpoints, for users with login or token."""

    permission_classes = [IsAuthenticated]

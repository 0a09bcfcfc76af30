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

from accounts.access import user_of
from accounts.policy import Act
from studyapp.queries.access import reach_of


@login_required
def start(request: HttpRequest) -> HttpResponse:
    """Redirect users with studies to these, others to their projects."""
    has_studies = Act.STUDY_SEE in reach_of(user_of(request)).anywhere
    return redirect("studyapp:staff_home" if has_studies else "annotation:home")


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

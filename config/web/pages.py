"""Views of the whole site: start, search, theme, texts, API schema."""

from collections.abc import Collection
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.cache import patch_cache_control
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe
from django.views.i18n import JavaScriptCatalog
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from accounts.rest.problems import answer_problem
from accounts.rights.access import require_user
from accounts.rights.current_workspace import find_chosen_workspace
from annotation.queries.members import list_memberships
from config.web.search import search as found
from config.web.waiting import list_waiting_acts
from jobs.queries import list_user_jobs
from studyapp.queries.running.progress import list_studies_with_counts

_YEAR = 365 * 24 * 3600
_NEWEST = 6  # of studies, projects and jobs on the start page


@require_safe
@login_required
def start(request: HttpRequest) -> HttpResponse:
    """Show the newest studies, projects and jobs, and what waits."""
    user = require_user(request)
    workspace = find_chosen_workspace(request)
    members = list_memberships(user, workspace)
    context = {
        "studies": list_studies_with_counts(user, workspace)[:_NEWEST],
        "projects": [member.project for member in members[:_NEWEST]],
        "jobs": list_user_jobs(user)[:_NEWEST],
        "waiting": list(list_waiting_acts(user, members[:_NEWEST])),
    }
    return render(request, "start.html", context)


@require_safe
@login_required
def search(request: HttpRequest) -> HttpResponse:
    """List what matches a text, of everything that the user may see."""
    text = request.GET.get("q", "").strip()[:200]
    return render(request, "search.html", {"search_text": text, "groups": found(require_user(request), text)})


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Remember the colours that a person wants, in a cookie."""
    return _remember_choice(request, "theme", ("light", "dark"))


@require_POST
def choose_density(request: HttpRequest) -> HttpResponse:
    """Remember the height of rows that a person wants, in a cookie."""
    return _remember_choice(request, "density", ("compact",))


def _remember_choice(request: HttpRequest, name: str, values: Collection[str]) -> HttpResponse:
    """Keep a choice in a cookie, empty if it is none of the values."""
    address = request.POST.get("next", "")
    allowed = url_has_allowed_host_and_scheme(address, {request.get_host()}, request.is_secure())
    # A word alone is the name of a page to `redirect`, which fails for one that there is not.
    if not allowed or "/" not in address:
        address = "/"
    response = redirect(address)
    chosen = request.POST.get(name, "")
    response.set_cookie(
        name,
        chosen if chosen in values else "",
        max_age=_YEAR,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
    )
    return response


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


@require_safe
@login_required
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show the REST API with forms that try it; all files are local."""
    return render(request, "api_docs.html")


class _KeptSchema(SchemaGenerator):
    """Makes the document once in each language: the code alone decides it."""

    def get_schema(self, request: Request | None = None, public: bool = False) -> Any:
        return _schema(translation.get_language())


@cache
def _schema(_language: str) -> Any:
    return SchemaGenerator().get_schema(request=None, public=True)


class Schema(SpectacularAPIView):
    """The OpenAPI document of all endpoints, for users with login or token."""

    permission_classes = [IsAuthenticated]
    generator_class = _KeptSchema

    def get_exception_handler(self) -> Any:
        """Return the handler that answers with problem details."""
        return answer_problem

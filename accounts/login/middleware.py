"""Middleware of accounts: required second factor, services out of reach."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from redis.exceptions import RedisError
from requests import RequestException

from accounts.models import User
from accounts.queries.second_factor import has_second_factor, is_second_factor_needed

_log = logging.getLogger(__name__)


class RequireSecondFactor(MiddlewareMixin):
    """Lead people to the set-up of the second factor that their role needs.

    Without REQUIRE_SECOND_FACTOR it is not there at all, and costs no query.
    """

    OPEN = frozenset(
        {
            "accounts:login",
            "accounts:logout",
            "account_login",
            "account_logout",
            "account_reauthenticate",
            "accounts:activate_totp",
            "words",
        }
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.REQUIRE_SECOND_FACTOR:
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        """Answer before the view runs; only here its name is known."""
        assert request.resolver_match is not None
        name, user = request.resolver_match.view_name, request.user
        if name in self.OPEN or name.startswith("mfa_") or not isinstance(user, User):
            return None
        if has_second_factor(user) or not is_second_factor_needed(user):
            return None
        if request.path.startswith("/api/"):
            problem = {"title": "Forbidden", "status": 403, "detail": _("Set up a second factor first.")}
            return JsonResponse(problem, status=403, content_type="application/problem+json")
        return redirect("mfa_activate_totp")


class Unreachable(MiddlewareMixin):
    """Answer 503 if a service that a page of accounts needs does not answer.

    Codes of a second factor, sign-ups and reset mails are limited in the cache; without it they could be
    guessed. The login with a password does without. A login by OpenID Connect needs its provider, and a reset
    by mail the mail server.
    """

    TEMPLATES: Mapping[type[Exception], str] = {
        RequestException: "socialaccount/authentication_error.html",
        RedisError: "accounts/unreachable.html",
        OSError: "accounts/unreachable.html",  # the mail server
    }

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Explain what the page of an account could not reach."""
        match = request.resolver_match
        template = next((name for kind, name in self.TEMPLATES.items() if isinstance(exception, kind)), None)
        if template is None or match is None or not match.route.startswith("accounts/"):
            return None
        _log.error("the page needs a service that does not answer", exc_info=exception)
        return render(request, template, status=503)

"""API tokens in requests: ``Authorization: Bearer tst_…``.

This is the one place that holds a token's scope against a request. Safe methods need the scope ``read``. All
others need ``manage``, or the scope that the view declares::

    class SubmitView(EditorView):
        scope = Scope.ANNOTATE

Requests with a token need no CSRF token, because browsers never send the header by themselves.
"""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from accounts.actions.tokens import note_use
from accounts.models import ApiToken, Scope, User
from accounts.queries.tokens import find_token

_RISING = list(Scope)  # each scope includes those before it


class BearerToken(BaseAuthentication):
    """Authenticates requests with an API token of an active user."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the user and their token; None without a token.

        Raises:
            AuthenticationFailed: The token is not valid.
            PermissionDenied: Its scope does not allow the request.
        """
        scheme, _space, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "token":
            raise AuthenticationFailed(
                _(
                    "Tokens of the scheme Token are no longer accepted. Create an API token on the page "
                    "/account/tokens/ and send it as: Authorization: Bearer tst_…"
                )
            )
        if scheme.lower() != "bearer":
            return None
        token = _find_valid_token(key.strip())
        _check_scope(Scope(token.scope), request)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme that responses with status 401 name."""
        return "Bearer"


def _find_valid_token(key: str) -> ApiToken:
    token, now = find_token(key), timezone.now()
    if token is None:
        raise AuthenticationFailed(_("This is not a valid API token."))
    if token.revoked_at is not None:
        raise AuthenticationFailed(_("This API token was revoked. Create another one."))
    if token.expires_at <= now:
        raise AuthenticationFailed(_("This API token has expired. Create another one."))
    if not token.user.is_active:
        raise AuthenticationFailed(_("The account of this API token is deactivated."))
    note_use(token=token, at=now)
    return token


def _check_scope(scope: Scope, request: Request) -> None:
    needed = _find_needed_scope(request)
    if _RISING.index(scope) < _RISING.index(needed):
        raise PermissionDenied(
            _(
                "This request needs an API token with the scope %(needed)s; this token has the scope "
                "%(scope)s."
            )
            % {"needed": needed.value, "scope": scope.value}
        )


def _find_needed_scope(request: Request) -> Scope:
    if request.method in SAFE_METHODS:
        return Scope.READ
    assert request.parser_context is not None  # Django REST framework always sets it
    return getattr(request.parser_context["view"], "scope", Scope.MANAGE)


class BearerTokenScheme(OpenApiAuthenticationExtension):
    """Describes the tokens in the OpenAPI document."""

    target_class = "accounts.token_auth.BearerToken"
    name = "bearerToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the security scheme."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "tst_…"}

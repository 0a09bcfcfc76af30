"""The base of every endpoint: login or token, scope, rate, bodies."""

import logging
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import Http404, QueryDict
from redis.exceptions import RedisError
from rest_framework.authentication import SessionAuthentication
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.throttling import UserRateThrottle
from rest_framework.views import APIView

from accounts.models import User, Workspace
from accounts.policy_table import Act, Roles
from accounts.rest.problems import answer_problem
from accounts.rights.access import require
from accounts.rights.roles import Owned
from accounts.token_auth import BearerToken

_log = logging.getLogger(__name__)


class PerUser(UserRateThrottle):
    """At most ``API_RATE`` requests of a user; 429 with Retry-After beyond.

    Without a cache there is no limit, because work must go on when the broker does not.
    """

    rate = settings.API_RATE

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count the request."""
        try:
            return super().allow_request(request, view)
        except RedisError as error:
            _log.warning("no limit of requests: the cache cannot be reached (%s)", type(error).__name__)
            return True


class Unread(BaseParser):
    """Leave the body to the endpoint.

    The check of the CSRF token looks for it in the body before the endpoint reads that.
    """

    def parse(self, *_arguments: Any, **_options: Any) -> QueryDict:
        """Return an empty form."""
        return QueryDict()


class AnyType(BaseContentNegotiation):
    """Leave the choice of the media type to the endpoint, instead of 406."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        """Return the parser that reads nothing."""
        return Unread()

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer."""
        first = next(iter(renderers))
        return first, first.media_type


class RestView(APIView):
    """An endpoint: its methods take a request and return typed JSON."""

    # The token comes first, because its 401 names the scheme; sessions would answer 403 to everything.
    authentication_classes = [BearerToken, SessionAuthentication]
    permission_classes = [IsAuthenticated]
    throttle_classes = [PerUser]
    content_negotiation_class = AnyType
    parser_classes = []  # `accounts.rest.bodies` reads bodies, with their limits

    def get_exception_handler(self) -> Any:
        """Return the handler that answers with problem details."""
        return answer_problem

    @property
    def user(self) -> User:
        """The user who sends the request."""
        assert isinstance(self.request.user, User)
        return self.request.user

    def require(self, act: Act, owned: Owned | Workspace) -> Roles:
        """Let the user through, or answer 404 or 403 as pages do."""
        return require(self.user, act, owned)


class Unknown(RestView):
    """Answers 404 to all other addresses of the API, with every method."""

    schema = None  # not an endpoint

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse the request once its login is checked."""
        super().initial(request, *args, **kwargs)
        hint = "" if request.path.endswith("/") else "; addresses end with a slash"
        raise Http404(f"There is no endpoint at {request.path[:200]}{hint}.")

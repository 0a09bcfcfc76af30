"""Errors of the client.

::

    ClientError
    ├── Unreachable            the site did not answer, or not to the end
    ├── WaitTimeout            a job or run is not finished in time
    ├── JobFailed              a job failed or was cancelled
    ├── RunFailed              a run failed or was cancelled
    └── ApiError               the site answered with an error
        ├── NotAuthenticated   401
        ├── NotAllowed         403
        ├── NotFound           404
        ├── Conflict           409, 410, 412
        ├── Invalid            400, 413, 415, 422, 428
        ├── RateLimited        429
        └── Unavailable        503
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .rows import JobRow, RunRow


class ClientError(Exception):
    """The base of all errors of the client."""


class Unreachable(ClientError):
    """The site did not answer, or its answer ended early."""


class WaitTimeout(ClientError):
    """A job or run is not finished in the time that the caller gave it."""


class JobFailed(ClientError):
    """A job failed or was cancelled; ``job`` is its last state."""

    def __init__(self, job: JobRow) -> None:
        self.job = job
        super().__init__(f"job {job['id']} ({job['kind']}) {job['status']}: {job['error']}")


class RunFailed(ClientError):
    """A run failed, was cancelled or is paused; ``run`` is its last state."""

    def __init__(self, run: RunRow) -> None:
        self.run = run
        super().__init__(f"run {run['id']} of {run['system']} {run['status']}: {run['error']}")


@dataclass(frozen=True)
class FieldProblem:
    """A field that is wrong, and why.

    Attributes:
        field: Its path, as in ``items.3.text``.
        detail: Why it is wrong.
    """

    field: str
    detail: str


class ApiError(ClientError):
    """The site answered with an error.

    Attributes:
        status: The HTTP status.
        title: Its name.
        detail: A sentence for people.
        errors: The fields that are wrong, if fields are wrong.
        retry_after: The seconds to wait before another try, None if the site did not say.
        members: Further data: the steps that are still open, or the stored state after a conflict.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        errors: Sequence[FieldProblem] = (),
        retry_after: float | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        self.status, self.title, self.detail = status, title, detail
        self.errors, self.retry_after = tuple(errors), retry_after
        self.members = dict(members or {})
        super().__init__(f"{status} {title}: {detail}")


class NotAuthenticated(ApiError):
    """The token is missing, wrong, revoked or expired."""


class NotAllowed(ApiError):
    """Your roles or the scope of the token do not allow it."""


class NotFound(ApiError):
    """There is nothing that you may see under this name."""


class Conflict(ApiError):
    """It contradicts the stored state, or somebody changed it since."""


class Invalid(ApiError):
    """The request is malformed; ``errors`` names the wrong fields."""


class RateLimited(ApiError):
    """Too many requests; ``retry_after`` says when to go on."""


class Unavailable(ApiError):
    """A service that the site needs cannot be reached now."""


BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    410: Conflict,
    412: Conflict,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    428: Invalid,
    429: RateLimited,
    503: Unavailable,
}

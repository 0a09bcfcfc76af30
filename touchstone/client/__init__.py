"""A client of a Touchstone site: its REST API as typed Python.

::

    from touchstone.client import Client

    with Client("https://study.example.org", token="tst_…") as site:
        for row in site.studies.rows("hotpot", "trials"):
            print(row["certainty"])
"""

try:
    from .client import Client
except ModuleNotFoundError as error:
    if error.name not in ("httpx", "yaml"):
        raise
    raise ImportError(
        "touchstone.client needs httpx and PyYAML, which the analysis does not. "
        "Install them with: pip install httpx PyYAML"
    ) from error
from .errors import (
    ApiError,
    ClientError,
    Conflict,
    FieldProblem,
    Invalid,
    JobFailed,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RateLimited,
    RunFailed,
    Unavailable,
    Unreachable,
    WaitTimeout,
)
from .projects import ProjectSettings
from .studies import Draft

__all__ = [
    "ApiError",
    "Client",
    "ClientError",
    "Conflict",
    "Draft",
    "FieldProblem",
    "Invalid",
    "JobFailed",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "ProjectSettings",
    "RateLimited",
    "RunFailed",
    "Unavailable",
    "Unreachable",
    "WaitTimeout",
]

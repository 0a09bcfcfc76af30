"""The client: what a site has, by subject."""

from __future__ import annotations

from types import TracebackType

import httpx

from .annotations import Annotations
from .connection import Connection
from .data import Datasets, Imports, Runs, Systems
from .jobs import Jobs
from .projects import Projects
from .studies import Studies
from .workspaces import Workspaces


class Client:
    """A client of a Touchstone site; use it as a context manager, or close it.

    Methods that ask the site raise an `ApiError` if it answers with an error, and `Unreachable` if it does
    not answer.

    Args:
        url: The address of the site, as in ``https://study.example.org``.
        token: An API token, which you create on the site's page «API tokens».
        timeout: Seconds to wait for a connection, and for each part of a response.
        transport: Takes the place of the network, for tests and special networks.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, token, timeout=timeout, transport=transport)
        self.workspaces = Workspaces(self._connection)
        self.datasets = Datasets(self._connection)
        self.imports = Imports(self._connection)
        self.systems = Systems(self._connection)
        self.runs = Runs(self._connection)
        self.jobs = Jobs(self._connection)
        self.studies = Studies(self._connection)
        self.projects = Projects(self._connection)
        self.annotations = Annotations(self._connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

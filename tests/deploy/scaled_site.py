"""A site of several servers and workers, as a platform runs it.

The web servers, workers and model servers are behind proxies.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from scripts.sites.commands import Commands
from scripts.sites.processes import Part, Supervisor, free_port, is_url_answering
from scripts.sites.site import Site
from scripts.sites.stack import Stack
from tests.deploy.certificates import make_certificate
from tests.deploy.web_proxy import web_proxy


@dataclass
class ScaledSite:
    """The site as people reach it, and its programs by name."""

    site: Site
    parts: dict[str, Part] = field(default_factory=dict)

    def start(self, *names: str) -> None:
        """Start programs, and return when all answer."""
        for name in names:
            self.site.parts.start(self.parts[name])
        self.site.parts.wait_ready()


class SecureStack(Stack):
    """A stack whose address is that of a proxy with TLS."""

    @property
    def url(self) -> str:
        """Return the address that people see."""
        return f"https://127.0.0.1:{self.port}"


@contextmanager
def scaled_site(
    database: str, parts: Supervisor, extra: Mapping[str, str] | None = None
) -> Iterator[ScaledSite]:
    """Make a site of two web servers behind nginx on a migrated database.

    ``parts`` starts its programs.
    """
    with ExitStack() as lasting:
        folder = Path(lasting.enter_context(tempfile.TemporaryDirectory(prefix="touchstone-scaled-")))
        tls = make_certificate(folder)
        settings = {
            "SECRET_KEY": secrets.token_urlsafe(50), "DATABASE_URL": database, "BEHIND_PROXY": "true",
            "DEBUG": "false", "DJANGO_ADMIN": "false", "DJANGO_ALLOW_ASYNC_UNSAFE": "", "LOG_LEVEL": "INFO",
            "RATE_LIMITS": "false", **(extra or {}),
        }  # fmt: skip
        stack = SecureStack(folder, free_port(), free_port(), settings)
        commands = lasting.enter_context(Commands(stack.env))
        scaled = ScaledSite(Site(stack, parts, commands))
        ports = [free_port(), free_port()]
        for number, port in enumerate(ports, start=1):
            scaled.parts[f"web {number}"] = web_server(stack, number, port)
        scaled.parts["nginx"] = web_proxy(folder / "nginx", stack.port, ports, tls)
        yield scaled


def web_server(stack: Stack, number: int, port: int) -> Part:
    """Return a web server of one process, as the units of deploy/ start two."""
    part = replace_port(stack, port).web()
    command = [*part.command, "--workers", "1"]
    log = stack.var / "log" / f"web-{number}.log"
    ready = f"http://127.0.0.1:{port}/health/ready"
    return replace(
        part, name=f"web {number}", command=command, log=log, ready=lambda: is_url_answering(ready)
    )


def replace_port(stack: Stack, port: int) -> Stack:
    """Return the stack of a server behind the proxy.

    It has the port of the server, and the addresses that people see.
    """
    return Stack(stack.var, port, stack.model_port, {**stack.addresses, **stack.extra})

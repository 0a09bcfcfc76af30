"""A provider of OpenID Connect on this machine, in a process of its own."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from django.test import Client

from scripts.sites.processes import Part, Supervisor, free_port, is_url_answering

PROVIDER = {"id": "local", "name": "Local university", "client_id": "touchstone", "secret": "of the tests"}


@contextmanager
def running_provider(folder: Path) -> Iterator[str]:
    """Run the provider; yield its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    part = Part(
        name="provider",
        command=[sys.executable, "-m", "oidc_provider_mock", "--port", str(port)],
        log=folder / "provider.log",
        ready=lambda: is_url_answering(f"{url}/.well-known/openid-configuration"),
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    with Supervisor() as programs:
        programs.start(part)
        programs.wait_ready()
        yield url


def know(url: str, person: str, **claims: object) -> None:
    """Make a person known to the provider."""
    httpx.put(f"{url}/users/{person}", json=claims, trust_env=False).raise_for_status()


def log_in_there(client: Client, name: str, address: str = "/accounts/oidc/local/login/", **data: str):
    """Go to the provider, log in there as a person, and come back."""
    page = client.post(address, data)
    assert page.status_code == 200
    assert "form-action 'self'" in page.headers["Content-Security-Policy"]
    there = httpx.post(page.context["address"], data={"sub": name}, trust_env=False)
    back = urlsplit(there.headers["Location"])
    return client.get(f"{back.path}?{back.query}")

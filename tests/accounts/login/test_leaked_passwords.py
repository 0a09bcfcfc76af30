"""The site's list, and a service if one is set, refuse leaked passwords."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils import translation

from accounts.login import leaked_passwords
from tests.accounts.people import PASSWORD, log_in, make_user

LEAKED = "seven boats were sunk"
UNKNOWN = "seven boats at anchor"
COMMON = "q1w2e3r4t5y6"


def digest_of(password: str) -> str:
    return hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()


@contextmanager
def service(*, status: int = 200, body: str | None = None, pause: float = 0.0) -> Iterator[tuple[str, list]]:
    """Yield the address of a service that knows LEAKED, and its requests.

    Each request is its path and headers.
    """
    requests: list[tuple[str, dict[str, str]]] = []
    digest = digest_of(LEAKED)
    lines = [f"{digest[5:]}:1,234", f"{'0' * 35}:0"] if body is None else [body]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, dict(self.headers)))
            time.sleep(pause)
            self.send_response(status)
            self.end_headers()
            with suppress(BrokenPipeError):  # nobody waits any more
                self.wfile.write("\r\n".join(lines).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/range/", requests
    finally:
        server.shutdown()
        server.server_close()


def refusals(password: str) -> list[str]:
    try:
        validate_password(password)
    except ValidationError as error:
        return error.messages
    return []


def test_it_works(settings):
    with service() as (url, requests):
        settings.LEAKED_PASSWORDS_URL = url
        assert refusals(LEAKED) == ["This password is known from a data leak. Choose another one."]
        assert refusals(UNKNOWN) == []
    with translation.override("de"), service() as (url, _):
        settings.LEAKED_PASSWORDS_URL = url
        assert refusals(LEAKED) == [
            "Dieses Passwort ist aus einem Datenleck bekannt. Bitte ein anderes wählen."
        ]
    assert len(requests) == 2


def test_five_characters_of_a_hash_leave_the_site(settings):
    with service() as (url, requests):
        settings.LEAKED_PASSWORDS_URL = url
        refusals(UNKNOWN)
    [(path, headers)] = requests
    assert path == f"/range/{digest_of(UNKNOWN)[:5]}"
    assert headers["Add-Padding"] == "true"
    assert "Cookie" not in headers
    assert "Referer" not in headers


def test_nothing_is_sent_unless_a_service_is_named(settings, monkeypatch):
    monkeypatch.setattr(leaked_passwords, "_build_client", lambda url: pytest.fail(f"asked {url}"))
    assert settings.LEAKED_PASSWORDS_URL == ""
    assert refusals(LEAKED) == []


def test_a_common_password_is_refused_without_asking(settings):
    with service() as (url, requests):
        settings.LEAKED_PASSWORDS_URL = url
        assert refusals(COMMON.upper()) == ["This password is too common."]
    assert requests == []


def test_the_list_has_the_lengths_that_the_site_takes():
    common = leaked_passwords.LeakedPasswordValidator().passwords
    assert len(common) == 10_000
    assert {word for word in common if not 12 <= len(word) <= 128 or word != word.lower()} == set()


@pytest.mark.parametrize(
    "answer",
    [{"status": 503}, {"status": 302}, {"body": "<html>"}, {"body": "A:B"}, {"pause": 6.0}],
    ids=["unavailable", "elsewhere", "a page", "no number", "slow"],
)
def test_a_failing_service_refuses_nothing_and_is_in_the_log(settings, caplog, answer):
    with service(**answer) as (url, _):
        settings.LEAKED_PASSWORDS_URL = url
        before = time.monotonic()
        assert refusals(LEAKED) == []
        assert time.monotonic() - before < 5
        assert refusals(COMMON) == ["This password is too common."]
    assert "with the local list alone" in caplog.text
    assert LEAKED not in caplog.text


def test_a_service_that_is_away_refuses_nothing(settings, caplog):
    with service() as (url, _):
        pass
    settings.LEAKED_PASSWORDS_URL = url
    assert refusals(LEAKED) == []
    assert "with the local list alone" in caplog.text


@pytest.mark.django_db
def test_the_page_of_a_new_password_says_why(settings, client):
    make_user(email="ada@example.org")
    log_in(client)
    with service() as (url, _):
        settings.LEAKED_PASSWORDS_URL = url
        form = {"oldpassword": PASSWORD, "password1": LEAKED, "password2": LEAKED}
        page = client.post("/accounts/password/change/", form).content.decode()
    assert "This password is known from a data leak." in page
    assert LEAKED not in page

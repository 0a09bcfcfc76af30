"""Requests that cannot be read or served get a sentence.

They have the right status, and write few log lines.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator

import pytest
from celery import current_app
from django.db import InterfaceError, OperationalError, ProgrammingError, connection
from django.test import Client

from config.database_errors import OneLineASecond, is_unavailable
from tests.studyapp import factories

URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FIELD = b'--b\r\nContent-Disposition: form-data; name="code"'
ADDRESSES = ("/accounts/login/", "/withdraw/", "/theme/", "/language/")


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.django_db
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("charset", ["utf-16", "utf-7", "nonsense", "rot13", "hex", "idna", "'utf-32'"])
@pytest.mark.parametrize("media", [URLENCODED, MULTIPART + "; boundary=b"])
def test_a_form_in_another_encoding_is_refused(client, settings, debug, address, charset, media):
    settings.DEBUG = debug
    body = "code=a&b=c".encode("utf-16") if media == URLENCODED else FIELD + b"\r\n\r\nx\r\n--b--\r\n"
    response = client.generic("POST", address, body, content_type=f"{media}; charset={charset}")
    assert response.status_code == 400
    assert "Nothing was stored. Go back, reload the page and send it again." in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    ("media", "body"),
    [
        (f"{URLENCODED}; charset=UTF-8", b"code=%zz%ff%fe&x=%"),
        (URLENCODED, b"code=%00&username=%00&password=%00"),
        (URLENCODED, b"\xff\xfe\x00"),
        (URLENCODED, b"a=1&" * 20_000),
        (MULTIPART, b"x"),
        (f"{MULTIPART}; boundary=", b"x"),
        (f"{MULTIPART}; boundary=" + "b" * 300, b"--b"),
        (f"{MULTIPART}; boundary=b", FIELD),
        (f"{MULTIPART}; boundary=b", FIELD + b"\r\nContent-Transfer-Encoding: base64\r\n\r\n!!\r\n--b--\r\n"),
        (f"{MULTIPART}; boundary=b", FIELD + b'; filename="\x00"\r\n\r\nx\r\n--b--\r\n'),
        ("\xff/\xff", b"x"),
        ("", b"x"),
    ],
)
def test_no_malformed_form_is_a_failure_of_the_server(client, address, media, body):
    response = client.generic("POST", address, body, content_type=media)
    assert response.status_code < 500
    if response.status_code == 400 and address != "/language/":
        assert "Nothing was stored" in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/join/%00/", "/study/a%00/", "/api/v1/projects/%00/", "/resume/%ff%00/"]
)
def test_an_address_with_nul_is_refused(client, address):
    assert client.get(address).status_code in (400, 404)


def unavailable(kind: type[Exception], message: str, cause: Exception | None = None) -> Exception:
    error = kind(message)
    error.__cause__ = cause
    return error


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A database server that has just been shut down."""

    def fail(*_arguments: object, **_options: object) -> None:
        raise OperationalError("consuming input failed: server closed the connection unexpectedly")

    with connection.execute_wrapper(fail):
        yield


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/join/x/", "/withdraw/", "/start/", "/staff/"])
def test_pages_say_that_nothing_is_lost_while_the_database_is_away(client, address, request):
    client.force_login(factories.make_user())
    request.getfixturevalue("gone")
    method = client.post if address == "/withdraw/" else client.get
    response = method(address, {"code": "x"})
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "10"
    assert "Nothing is lost" in response.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/nowhere/", "/staff/studies/nothing/", "/data/99/"])
def test_a_missing_page_shows_people_with_a_login_the_menu(client, address):
    user = factories.make_user()
    client.force_login(user)
    page = client.get(address)
    assert page.status_code == 404
    text = page.content.decode()
    assert 'class="rail"' in text
    assert "go on from the menu or the search" in text
    assert "study link" not in text


@pytest.mark.django_db
def test_an_address_for_forms_shows_people_with_a_login_the_menu(client):
    client.force_login(factories.make_user())
    page = client.get("/theme/")
    assert page.status_code == 405
    assert 'class="rail"' in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(("address", "is_for_staff"), [("/staff/", True), ("/join/x/", False)])
def test_a_failure_speaks_to_those_who_use_the_address(client, monkeypatch, address, is_for_staff):
    def fail(*_arguments: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("studyapp.views.staff.studies.list_studies_with_counts", fail)
    monkeypatch.setattr("studyapp.link_tokens.find_link", fail)
    client.force_login(factories.make_user())
    page = client.get(address)
    assert page.status_code == 500
    text = page.content.decode()
    assert ("tell the people who run this site" in text) is is_for_staff
    assert ("Your earlier answers" in text) is not is_for_staff
    assert page.headers["X-Request-ID"] in text


@pytest.mark.django_db
def test_the_api_returns_a_problem_while_the_database_is_away(client, request):
    client.force_login(factories.make_user())
    request.getfixturevalue("gone")
    response = client.get("/api/v1/studies/")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "10")
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == 503


@pytest.mark.parametrize("text", ["database is locked", "disk I/O error", "unable to open database file"])
def test_a_busy_or_unreadable_sqlite_file_is_away_for_a_while(text):
    assert is_unavailable(unavailable(OperationalError, text, sqlite3.OperationalError(text)))


def test_a_mistake_of_ours_is_a_failure():
    error = sqlite3.OperationalError("no such table: x")
    assert not is_unavailable(unavailable(OperationalError, str(error), error))
    assert not is_unavailable(ProgrammingError("relation does not exist"))
    assert is_unavailable(InterfaceError("connection already closed"))


def test_the_log_has_one_line_a_second_without_a_traceback(monkeypatch: pytest.MonkeyPatch):
    now = [5.0]
    monkeypatch.setattr("config.database_errors.time.monotonic", lambda: now[0])
    lines, shorten = [], OneLineASecond()
    for step in range(300):
        now[0] = 5.0 + step / 100
        error = OperationalError("terminating connection\ndue to administrator command")
        record = logging.LogRecord(
            "django.request", 40, "x", 1, "Internal Server Error: %s", ("/",), (OperationalError, error, None)
        )
        if shorten.filter(record):
            lines.append(record)
    assert len(lines) == 3
    assert lines[0].getMessage() == (
        "the database does not answer: terminating connection due to administrator command"
    )
    assert lines[0].exc_info is None
    assert shorten.filter(logging.LogRecord("a", 40, "x", 1, "else", (), None))


def test_tasks_start_again_when_the_database_is_back():
    tasks = [task for name, task in current_app.tasks.items() if not name.startswith("celery.")]
    assert tasks
    assert all(OperationalError in getattr(task, "autoretry_for", ()) for task in tasks)

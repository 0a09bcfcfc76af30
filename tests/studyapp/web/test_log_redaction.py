"""Log lines hold no tokens, query strings or IDs of people."""

import logging
import time

import pytest
from django.test import Client

from studyapp.web.log_redaction import RedactingFormatter, redact_log_text
from tests.studyapp import factories
from tests.studyapp.platform_standin import query
from tests.studyapp.views.participants.test_recruitment import PROLIFIC


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Not Found: /join/AbC-d_1/", "Not Found: /join/…/"),
        ("GET https://x.example/resume/ab.cd/ HTTP/1.1", "GET https://x.example/resume/…/ HTTP/1.1"),
        ("/join/t/?PROLIFIC_PID=5f1&S=2 failed", "/join/…/?… failed"),
        ('"/study/a/consent/?language=de"', '"/study/a/consent/?…"'),
        ("Is that so? x=1", "Is that so? x=1"),
        ("/really?/so?a=1 b", "/really?… b"),
        ("/really?/so?", "/really?/so?"),
        ("run 5 of system a=b is done", "run 5 of system a=b is done"),
    ],
)
def test_it_works(line, expected):
    assert redact_log_text(line) == expected


def test_the_site_uses_it_for_every_line(settings):
    formatter = settings.LOGGING["formatters"]["line"]
    assert formatter["class"] == "studyapp.web.log_redaction.RedactingFormatter"
    assert {handler["formatter"] for handler in settings.LOGGING["handlers"].values()} == {"line"}


@pytest.mark.django_db
def test_a_page_that_breaks_logs_no_token_and_no_id(monkeypatch, caplog):
    token = factories.make_link_and_token(study=factories.make_study(recruitment=PROLIFIC))[1]
    client = Client(raise_request_exception=False)

    def breaks(*arguments, **more):
        raise RuntimeError(f"/join/{token}/?PROLIFIC_PID=5f1secret")

    monkeypatch.setattr("studyapp.views.participants.recruitment.find_earlier_participant", breaks)
    with caplog.at_level(logging.DEBUG):
        assert client.get(f"/join/{token}/{query('5f1secret')}").status_code == 500
        client.get(f"/join/{token}x/{query('5f1secret')}")
    lines = [RedactingFormatter("%(message)s").format(record) for record in caplog.records]
    assert any("/join/…/" in line for line in lines)
    assert not any(token in line or "5f1secret" in line for line in lines)


def test_a_message_is_one_line():
    """Names and paths that people send do not begin a line of their own.

    Nor do they drive a terminal.
    """
    record = logging.LogRecord(
        "axes", logging.WARNING, "", 0, "no login of %s", ("eve\n2026-01-01 fake\x1b[2J\u2028",), None
    )
    line = RedactingFormatter("%(levelname)s %(message)s").format(record)
    assert line == "WARNING no login of eve\\n2026-01-01 fake\\x1b[2J\\u2028"


def test_a_traceback_keeps_its_lines():
    try:
        raise ValueError("broken")
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("site", logging.ERROR, "", 0, "failed", (), info)
    assert RedactingFormatter("%(message)s").format(record).splitlines()[-1] == "ValueError: broken"


@pytest.mark.parametrize("part", ["a?", "/join/", "://", "a?b", "x@://"])
def test_a_long_address_costs_little(part):
    """Each request that fails logs its path, which is up to 64 KB long."""
    line = f"Not Found: /{part * (65_536 // len(part))}"
    begun = time.process_time()
    redact_log_text(line)
    assert time.process_time() - begun < 0.5

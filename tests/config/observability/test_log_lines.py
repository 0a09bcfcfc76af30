"""Log lines are JSON: one object each, with ID and traceback.

They hold no tokens and no query strings.
"""

import json
import logging
import sys

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from config.observability.request_log import RequestLog
from studyapp.web.log_redaction import JsonLines


def line(message: str, *arguments: object, **more: object) -> dict:
    record = logging.LogRecord("site", logging.WARNING, "x.py", 1, message, arguments, None)
    vars(record).update(more)
    text = JsonLines().format(record)
    assert "\n" not in text
    return json.loads(text)


def test_it_is_one_object():
    entry = line("of %s", "a", request_id="page-1", fields={"status": 200})
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "warning", "event": "of a", "logger": "site", "request_id": "page-1", "status": 200
    }  # fmt: skip


@pytest.mark.parametrize("end", ['"', "\\", "\n", "ü\t"])
def test_tokens_and_queries_are_left_out_of_every_field(end):
    entry = line(f"GET /join/secret/?PROLIFIC_PID=5f3{end}", fields={"path": "/resume/hidden/x"})
    assert "secret" not in str(entry)
    assert "5f3" not in str(entry)
    assert entry["path"] == "/resume/…/x"


def test_an_error_has_its_traceback():
    try:
        raise ValueError("at /join/secret/")
    except ValueError:
        entry = line("failed", exc_info=sys.exc_info())
    assert entry["error"] == "ValueError"
    assert entry["traceback"].splitlines()[-1] == "ValueError: at /join/…/"


def test_a_request_is_logged_by_its_route_and_not_by_its_address(settings, caplog):
    settings.LOG_REQUESTS = True
    with caplog.at_level(logging.INFO, logger="touchstone.requests"):
        RequestLog(lambda _: HttpResponse(status=404))(RequestFactory().get("/who/ann@example.org/?id=5"))
    (record,) = caplog.records
    fields = dict(vars(record)["fields"])
    assert fields.pop("ms") >= 0
    assert fields == {"method": "GET", "route": "none", "status": 404}
    assert "ann" not in record.getMessage()

"""One ID follows from the page over the queue to the model server's batch."""

import logging
from typing import Any

import pytest
from celery import current_app
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from kombu import Connection

from jobs import request_ids
from modelserver.serving.fake_server import FakeSystem
from predictions.actions.predictions import start_run
from predictions.tasks import predict_slice
from studyapp.web.middleware import RequestId
from tests.studyapp.questions import entries
from tests.studyapp.serving import made_dataset, model_server

__all__ = ["model_server"]


@pytest.fixture(autouse=True)
def _no_work_under_way():
    request_ids.end()
    yield
    request_ids.end()


class TestPages:
    @pytest.mark.django_db
    def test_it_works(self, client):
        assert client.get("/", headers={"X-Request-ID": "proxy-7.a"}).headers["X-Request-ID"] == "proxy-7.a"
        assert request_ids.format_label() == ""

    @pytest.mark.parametrize("request_id", ["", "a b", "x" * 65, "a\x1b[31m", "ü"])
    def test_an_id_that_could_spoil_a_log_is_replaced(self, request_id):
        request = RequestFactory().get("/", headers={"X-Request-ID": request_id})
        replacement = RequestId(lambda _: HttpResponse())(request).headers["X-Request-ID"]
        assert len(replacement) == 32
        assert replacement != request_id

    def test_a_page_that_breaks_leaves_no_id_behind(self):
        def breaks(_: HttpRequest) -> HttpResponse:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            RequestId(breaks)(RequestFactory().get("/"))
        assert request_ids.format_label() == ""


class TestLogLines:
    def test_they_hold_the_id_and_a_dash_without_one(self):
        record = logging.makeLogRecord({})
        assert request_ids.RequestIdFilter().filter(record)
        assert vars(record)["request_id"] == "-"
        request_ids.begin("page-1")
        request_ids.RequestIdFilter().filter(record)
        assert vars(record)["request_id"] == "page-1"

    def test_the_site_writes_it(self, settings):
        handler = settings.LOGGING["handlers"]["stderr"]
        assert "request_id" in handler["filters"]
        assert "%(request_id)s" in settings.LOGGING["formatters"][handler["formatter"]]["format"]


def published(broker: Any, *part: int) -> None:
    """Enqueue a slice on a broker in this process's memory."""
    enqueue: Any = predict_slice.apply_async
    enqueue(part, ignore_result=True, connection=broker)


def taken(broker: Any) -> dict[str, Any]:
    """The headers of the next message."""
    headers: dict[str, Any] = broker.default_channel.basic_get(
        current_app.conf.task_default_queue, no_ack=True
    ).headers
    return headers


@pytest.mark.django_db
def test_one_id_follows_from_the_page_to_the_batch(model_server, caplog):
    run = start_run(
        dataset=made_dataset("toy", entries(3)), system="fake", revision=FakeSystem("fake").revision
    )
    first, _, last = run.dataset.questions.order_by("pk").values_list("pk", flat=True)
    part = (run.pk, first, last)
    with Connection("memory://") as broker:

        def page(_: HttpRequest) -> HttpResponse:
            published(broker, *part)
            return HttpResponse()

        RequestId(page)(RequestFactory().get("/", headers={"X-Request-ID": "page-1"}))
        headers = taken(broker)

    with caplog.at_level(logging.DEBUG, logger="modelserver"):
        # As a worker does it, which knows the message alone.
        assert request_ids.format_label() == ""
        predict_slice.apply(part, headers=headers)
        model_server.close()
    assert run.predictions.count() == 3
    expected = f"page-1.{run.pk}-{first}-{last}"
    lines = [
        (record.getMessage(), vars(record)["fields"])
        for record in caplog.records
        if hasattr(record, "fields")
    ]
    assert expected in [fields["request_id"] for event, fields in lines if event == "request"]
    (batch,) = [fields for event, fields in lines if event == "batch"]
    assert batch["request_ids"] == (expected,)


@pytest.mark.django_db
def test_slices_of_one_command_share_an_id():
    with Connection("memory://") as broker:
        for part in ((1, 1, 2), (1, 3, 4)):
            published(broker, *part)
        ids = {taken(broker)[request_ids.HEADER] for _ in "12"}
    assert len(ids) == 1
    assert len(ids.pop()) == 32

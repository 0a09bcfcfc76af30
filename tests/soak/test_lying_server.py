"""A run with a model server that answers wrongly, or hardly.

It ends with a sentence, and stores no wrong answer.
"""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command

from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import DeadlineExceeded
from modelserver.wire.schema import QAItem
from predictions.models import Prediction, PredictionRun
from tests.soak import malformed, rng_of, size
from tests.studyapp.questions import entry
from tests.studyapp.serving import eager, made_dataset

__all__ = ["eager"]

pytestmark = pytest.mark.django_db

Lie = Callable[[dict[str, Any]], bytes]


def changed(*path: Any, to: Any) -> Lie:
    """A lie that changes one value of the true answer."""

    def lie(answer: dict[str, Any]) -> bytes:
        part: Any = answer
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = to
        return json.dumps(answer).encode()

    return lie


LIES: dict[str, Lie] = {
    "an ID of nobody": changed("predictions", 0, "id", to="somebody"),
    "an answer too few": lambda answer: json.dumps(
        {**answer, "predictions": answer["predictions"][1:]}
    ).encode(),
    "an answer twice": lambda answer: json.dumps(
        {**answer, "predictions": [answer["predictions"][0]] * len(answer["predictions"])}
    ).encode(),
    "another system": changed("system", to="other"),
    "a probability that is not a number": changed(
        "predictions", 0, "fact_probabilities", 0, "probability", to=float("nan")
    ),
    "a probability above 1": changed("predictions", 0, "fact_probabilities", 0, "probability", to=7.0),
    "a fact of another shape": changed("predictions", 0, "facts", to=[["Oslo", "first", 3]]),
    "an answer that is a list": changed("predictions", 0, "answer", to=[]),
    "JSON that ends early": lambda answer: json.dumps(answer).encode()[:-40],
    "a page": lambda _answer: b"<html>Welcome</html>",
    "nothing": lambda _answer: b"",
    "bytes": lambda _answer: b"\xff\xfe\x00",
    "lists in lists": lambda _answer: b"[" * 100_000,
}


class Liar:
    """A server between the site and a true one, which changes predictions."""

    def __init__(self, true: FakeModelServer) -> None:
        self.lie: Lie = LIES["nothing"]
        self.true, self.seconds = true, 0.0
        handler = type("Handler", (_Handler,), {"liar": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        answer = httpx.post(self.true.url + path, content=body, headers=headers, trust_env=False)
        time.sleep(self.seconds)
        return self.lie(answer.json()) if path == "/v1/predict" else answer.content

    def described(self, path: str) -> bytes:
        return httpx.get(self.true.url + path, trust_env=False).content


class _Handler(BaseHTTPRequestHandler):
    liar: Liar

    def do_GET(self) -> None:
        self._send(self.liar.described(self.path))

    def do_POST(self) -> None:
        self._send(self.liar.answer(self.path, self.rfile.read(int(self.headers["Content-Length"]))))

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_one_request(self) -> None:
        with suppress(ConnectionError):  # the caller is gone
            super().handle_one_request()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def liar(settings: Any) -> Iterator[Liar]:
    with FakeModelServer(FakeSystem("liar")) as true:
        liar = Liar(true)
        settings.MODEL_SERVER_URL = liar.url
        yield liar
        liar.server.shutdown()
        liar.server.server_close()


def predicted(name: str) -> str:
    """Predict a new dataset; return the sentence with which that ends."""
    made_dataset(name, [entry(number) for number in range(4)])
    with pytest.raises(CommandError) as error:
        call_command("predict", "--dataset", name, "--system", "liar", "--wait", stdout=io.StringIO(),
                     stderr=io.StringIO())  # fmt: skip
    return str(error.value)


@pytest.mark.parametrize("name", LIES)
def test_a_lie_fails_the_run(liar: Liar, eager: None, name: str):
    liar.lie = LIES[name]
    assert "Traceback" not in predicted("lies")
    run = PredictionRun.objects.get()
    assert run.status == PredictionRun.Status.FAILED
    assert run.error
    assert not Prediction.objects.exists()


def test_lies_at_random(liar: Liar, eager: None):
    for number in range(size(5, 0.3)):
        rng = rng_of("lies", number)
        liar.lie = lambda answer, rng=rng: malformed.json_bytes(answer, rng)  # type: ignore[misc]
        name = f"lies-{number}"
        made_dataset(name, [entry(number) for number in range(2)])
        with suppress(CommandError):
            call_command("predict", "--dataset", name, "--system", "liar", "--wait", stdout=io.StringIO(),
                         stderr=io.StringIO())  # fmt: skip
        stored = Prediction.objects.filter(run__dataset__name=name)
        assert all(isinstance(prediction.answer, str) for prediction in stored)


def test_a_server_that_never_answers(liar: Liar):
    """A call ends at its deadline; `jobs.queue` gives up after some."""
    liar.seconds = 20.0
    items = [QAItem(id="q", question="Who sang?", context=[("T", ["Ann sang."])])]
    begun = time.monotonic()
    with ModelClient(liar.url, timeout=1.0, retry=Retry(total=0)) as client, pytest.raises(DeadlineExceeded):
        client.predict("liar", items)
    assert time.monotonic() - begun < 15.0

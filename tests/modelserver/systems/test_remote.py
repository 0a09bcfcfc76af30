"""Tests of a server elsewhere behind ours.

The other server is a few lines on the standard library.
"""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.serving.model_cache import Source
from modelserver.serving.service import REMOTE_CALLS, Service
from modelserver.systems.remote import RemoteSystem
from modelserver.wire.errors import PredictionFailed, Unavailable, UnusableSystem
from modelserver.wire.schema import Explanation, ItemError, PredictRequest, QAPrediction, SaliencyOptions
from tests.modelserver.gates import GatedSystem, item


def answers(items: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "revision": "v1",
        "predictions": [{"id": question["id"], "answer": question["id"]} for question in items],
    }


class Elsewhere:
    """A server whose answers to items and whose status a test chooses."""

    def __init__(self) -> None:
        self.say: Callable[[list[dict[str, Any]]], Any] = answers
        self.status = 200
        self.asked: list[list[str]] = []
        self.why: Callable[[dict[str, Any]], Any] | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                items = body["items"]
                outer.asked.append([question["id"] for question in items])
                why = self.path == "/v1/explain" and outer.why
                answer = why(body) if why else outer.say(items)
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(content)))
                self.send_header("Retry-After", "7")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/answer"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    server = Elsewhere()
    yield server
    server.close()


def system(elsewhere: Elsewhere, **options: Any) -> RemoteSystem:
    return RemoteSystem(elsewhere.url, name="far", **options)


def test_it_works(elsewhere):
    far = system(elsewhere)
    assert far.revision == "v1"
    assert far.cost(item("a", words=4)) == 8
    elsewhere.say = lambda items: answers(items[::-1])
    assert far.predict([item("a"), item("b")]) == [
        QAPrediction(id="a", answer="a", facts=[]), QAPrediction(id="b", answer="b", facts=[]),
    ]  # fmt: skip
    assert elsewhere.asked == [["warm-up"], ["a", "b"]]


def test_each_item_fails_by_itself(elsewhere):
    far = system(elsewhere)
    elsewhere.say = lambda items: {
        "revision": "v1",
        "predictions": [
            {"id": "a", "error": "no such language"},
            {"id": "b", "answer": "x", "facts": [["Other", 0]]},
            {"id": "d", "answer": "x"},
        ],
    }
    outcomes = far.predict([item(name) for name in "abcd"])
    assert [isinstance(outcome, ItemError) for outcome in outcomes] == [True, True, True, False]
    messages = [error.message.removeprefix(f"{far.shown}: ") for error in outcomes[:3]]
    assert messages[0] == "no such language"
    assert messages[1].startswith("facts: the context holds no sentence 0")
    assert messages[2] == "it is not among the predictions"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"<html>", "did not answer with JSON"),
        ([], 'an object that has a list of "predictions"'),
        ({"predictions": {}}, 'an object that has a list of "predictions"'),
        ({"predictions": [{"answer": "x"}]}, r"predictions\.0 is not an object with an id"),
        ({"predictions": []}, 'answers without a "revision"'),
        ({"predictions": [], "revision": 3}, "revision is 3, and not a text"),
        ({"predictions": [], "revision": "v" * 51}, "revision has 51 characters, more than 50"),
        ({"predictions": [], "revision": "v1"}, "the first question is not among the predictions"),
        (
            {"predictions": [{"id": "warm-up", "text": "x"}], "revision": "v1"},
            r"predictions\.0\.answer: is missing",
        ),
        ({"predictions": [{"id": "other", "answer": "x"}]}, r"predictions\.0: 'other' was not asked for"),
        (b"[" * 100_000, "did not answer with JSON"),
        (b'{"predictions": [{"id": "\xe9"}]}', "did not answer with JSON"),
    ],
)
def test_an_answer_that_is_none_is_told_when_it_is_loaded(elsewhere, answer, words):
    elsewhere.say = lambda items: answer
    with pytest.raises(UnusableSystem, match=words):
        system(elsewhere)


@pytest.mark.parametrize("status", [302, 401, 403, 404])
def test_a_status_that_has_nothing_to_do_with_the_items_is_told_so(elsewhere, status):
    far = system(elsewhere)
    elsewhere.status = status
    for attempt in (lambda: system(elsewhere), lambda: far.predict([item("a")])):
        with pytest.raises(UnusableSystem, match=f"/answer answered {status}"):
            attempt()


def test_an_answer_that_trickles_in_is_given_up_when_its_time_is_over():
    def trickle(listener: socket.socket) -> None:
        caller, _ = listener.accept()
        with caller, suppress(OSError):
            caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in range(600):
                caller.sendall(b" ")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=trickle, args=(listener,), daemon=True).start()
        started = time.monotonic()
        with pytest.raises(Unavailable, match="did not answer in time"):
            RemoteSystem(f"http://127.0.0.1:{listener.getsockname()[1]}/", name="far", timeout=0.3)
        assert time.monotonic() - started < 15


def test_an_endless_answer_is_given_up(elsewhere, monkeypatch):
    far = system(elsewhere)
    monkeypatch.setattr("modelserver.systems.remote.MOST_BYTES", 1_000)
    elsewhere.say = lambda items: b" " * 2_000
    with pytest.raises(PredictionFailed, match="answered more than 1000 bytes"):
        far.predict([item("a")])


def test_a_revision_may_be_given_instead(elsewhere):
    elsewhere.say = lambda items: answers(items) | {"revision": None}
    far = system(elsewhere, revision="paper")
    assert far.revision == "paper"
    assert far.predict([item("a")])[0].id == "a"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_has_no_time_is_unavailable(elsewhere, status):
    far = system(elsewhere)
    elsewhere.status = status
    with pytest.raises(Unavailable, match=f"answered {status}") as caught:
        far.predict([item("a")])
    assert caught.value.retry_after == 7


def test_a_server_that_fails_blames_the_items(elsewhere):
    far = system(elsewhere)
    elsewhere.status = 500
    with pytest.raises(PredictionFailed, match="answered 500"):
        far.predict([item("a")])


def test_a_server_that_is_not_there_or_hangs_is_unavailable(elsewhere):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(Unavailable, match="did not answer in time"):
            RemoteSystem(f"http://user:secret@127.0.0.1:{port}/", name="far", timeout=0.1)
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        RemoteSystem(f"http://user:secret@127.0.0.1:{port}/", name="far")
    assert "secret" not in str(caught.value)


def explained(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a remote server's explanations of each question's first word."""
    score = {"article": None, "title": None, "index": None, "start": 0, "end": 3, "score": 1.5}
    return {
        "schema_version": 1, "system": body["system"], "revision": "v1",
        "explanations": [
            {"id": question["id"], "revision": "v1", "options": body["options"], "scores": [score],
             "first": 0, "last": 0, "value": 2.0} | changes
            for question in body["items"]
        ],
    }  # fmt: skip


def test_saliency_comes_from_a_server_that_has_it(elsewhere):
    elsewhere.why = explained
    (why,) = system(elsewhere).explain([item("a")], SaliencyOptions(method="occlusion"))
    assert isinstance(why, Explanation)
    assert (why.id, why.options.method, why.scores[0].score) == ("a", "occlusion", 1.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": [], "first": 0}, "first and last refer to no score"),
        ({"scores": [{"article": 9, "title": "T", "index": 0, "start": 0, "end": 1, "score": 1.0}]},
         r"scores\.0 lies outside the item"),
        ({"scores": [{"article": None, "title": None, "index": None, "start": 0, "end": 999, "score": 1.0}]},
         r"scores\.0 lies outside the item"),
        ({"id": "other"}, "it is not among the explanations"),
    ],
)  # fmt: skip
def test_saliency_that_fits_no_item_is_told(elsewhere, changes, message):
    elsewhere.why = lambda body: explained(body, **changes)
    (explanation,) = system(elsewhere).explain([item("a")], SaliencyOptions())
    assert isinstance(explanation, ItemError)
    assert re.search(message, explanation.message)


def test_saliency_of_another_form_is_told(elsewhere):
    elsewhere.why = lambda body: {"explanations": []}
    with pytest.raises(PredictionFailed, match="/v1/explain: system: is missing"):
        system(elsewhere).explain([item("a")], SaliencyOptions())


def test_a_server_without_saliency_is_told(elsewhere):
    loaded = system(elsewhere)
    elsewhere.status = 404
    with pytest.raises(UnusableSystem, match=f"{loaded.name} has no saliency: its server answers 404"):
        loaded.explain([item("a")], SaliencyOptions())


class TestBehindTheServer:
    @pytest.fixture
    def server(self, elsewhere) -> Iterator[FakeModelServer]:
        with FakeModelServer(
            FakeSystem("near"),
            sources={"far": Source(lambda: system(elsewhere, timeout=5.0), is_remote=True)},
        ) as running:
            yield running

    def test_it_works(self, server, elsewhere):
        with server.client() as client:
            response = client.predict("far", [item("a"), item("b")])
        assert response.revision == "v1"
        assert [prediction.answer for prediction in response.predictions] == ["a", "b"]

    def test_saliency_passes_through(self, server, elsewhere):
        elsewhere.why = explained
        with server.client() as client:
            (why,) = client.explain("far", [item("a")]).explanations
        assert why.scores[0].score == 1.5

    def test_one_without_saliency_is_a_typed_error(self, server, elsewhere):
        with server.client() as client:
            client.predict("far", [item("a")])
            elsewhere.status = 404
            with pytest.raises(UnusableSystem, match="far has no saliency"):
                client.explain("far", [item("a")])

    def test_a_failing_item_is_found_by_halves(self, server, elsewhere):
        def breaks(items: list[dict[str, Any]]) -> Any:
            return b"broken" if any(question["id"] == "c" for question in items) else answers(items)

        elsewhere.say = breaks
        with server.client() as client:
            outcomes = client.predict("far", [item(name) for name in "abcd"]).predictions
        assert [isinstance(outcome, ItemError) for outcome in outcomes] == [False, False, True, False]

    def test_one_that_is_away_is_a_typed_error_with_a_time_to_come_back(self, server, elsewhere):
        elsewhere.status = 503
        before = len(elsewhere.asked)
        with server.client() as client, pytest.raises(Unavailable, match="answered 503") as caught:
            client.predict("far", [item(str(n)) for n in range(20)])
        assert caught.value.retry_after == 7
        item_ids = [key for batch in elsewhere.asked[before:] for key in batch]
        assert item_ids  # and none twice: no batch was halved, as the items are not to blame
        assert len(item_ids) == len(set(item_ids))

    def test_a_slow_one_holds_up_nobody_else_and_meets_the_deadline(self, server, elsewhere):
        gate = threading.Event()

        def slow(items: list[dict[str, Any]]) -> Any:
            assert gate.wait(20)
            return answers(items)

        elsewhere.say = slow
        with server.client() as client, ThreadPoolExecutor(4) as pool:
            waiting = [pool.submit(client.predict, "far", [item(str(n))]) for n in range(3)]
            with pytest.raises(Unavailable, match="deadline"):
                client.predict("far", [item("late")], timeout=0.2)
            for n in range(5):
                client.predict("near", [item(str(n))])
            assert not any(future.done() for future in waiting)
            gate.set()
            assert [future.result().predictions[0].id for future in waiting] == ["0", "1", "2"]

    def test_a_slow_one_holds_up_no_other_one(self):
        slow, quick = GatedSystem("slow"), FakeSystem("quick")
        sources = {fake.name: Source(lambda fake=fake: fake, is_remote=True) for fake in (slow, quick)}

        async def run() -> None:
            service = Service(sources, preload=False)
            working = asyncio.create_task(service.work())
            await service.load()
            many = PredictRequest(system="slow", items=[item(str(n)) for n in range(100)])
            waiting = asyncio.create_task(service.answer(many, "many"))
            while len(slow.batches) < REMOTE_CALLS:
                await asyncio.sleep(0.01)
            request = PredictRequest(system="quick", items=[item("a")])
            await asyncio.wait_for(service.answer(request, "one"), 10)
            slow.gate.set()
            assert len((await waiting).predictions) == 100
            working.cancel()

        asyncio.run(run())

    def test_one_that_lost_its_page_is_a_typed_error_and_no_item_is_blamed(self, server, elsewhere):
        elsewhere.status = 404
        before = len(elsewhere.asked)
        with server.client() as client, pytest.raises(UnusableSystem, match="answered 404"):
            client.predict("far", [item(name) for name in "abcd"])
        assert len(elsewhere.asked) == before + 1

    def test_a_reason_that_is_no_text_is_passed_on_readably(self, server, elsewhere):
        elsewhere.say = lambda items: {
            "revision": "v1", "predictions": [{"id": "a", "error": "\ud800" + "x" * 5_000}],
        }  # fmt: skip
        with server.client() as client:
            (outcome,) = client.predict("far", [item("a")]).predictions
        assert outcome.message.startswith(f"{elsewhere.url}: \\ud800xxx")
        assert len(outcome.message) < 2_100

    def test_a_changed_revision_is_asked_for_again(self, server, elsewhere):
        elsewhere.say = lambda items: answers(items) | {"revision": "v2"}
        with server.client() as client:
            with pytest.raises(Unavailable, match="changed from revision v1 to v2"):
                client.predict("far", [item("a")])
            assert client.predict("far", [item("a")]).revision == "v2"
            assert {info.name: info.revision for info in client.systems().systems}["far"] == "v2"

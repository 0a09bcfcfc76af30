import asyncio
import json
import logging
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import httpx
import pytest

from benchmarks.models.predictions import ROOT
from modelserver.inputs.packing import BatchLimits
from modelserver.serving.fake_server import FAILS, INVALID, FakeModelServer, FakeSystem
from modelserver.serving.lifecycle import bind
from modelserver.serving.service import ServerLimits, Service
from modelserver.wire.errors import LoadFailed, PortTaken
from modelserver.wire.schema import ErrorBody, PredictResponse, QAItem, QAPrediction
from tests.modelserver.gates import GatedSystem, item
from tests.waiting import eventually

JSON = {"Content-Type": "application/json"}


def body(*items: QAItem, system: str = "fake", **more: object) -> dict[str, object]:
    return {"system": system, "items": [question.model_dump() for question in items], **more}


def error(response: httpx.Response) -> ErrorBody:
    """Return the error of a response.

    Every error must have the declared form and give its request ID.
    """
    assert response.headers["x-request-id"]
    return ErrorBody.model_validate_json(response.content)


@pytest.fixture(scope="module")
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def http(server: FakeModelServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        yield client


class Gated:
    """A served GatedSystem, and requests to it from threads."""

    def __init__(self, limits: ServerLimits | None = None) -> None:
        self.system = GatedSystem()
        self.server = FakeModelServer(self.system, limits=limits)
        self.pool = ThreadPoolExecutor(16)
        self.http = httpx.Client(base_url=self.server.url, trust_env=False, timeout=20)

    @property
    def waiting(self) -> int:
        return self.server.service.batcher.waiting

    def ask(self, *items: QAItem, **headers: str) -> httpx.Response:
        return self.http.post("/v1/predict", json=body(*items, system="gated"), headers=headers)

    def start(self, *items: QAItem) -> Future[httpx.Response]:
        return self.pool.submit(self.ask, *items)

    def occupy(self) -> Future[httpx.Response]:
        """Make the model busy with one item."""
        future = self.start(item("busy"))
        assert self.system.entered.wait(10)
        return future

    def close(self) -> None:
        self.system.gate.set()
        self.pool.shutdown()
        self.http.close()
        self.server.close()


@pytest.fixture
def gated() -> Iterator[Gated]:
    running = Gated(ServerLimits(batch=BatchLimits(queue=8)))
    yield running
    running.close()


class TestPredict:
    def test_it_works(self, http):
        response = http.post("/v1/predict", json=body(item("a"), item("b")))
        assert response.status_code == 200
        answer = PredictResponse.model_validate_json(response.content)
        assert [outcome.id for outcome in answer.predictions] == ["a", "b"]
        assert (answer.system, answer.revision) == ("fake", FakeSystem().revision)

    def test_a_body_in_parts_and_other_spellings_of_its_type_are_answered_alike(self, http):
        whole = json.dumps(body(item("a"), item("b"))).encode()
        expected = http.post("/v1/predict", content=whole, headers=JSON)
        parts = iter([whole[:20], whole[20:31], whole[31:]])
        responses = (
            http.post("/v1/predict", content=parts, headers=JSON),
            http.post(
                "/v1/predict", content=whole, headers={"Content-Type": "Application/JSON; charset=utf-8"}
            ),
            http.post("/v1/predict", content=b" " + whole + b"\n", headers=JSON),
        )
        for response in responses:
            assert response.status_code == 200
            assert response.json() == expected.json()
            assert response.headers["content-type"] == expected.headers["content-type"]

    def test_a_bad_item_is_an_error_in_its_place_and_the_others_are_predicted(self, http):
        items = [item("a"), item("b", question=INVALID), item("c", question=FAILS), item("d")]
        outcomes = http.post("/v1/predict", json=body(*items)).json()["predictions"]
        assert [outcome.get("error") for outcome in outcomes] == [
            None,
            "invalid_item",
            "prediction_failed",
            None,
        ]
        assert outcomes[1]["message"] == f"question: the question holds {INVALID}"
        assert [outcome["id"] for outcome in outcomes] == list("abcd")

    def test_an_item_longer_than_a_batch_is_refused_by_itself(self):
        with FakeModelServer(limits=ServerLimits(batch=BatchLimits(item_tokens=50))) as server:
            response = httpx.post(f"{server.url}/v1/predict", json=body(item("a", words=60), item("b")))
        first, second = response.json()["predictions"]
        assert first["message"] == "context: the item has 64 tokens; at most 50 are taken"
        assert "answer" in second

    def test_an_item_without_context_is_predicted(self, http):
        empty = QAItem(id="a", question="Who?", context=[])
        (prediction,) = http.post("/v1/predict", json=body(empty)).json()["predictions"]
        assert prediction["facts"] == []

    def test_a_check_that_breaks_costs_only_its_item(self):
        class Broken(FakeSystem):
            def cost(self, item: QAItem) -> int:
                return 1 // (item.id != "b")

        with FakeModelServer(Broken()) as server:
            response = httpx.post(f"{server.url}/v1/predict", json=body(item("a"), item("b")))
        outcomes = response.json()["predictions"]
        assert [outcome.get("error") for outcome in outcomes] == [None, "prediction_failed"]


class TestBadRequests:
    @pytest.mark.parametrize(
        ("content", "status", "field", "words"),
        [
            (b"{", 400, None, "not JSON"),
            (b"\xff\xfe", 400, None, ""),
            (b'{"system": "\xe9"}', 400, None, "not JSON"),
            (b"[" * 100_000, 400, None, "not JSON"),
            (b'{"system": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, None, "not JSON"),
            (b"[]", 422, None, "must be a JSON object"),
            (b"{}", 422, "system", "missing"),
            (b'{"system": "fake", "items": []}', 422, "items", "at least 1"),
            (b'{"system": "fake", "items": [{"id": "a", "context": []}]}', 422,
             "items.0.question", "missing"),
            (b'{"system": "fake", "items": [{"id": "", "question": "q", "context": []}]}', 422,
             "items.0.id", "at least 1"),
            (b'{"system": "fake", "items": [{"id": "a", "question": "q", "context": [["t", "s"]]}]}', 422,
             "items.0.context.0.1", "list"),
            (b'{"system": "fake", "items": [{"id": "a", "question": "\\ud800", "context": []}]}', 422,
             "items.0.question", ""),
            (b'{"system": "fake", "items": [{"id": "a", "question": "q", "context": [["t", ["\\udfff"]]]}]}',
             422, "items.0.context.0.1.0", ""),
            (b'{"schema_version": 99, "system": "fake", "texts": []}', 409, "schema_version", "99"),
        ],
    )  # fmt: skip
    def test_each_names_its_field(self, http, content, status, field, words):
        response = http.post("/v1/predict", content=content, headers=JSON)
        problem = error(response)
        assert (response.status_code, problem.field) == (status, field)
        assert words in problem.message
        assert problem.error == ("schema_mismatch" if status == 409 else "invalid_request")

    def test_an_unknown_field_of_any_length_makes_a_short_answer(self, http):
        content = b'{"' + b"k" * 100_000 + b'": 1, ' + json.dumps(body(item("a")))[1:].encode()
        problem = error(http.post("/v1/predict", content=content, headers=JSON))
        assert problem.field is not None
        assert 1_000 < len(problem.field) < 2_100

    def test_the_form_without_its_content_type_is_refused(self, http):
        response = http.post(
            "/v1/predict", content=b'{"system": "fake"}', headers={"Content-Type": "text/plain"}
        )
        assert response.status_code == 422
        assert "application/json" in error(response).message

    def test_two_items_of_one_id(self, http):
        response = http.post("/v1/predict", json=body(item("a"), item("a")))
        assert (response.status_code, error(response).field) == (422, "items")
        assert "two items have the id 'a'" in error(response).message

    def test_an_unknown_system_lists_those_served(self, http):
        response = http.post("/v1/predict", json=body(item("a"), system="nobody"))
        assert response.status_code == 404
        assert error(response).message == "no system 'nobody' is served; served: fake"

    @pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon", "1e9"])
    def test_a_deadline_that_is_none(self, http, seconds):
        response = http.post("/v1/predict", json=body(item("a")), headers={"X-Timeout-Seconds": seconds})
        assert response.status_code == 422
        assert error(response).field == "X-Timeout-Seconds"

    def test_unknown_path_and_method(self, http):
        assert error(http.get("/nothing")).error == "not_found"
        assert error(http.get("/v1/predict")).error == "method_not_allowed"


@pytest.fixture(scope="module")
def narrow() -> Iterator[str]:
    """The URL of a server with low limits."""
    with FakeModelServer(limits=ServerLimits(body_bytes=2_000, items=3)) as server:
        yield server.url


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The URL of a server that asks for a token."""
    with FakeModelServer(token="s3cret") as server:
        yield server.url


class TestLimits:
    def test_too_many_items(self, narrow):
        response = httpx.post(f"{narrow}/v1/predict", json=body(*(item(n) for n in "abcd")))
        assert response.status_code == 413
        assert error(response).message == "4 items in one request; at most 3 are taken"

    def test_too_many_bytes(self, narrow):
        response = httpx.post(f"{narrow}/v1/predict", json=body(item("a", words=1_000)))
        assert response.status_code == 413
        assert "2000 bytes" in error(response).message

    def test_too_many_bytes_of_no_declared_length(self, narrow):
        chunks = (b'{"system": "' + b"x" * 500 for _ in range(10))
        response = httpx.post(f"{narrow}/v1/predict", content=chunks, headers=JSON)
        assert response.status_code == 413
        assert error(response).error == "too_large"

    def test_a_body_that_does_not_come_in(self):
        with FakeModelServer(limits=ServerLimits(body_seconds=0.1)) as server:
            where = ("127.0.0.1", int(server.url.rpartition(":")[2]))
            with socket.create_connection(where, timeout=10) as caller:
                caller.sendall(
                    b"POST /v1/predict HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
                    b"Content-Length: 100\r\n\r\n{"
                )
                answer = ""
                while not answer.endswith("}"):
                    answer += caller.recv(4_096).decode()
        assert answer.startswith("HTTP/1.1 408 ")
        assert "within 0.1 s" in answer


class TestToken:
    @pytest.mark.parametrize("header", [None, "s3cret", "Bearer wrong", "Bearer s3cret2", "Bearer sécret"])
    def test_who_has_none_is_refused(self, guarded, header):
        headers = {} if header is None else {"Authorization": header.encode()}
        response = httpx.get(f"{guarded}/v1/systems", headers=headers)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert error(response).error == "unauthorized"

    def test_who_has_it_is_answered(self, guarded):
        assert (
            httpx.get(f"{guarded}/v1/systems", headers={"Authorization": "Bearer s3cret"}).status_code == 200
        )

    def test_health_and_readiness_need_none(self, guarded):
        assert httpx.get(f"{guarded}/health").status_code == httpx.get(f"{guarded}/ready").status_code == 200

    def test_the_rest_does(self, guarded):
        for path in ("/metrics", "/openapi.json", "/nothing"):
            assert httpx.get(f"{guarded}{path}").status_code == 401


class TestQueue:
    def test_a_full_queue_answers_503_and_says_when_to_come_back(self, gated):
        first = gated.occupy()
        queued = gated.start(*(item(str(n)) for n in range(8)))
        eventually(lambda: gated.waiting == 8)
        refused = gated.ask(item("late"))
        assert (refused.status_code, error(refused).error) == (503, "overloaded")
        assert int(refused.headers["Retry-After"]) >= 1
        gated.system.gate.set()
        assert first.result().status_code == queued.result().status_code == 200

    def test_requests_of_many_callers_share_batches(self, gated):
        first = gated.occupy()
        futures = [gated.start(item(str(n))) for n in range(8)]
        eventually(lambda: gated.waiting == 8)
        gated.system.gate.set()
        ids = {future.result().json()["predictions"][0]["id"] for future in [first, *futures]}
        assert ids == {"busy", *map(str, range(8))}
        assert len(gated.system.batches) == 2

    def test_expired_work_is_dropped_and_answered_504(self, gated):
        first = gated.occupy()
        expired = gated.ask(item("late"), **{"X-Timeout-Seconds": "0.05"})
        assert (expired.status_code, error(expired).error) == (504, "deadline_exceeded")
        assert gated.waiting == 0
        gated.system.gate.set()
        assert first.result().status_code == 200
        assert gated.system.batches == [["busy"]]

    def test_work_of_a_caller_who_left_is_dropped(self, gated):
        first = gated.occupy()
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{gated.server.url}/v1/predict", json=body(item("left"), system="gated"), timeout=0.2)
        left = 'modelserver_requests_total{path="/v1/predict",status="499"} 1.0\n'
        eventually(lambda: left in gated.http.get("/metrics").text)
        assert gated.waiting == 0
        gated.system.gate.set()
        assert first.result().status_code == 200
        assert gated.system.batches == [["busy"]]

    def test_health_answers_while_the_model_computes(self, gated):
        first = gated.occupy()
        assert gated.http.get("/health").json() == {"status": "ok"}
        assert not first.done()
        gated.system.gate.set()
        first.result()


class TestManyCallers:
    def test_each_of_200_gets_an_answer_or_is_told_when_to_come_back_and_the_counts_add_up(self):
        class Unhurried(FakeSystem):
            def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
                time.sleep(0.01)
                return super().predict(items)

        async def ask(http: httpx.AsyncClient, number: int) -> httpx.Response:
            # Every tenth gives itself one millisecond.
            headers = {"X-Timeout-Seconds": "0.001"} if number % 10 == 0 else {}
            return await http.post("/v1/predict", json=body(item(str(number))), headers=headers)

        async def all_at_once(url: str) -> list[httpx.Response]:
            limits = httpx.Limits(max_connections=None)
            async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60, trust_env=False) as http:
                return await asyncio.gather(*(ask(http, number) for number in range(200)))

        with FakeModelServer(
            Unhurried(), limits=ServerLimits(batch=BatchLimits(queue=16, items=4))
        ) as server:
            responses = asyncio.run(all_at_once(server.url))
            page = httpx.get(f"{server.url}/metrics").text
        by_status = Counter(response.status_code for response in responses)
        assert set(by_status) == {200, 503, 504}
        for number, response in enumerate(responses):
            if response.status_code == 200:
                (prediction,) = response.json()["predictions"]
                assert (prediction["id"], "answer" in prediction) == (str(number), True)
            elif response.status_code == 503:
                assert error(response).error == "overloaded"
                assert 1 <= int(response.headers["Retry-After"]) <= 60
            else:
                assert (error(response).error, number % 10) == ("deadline_exceeded", 0)
        for status, count in by_status.items():
            line = f'modelserver_requests_total{{path="/v1/predict",status="{status}"}} {count}.0'
            assert line in page.splitlines()
        line = f'modelserver_items_total{{outcome="predicted",system="fake"}} {by_status[200]}.0'
        assert line in page.splitlines()
        assert "modelserver_queue_items 0.0" in page.splitlines()


class TestLifeCycle:
    def test_not_ready_until_the_systems_are_loaded_and_warm(self):
        class Slow(FakeSystem):
            def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
                assert gate.wait(20)
                return super().predict(items)

        gate = threading.Event()
        with FakeModelServer(Slow(), ready=False) as server, httpx.Client(base_url=server.url) as http:
            assert http.get("/health").status_code == 200
            for response in (
                http.get("/ready"),
                http.get("/v1/systems"),
                http.post("/v1/predict", json=body(item("a"))),
            ):
                assert (response.status_code, error(response).error) == (503, "unavailable")
                assert response.headers["Retry-After"] == "1"
            gate.set()
            eventually(lambda: http.get("/ready").status_code == 200)

    def test_a_system_that_cannot_be_loaded_is_named(self):
        async def load() -> None:
            service = Service({"good": FakeSystem, "bad": lambda: FakeSystem(str(1 // 0))})
            try:
                await service.load()
            finally:
                service.threads.stop()

        with pytest.raises(LoadFailed, match="bad could not be loaded: ZeroDivisionError"):
            asyncio.run(load())

    def test_a_dead_model_thread_shows_in_health(self):
        with FakeModelServer() as server:
            assert server.service.threads.stop(within=5)
            response = httpx.get(f"{server.url}/health")
        assert (response.status_code, error(response).error) == (500, "internal_error")

    def test_draining_finishes_what_is_queued_and_refuses_the_rest(self, gated):
        first = gated.occupy()
        queued = gated.start(item("queued"))
        eventually(lambda: gated.waiting == 1)
        connected = httpx.Client(base_url=gated.server.url, trust_env=False)
        closing = threading.Thread(target=gated.server.close)
        closing.start()
        eventually(lambda: gated.server.service.state == "draining")
        refused = connected.post("/v1/predict", json=body(item("late"), system="gated"))
        assert (refused.status_code, error(refused).error) == (503, "unavailable")
        assert connected.get("/ready").status_code == 503
        assert connected.get("/health").status_code == 200
        gated.system.gate.set()
        assert first.result().status_code == queued.result().status_code == 200
        closing.join(10)
        assert not closing.is_alive()
        with pytest.raises(httpx.TransportError):
            connected.get("/health")
        connected.close()


class TestObservation:
    def test_a_request_id_is_echoed(self, http):
        assert http.get("/health", headers={"X-Request-ID": "page-7.a"}).headers["x-request-id"] == "page-7.a"

    @pytest.mark.parametrize("request_id", ["", "a b", "x" * 129, 'a"b'])
    def test_a_request_id_that_could_spoil_the_log_is_replaced(self, http, request_id):
        replacement = http.get("/health", headers={"X-Request-ID": request_id}).headers["x-request-id"]
        assert len(replacement) == 32

    def test_one_line_a_request_without_texts(self, http, caplog):
        def requests() -> list[dict[str, object]]:
            # A line is written after its answer, so that of the test before may come only now.
            lines = [vars(record)["fields"] for record in caplog.records if record.getMessage() == "request"]
            return [line for line in lines if line["path"] != "/health"]

        with caplog.at_level(logging.DEBUG, logger="modelserver"):
            http.post("/v1/predict?q=secret", json=body(item("a", question="a secret?")))
            http.post("/v1/predict", json=body(item("a"), system="secret"))
            http.get("/secret")
            eventually(lambda: len(requests()) == 3)
        lines = requests()
        assert [(line["path"], line["status"]) for line in lines] == [
            ("/v1/predict", 200), ("/v1/predict", 404), ("other", 404),
        ]  # fmt: skip
        assert (lines[0]["system"], lines[0]["items"]) == ("fake", 1)
        assert "secret" not in str([vars(record) for record in caplog.records])

    def test_the_request_id_reaches_the_batch(self, http, caplog):
        with caplog.at_level(logging.DEBUG, logger="modelserver"):
            http.post("/v1/predict", json=body(item("a")), headers={"X-Request-ID": "from-the-page"})
        (batch,) = [vars(record)["fields"] for record in caplog.records if record.getMessage() == "batch"]
        assert batch["request_ids"] == ("from-the-page",)

    def test_metrics(self):
        with FakeModelServer() as server, httpx.Client(base_url=server.url) as http:
            http.post("/v1/predict", json=body(item("a"), item("b", question=FAILS)))
            http.get("/no/such")
            response = http.get("/metrics")
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        lines = response.text.splitlines()
        for line in (
            'modelserver_requests_total{path="/v1/predict",status="200"} 1.0',
            'modelserver_requests_total{path="other",status="404"} 1.0',
            'modelserver_items_total{outcome="predicted",system="fake"} 1.0',
            'modelserver_items_total{outcome="prediction_failed",system="fake"} 1.0',
            'modelserver_batch_items_bucket{le="2.0",system="fake"} 1.0',
            'modelserver_batch_items_sum{system="fake"} 2.0',
            "modelserver_queue_items 0.0",
            "modelserver_ready 1.0",
        ):
            assert line in lines

    def test_the_page_of_the_server_lists_every_series(self, server):
        page = (ROOT / "docs/reference/model-server.md").read_text(encoding="utf-8")
        series = re.findall(r"^# TYPE (\w+) ", server.service.metrics.page().decode(), re.MULTILINE)
        assert set(series) == set(re.findall(r"`(modelserver_\w+)[`{]", page))

    def test_an_internal_error_is_answered_without_its_text(self, http, server, monkeypatch, caplog):
        def broken(name: str) -> None:
            raise KeyError("secret")

        monkeypatch.setattr(server.service, "require", broken)
        response = http.post("/v1/predict", json=body(item("a")))
        assert (response.status_code, error(response).error) == (500, "internal_error")
        assert "secret" not in response.text
        assert "secret" not in str([vars(record) for record in caplog.records])

    def test_the_interface_is_described(self, http):
        described = http.get("/openapi.json").json()
        assert set(described["paths"]) == {
            "/health", "/ready", "/metrics", "/v1/systems", "/v1/load", "/v1/predict",
            "/v1/explain", "/v1/execute",
        }  # fmt: skip
        assert "PredictRequest" in described["components"]["schemas"]


class TestBind:
    def test_a_taken_port_is_said(self):
        with bind("127.0.0.1", 0) as first:
            port = first.getsockname()[1]
            with pytest.raises(
                PortTaken, match=f"cannot listen on 127.0.0.1 port {port}: Address already in use"
            ):
                bind("127.0.0.1", port)

    def test_a_host_of_another_machine_is_said(self):
        with pytest.raises(PortTaken, match=r"cannot listen on 192\.0\.2\.1"):
            bind("192.0.2.1", 0)

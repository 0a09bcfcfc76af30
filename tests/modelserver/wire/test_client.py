import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.serving.http import ServerLimits
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import (
    BadResponse,
    DeadlineExceeded,
    InvalidRequest,
    MixedRevisions,
    ModelServerError,
    Overloaded,
    SchemaMismatch,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnknownSystem,
)
from modelserver.wire.load_balancing import Servers
from modelserver.wire.schema import ItemError, PredictRequest, QAItem, QAPrediction
from tests.modelserver.gates import GatedSystem, item

Handler = Callable[[httpx.Request], httpx.Response]
QUICK = Retry(total=5.0, base=0.001, longest=0.002)


def answer(request: httpx.Request, **changes: object) -> httpx.Response:
    """Return a correct answer to a predict request, but for the changes."""
    predict_request = PredictRequest.model_validate_json(request.content)
    predictions = [{"id": question.id, "answer": "x", "facts": []} for question in predict_request.items]
    content = {"system": predict_request.system, "revision": "r", "predictions": predictions}
    return httpx.Response(200, json=content | changes)


def overloaded(*, retry_after: int) -> httpx.Response:
    headers = {"Retry-After": str(retry_after)}
    return httpx.Response(503, headers=headers, json={"error": "overloaded", "message": "full"})


def client_of(handler: Handler, retry: Retry = QUICK) -> ModelClient:
    return ModelClient(
        "http://models", http=httpx.Client(transport=httpx.MockTransport(handler)), retry=retry
    )


class Flaky:
    """Answers with each of ``first`` once, then correctly; counts the calls."""

    def __init__(self, *first: httpx.Response | Exception) -> None:
        self._first = list(first)
        self.calls = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.calls += 1
        if not self._first:
            return answer(request)
        response = self._first.pop(0)
        if isinstance(response, Exception):
            raise response
        return response


@pytest.fixture(scope="module")
def server() -> Iterator[FakeModelServer]:
    with FakeModelServer() as running:
        yield running


def test_it_works(server):
    with server.client() as client:
        assert [info.name for info in client.systems().systems] == ["fake"]
        response = client.predict("fake", [item("a"), item("b")])
    assert [prediction.id for prediction in response.predictions] == ["a", "b"]


def test_the_deadline_the_token_and_the_request_id_are_sent():
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answer(request)

    http = httpx.Client(transport=httpx.MockTransport(handler))
    client = ModelClient("http://models/", http=http, token="t", timeout=7.5)
    client.predict("s", [item("a")], request_id="page-1")
    client.predict("s", [item("a")], timeout=2)
    assert requests[0].url == "http://models/v1/predict"
    assert [request.headers["X-Timeout-Seconds"] for request in requests] == ["7.5", "2"]
    assert requests[0].headers["X-Request-ID"] == "page-1"
    assert "X-Request-ID" not in requests[1].headers
    assert requests[0].headers["Authorization"] == "Bearer t"
    assert requests[0].extensions["timeout"] == {"connect": 5.0, "read": 12.5, "write": 12.5, "pool": 12.5}


def test_a_lent_http_client_stays_open():
    http = httpx.Client(transport=httpx.MockTransport(answer))
    with ModelClient("http://models", http=http):
        pass
    assert not http.is_closed
    http.close()


def test_an_own_http_client_is_closed_and_uses_no_proxy(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with ModelClient(server.url, retry=Retry(total=0)) as client:
        client.systems()
    with pytest.raises(RuntimeError, match="closed"):
        client.systems()


class TestRetries:
    @pytest.mark.parametrize(
        "trouble",
        [
            httpx.Response(503, json={"error": "overloaded", "message": "full"}),
            httpx.Response(503, text="<html>starting</html>"),
            httpx.Response(502, text="<html>gateway</html>"),
            httpx.ConnectError("refused"),
            httpx.ConnectTimeout("slow"),
            httpx.ReadError("reset"),
            httpx.RemoteProtocolError("closed in the middle"),
        ],
    )
    def test_what_may_pass_is_tried_again(self, trouble):
        handler = Flaky(trouble, trouble)
        assert len(client_of(handler).predict("s", [item("a")]).predictions) == 1
        assert handler.calls == 3

    @pytest.mark.parametrize(
        ("trouble", "kind"),
        [
            (httpx.Response(504, json={"error": "deadline_exceeded", "message": "late"}), DeadlineExceeded),
            (httpx.ReadTimeout("late"), DeadlineExceeded),
            (httpx.Response(404, json={"error": "unknown_system", "message": "no"}), UnknownSystem),
            (httpx.Response(401, json={"error": "unauthorized", "message": "no"}), Unauthorized),
            (httpx.Response(413, json={"error": "too_large", "message": "no"}), TooLarge),
            (httpx.Response(409, json={"error": "schema_mismatch", "message": "no"}), SchemaMismatch),
            (httpx.Response(500, json={"error": "internal_error", "message": "no"}), ModelServerError),
            (httpx.Response(500, text="Internal Server Error"), BadResponse),
            (httpx.Response(404, json={"error": "not_found", "message": "no"}), BadResponse),
            (httpx.Response(302, headers={"Location": "http://elsewhere"}), BadResponse),
            (httpx.UnsupportedProtocol("ftp"), BadResponse),
        ],
    )
    def test_what_is_final_is_raised_at_once(self, trouble, kind):
        handler = Flaky(trouble)
        with pytest.raises(kind) as caught:
            client_of(handler).predict("s", [item("a")])
        assert type(caught.value) is kind
        assert handler.calls == 1

    def test_the_field_of_a_refusal_is_kept(self):
        refusal = httpx.Response(
            422, json={"error": "invalid_request", "message": "no", "field": "items.0.question"}
        )
        with pytest.raises(InvalidRequest) as caught:
            client_of(Flaky(refusal)).predict("s", [item("a")])
        assert caught.value.field == "items.0.question"

    def test_retry_after_is_waited_for(self, monkeypatch):
        pauses: list[float] = []
        monkeypatch.setattr(time, "sleep", pauses.append)
        full = overloaded(retry_after=2)
        client_of(Flaky(full, full)).predict("s", [item("a")])
        assert len(pauses) == 2
        assert all(2 <= pause <= 2.01 for pause in pauses)

    def test_pauses_grow_with_jitter_up_to_the_longest(self):
        retry = Retry(base=1.0, longest=4.0)
        for attempt, most in enumerate([1, 2, 4, 4, 4]):
            pauses = [retry.pause(attempt, None) for _ in range(200)]
            assert 0 <= min(pauses) < 0.2 * most
            assert 0.8 * most < max(pauses) <= most

    def test_the_total_bounds_all_pauses_and_the_last_error_is_raised(self, monkeypatch):
        pauses: list[float] = []
        monkeypatch.setattr(time, "sleep", pauses.append)
        full = overloaded(retry_after=1)
        handler = Flaky(*[full] * 100)
        with pytest.raises(Overloaded) as caught:
            client_of(handler, Retry(total=5.0, base=0.001)).predict("s", [item("a")])
        assert caught.value.retry_after == 1
        assert sum(pauses) <= 5
        assert handler.calls == 5

    def test_none_when_none_is_wanted(self):
        handler = Flaky(httpx.ConnectError("refused"))
        with pytest.raises(Unavailable, match="http://models cannot be reached: refused"):
            client_of(handler, Retry(total=0)).predict("s", [item("a")])
        assert handler.calls == 1


class TestAnswers:
    @pytest.mark.parametrize(
        ("changes", "kind", "words"),
        [
            ({"schema_version": 2}, SchemaMismatch, "speaks wire schema 2, this side 1"),
            ({"schema_version": 2, "new": 1}, SchemaMismatch, "speaks wire schema 2"),
            ({"new": 1}, BadResponse, "new: there is no such field"),
            ({"system": "other"}, BadResponse, "asked 's', answered by 'other'"),
            ({"predictions": []}, BadResponse, "has 0 outcomes"),
            ({"predictions": [{"id": "b", "answer": "x", "facts": []}] * 2}, BadResponse,
             "'b' in the place of 'a'"),
            ({"predictions": [{"id": "a", "answer": "x", "facts": []}] * 3}, BadResponse,
             "'a' in the place of 'b'"),
        ],
    )  # fmt: skip
    def test_only_an_answer_to_what_was_asked_is_taken(self, changes, kind, words):
        with pytest.raises(kind, match=words):
            client_of(lambda request: answer(request, **changes)).predict("s", [item("a"), item("b")])

    @pytest.mark.parametrize("text", ["", "{", "[]", "<html>"])
    def test_what_is_no_answer_at_all(self, text):
        with pytest.raises(BadResponse):
            client_of(lambda request: httpx.Response(200, text=text)).predict("s", [item("a")])

    def test_an_item_error_is_a_value(self):
        error = {"id": "a", "error": "prediction_failed", "message": "m"}
        response = client_of(lambda request: answer(request, predictions=[error])).predict("s", [item("a")])
        assert response.predictions == [ItemError(id="a", error="prediction_failed", message="m")]


class TestRequests:
    @pytest.mark.parametrize(
        ("items", "words"), [([], "at least 1"), ([item("a"), item("a")], "two items have the id 'a'")]
    )
    def test_a_bad_one_is_never_sent(self, items, words):
        handler = Flaky()
        with pytest.raises(InvalidRequest, match=words) as caught:
            client_of(handler).predict("s", items)
        assert caught.value.field == "items"
        assert handler.calls == 0

    @pytest.mark.parametrize("request_id", ["ü", "a b", "a" * 129])
    def test_a_request_id_that_the_server_would_not_take(self, request_id):
        handler = Flaky()
        with pytest.raises(InvalidRequest, match="is not 1 to 128 letters") as caught:
            client_of(handler).predict("s", [item("a")], request_id=request_id)
        assert (caught.value.field, handler.calls) == ("request_id", 0)

    def test_half_a_character_is_no_name(self):
        client = client_of(Flaky())
        for ask in (client.load, lambda name: client.predict(name, [item("a")])):
            with pytest.raises(InvalidRequest):
                ask("x\ud800")


class TestAgainstAServer:
    def test_a_token_may_have_any_letters(self):
        with FakeModelServer(token="Schlüssel 🗝") as server:
            with server.client() as client:
                assert client.systems().systems
            with ModelClient(server.url, token="ü") as other, pytest.raises(Unauthorized):
                other.systems()

    def test_a_server_that_is_down(self):
        with FakeModelServer() as server:
            url = server.url
        gone = pytest.raises(Unavailable, match=f"{url} cannot be reached")
        with ModelClient(url, retry=Retry(total=0)) as client, gone:
            client.systems()

    def test_an_outage_is_outlived(self, server):
        with server.client(retry=Retry(total=30)) as client, ThreadPoolExecutor(1) as pool:
            with server.outage():
                with pytest.raises(Unavailable, match="shutting down"), server.client() as impatient:
                    impatient.predict("fake", [item("a")])
                patient = pool.submit(client.predict, "fake", [item("a")])
                time.sleep(0.1)
            assert len(patient.result().predictions) == 1

    def test_the_wait_for_readiness_ends(self):
        class Slow(FakeSystem):
            def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
                assert gate.wait(20)
                return super().predict(items)

        gate = threading.Event()
        with FakeModelServer(Slow(), ready=False) as server, server.client() as client:
            with pytest.raises(Unavailable, match=r"was not ready within 0\.2 s: .*loading"):
                client.wait_ready(0.2)
            gate.set()
            client.wait_ready(10)

    def test_the_deadline_comes_from_the_server(self):
        system = GatedSystem()
        with FakeModelServer(system) as server:
            with server.client() as client, pytest.raises(DeadlineExceeded, match="deadline of the request"):
                client.predict("gated", [item("a")], timeout=0.1)
            system.gate.set()

    def test_a_limit_of_the_server_is_told(self):
        refused = pytest.raises(TooLarge, match="at most 1")
        with FakeModelServer(limits=ServerLimits(items=1)) as server, server.client() as client, refused:
            client.predict("fake", [item("a"), item("b")])


def ask_often(client: ModelClient) -> None:
    """Ask until every one of a few servers has been asked."""
    for _ in range(100):
        client.predict("s", [item("a")])


class TestSeveralServers:
    """Requests spread over real servers; each answers or is away by itself."""

    def test_all_are_used_and_every_item_is_answered_once(self):
        first, second = GatedSystem(), GatedSystem()
        with (
            FakeModelServer(first) as a,
            FakeModelServer(second) as b,
            ModelClient(f"{a.url}, {b.url}/") as client,
            ThreadPoolExecutor(6) as pool,
        ):
            waiting = [pool.submit(client.predict, "gated", [item(f"q{n}")]) for n in range(6)]
            assert first.entered.wait(10)
            assert second.entered.wait(10)
            first.gate.set()
            second.gate.set()
            answered = [future.result().predictions[0].id for future in waiting]
        assert answered == [f"q{n}" for n in range(6)]
        names = [[name for batch in system.batches for name in batch] for system in (first, second)]
        assert sorted(names[0] + names[1]) == answered
        assert [len(batched) for batched in names] == [3, 3]  # the fewest in flight go first

    def test_one_that_ends_is_passed_over(self):
        with (
            FakeModelServer() as a,
            FakeModelServer() as b,
            ModelClient([a.url, b.url], retry=Retry(total=0)) as client,
        ):
            for number in range(20):
                if number == 5:
                    a.close()
                response = client.predict("fake", [item(f"q{number}")])
                assert response.predictions[0].id == f"q{number}"
            assert [info.name for info in client.systems().systems] == ["fake"]

    def test_one_that_answers_503_is_left_alone_for_the_time_it_names(self):
        calls = Counter[str]()

        def handler(request: httpx.Request) -> httpx.Response:
            calls[request.url.host] += 1
            return overloaded(retry_after=60) if request.url.host == "full" else answer(request)

        client = ModelClient(
            "http://full,http://free",
            http=httpx.Client(transport=httpx.MockTransport(handler)),
            retry=Retry(total=0),
        )
        for _ in range(50):
            client.predict("s", [item("a")])
        assert calls == {"full": 1, "free": 50}

    def test_an_answer_that_breaks_off_is_asked_for_elsewhere(self):
        def handler(request: httpx.Request) -> httpx.Response:
            if request.url.host == "killed":
                raise httpx.ReadError("reset")
            return answer(request)

        http = httpx.Client(transport=httpx.MockTransport(handler))
        client = ModelClient("http://killed,http://left", http=http, retry=Retry(total=0))
        assert all(client.predict("s", [item("a")]) for _ in range(10))

    def test_failing_over_shares_one_deadline(self):
        timeouts: list[float] = []

        def handler(request: httpx.Request) -> httpx.Response:
            timeouts.append(float(request.headers["X-Timeout-Seconds"]))
            time.sleep(0.2 if len(timeouts) == 1 else timeouts[-1])
            raise httpx.ReadError("reset")

        client = ModelClient(
            "http://a,http://b,http://c",
            http=httpx.Client(transport=httpx.MockTransport(handler)),
            retry=Retry(total=0),
            timeout=1,
        )
        with pytest.raises(Unavailable, match=r"http://[abc] cannot .*; http://[abc] cannot") as caught:
            client.predict("s", [item("a")])
        assert type(caught.value) is Unavailable
        assert len(timeouts) == 2
        assert timeouts[0] == 1
        assert 0 < timeouts[1] <= 0.8001

    def test_when_all_are_full_the_shortest_time_counts_and_the_error_names_all(self):
        def handler(request: httpx.Request) -> httpx.Response:
            return overloaded(retry_after=9 if request.url.host == "a" else 4)

        http = httpx.Client(transport=httpx.MockTransport(handler))
        client = ModelClient("http://a,http://b", http=http, retry=Retry(total=0))
        with pytest.raises(Overloaded) as caught:
            client.predict("s", [item("a")])
        assert caught.value.retry_after == 4
        assert "http://a: full" in str(caught.value)
        assert "http://b: full" in str(caught.value)

    def test_all_are_tried_again_when_none_is_there(self):
        handler = Flaky(*[httpx.ConnectError("refused") for _ in range(7)])
        http = httpx.Client(transport=httpx.MockTransport(handler))
        client = ModelClient("http://a,http://b", http=http, retry=QUICK)
        assert len(client.predict("s", [item("a")]).predictions) == 1
        assert handler.calls == 8

    def test_a_final_error_is_not_taken_to_another_server(self):
        calls = Counter[str]()

        def handler(request: httpx.Request) -> httpx.Response:
            calls[request.url.host] += 1
            return httpx.Response(409, json={"error": "schema_mismatch", "message": "speaks schema 2"})

        http = httpx.Client(transport=httpx.MockTransport(handler))
        with pytest.raises(SchemaMismatch, match=r"^http://[ab]: speaks schema 2$"):
            ModelClient("http://a,http://b", http=http, retry=QUICK).predict("s", [item("a")])
        assert calls.total() == 1

    def test_an_old_server_is_named_though_the_other_is_new(self):
        def handler(request: httpx.Request) -> httpx.Response:
            return answer(request, **({"schema_version": 2} if request.url.host == "old" else {}))

        http = httpx.Client(transport=httpx.MockTransport(handler))
        client = ModelClient("http://old,http://new", http=http, retry=QUICK)
        with pytest.raises(SchemaMismatch, match=r"http://old.* speaks wire schema 2"):
            ask_often(client)

    def test_only_what_all_serve_is_listed(self):
        with (
            FakeModelServer(FakeSystem("one"), FakeSystem("two")) as a,
            FakeModelServer(FakeSystem("two"), FakeSystem("three")) as b,
            ModelClient([a.url, b.url]) as client,
        ):
            assert [info.name for info in client.systems().systems] == ["two"]

    def test_two_revisions_of_a_system_are_an_error_that_names_both(self):
        old, new = FakeSystem("s", threshold=0.4), FakeSystem("s", threshold=0.5)
        with FakeModelServer(old) as a, FakeModelServer(new) as b:
            with ModelClient([a.url, b.url]) as client, pytest.raises(MixedRevisions) as listed:
                client.systems()
            with ModelClient([a.url, b.url]) as client, pytest.raises(MixedRevisions) as predicted:
                ask_often(client)
            for message in (str(listed.value), str(predicted.value)):
                for part in (a.url, b.url, old.revision, new.revision):
                    assert part in message

    def test_servers_that_all_changed_their_weights_are_no_error(self):
        revision = "old"

        def handler(request: httpx.Request) -> httpx.Response:
            if request.url.path == "/v1/systems":
                system = {"name": "s", "revision": revision, "description": "", "loaded": True}
                return httpx.Response(200, json={"systems": [system]})
            return answer(request, revision=revision)

        http = httpx.Client(transport=httpx.MockTransport(handler))
        client = ModelClient("http://a,http://b", http=http, retry=QUICK)
        client.systems()
        revision = "new"
        assert {client.predict("s", [item("a")]).revision for _ in range(20)} == {"new"}

    def test_clients_that_share_their_servers_share_what_they_learn(self):
        with FakeModelServer() as gone, FakeModelServer() as server:
            servers = Servers([gone.url, server.url])
            gone.close()
            for _ in range(20):
                with ModelClient(servers, retry=Retry(total=0)) as client:
                    client.predict("fake", [item("a")])
            dead = servers.all[0]
            assert dead.failures <= 3  # a rest of half a second at least, and twice that
            assert [peer.in_flight for peer in servers.all] == [0, 0]

    def test_one_that_is_ready_is_enough(self):
        with FakeModelServer() as gone, FakeModelServer() as server:
            gone.close()
            with ModelClient([gone.url, server.url]) as client:
                client.wait_ready(5)

"""The choice among several servers: the next one, and those that rest."""

import threading
from collections import Counter
from collections.abc import Sequence

import pytest

from modelserver.wire import load_balancing as module
from modelserver.wire.errors import Overloaded, Unavailable
from modelserver.wire.load_balancing import LONGEST_REST, SHORTEST_REST, Server, Servers

BROKEN = Unavailable("broken")


class Clock:
    """A time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module.time, "monotonic", clock)
    return clock


def taken(servers: Servers, tried: Sequence[Server] = ()) -> Server:
    server = servers.take(tried)
    assert server is not None
    return server


def fail(servers: Servers, server: Server, failure: Unavailable = BROKEN) -> None:
    while servers.take([candidate for candidate in servers.all if candidate is not server]) is not server:
        raise AssertionError("it rests while another is awake")
    servers.give_back(server, failure)


@pytest.mark.parametrize("text", ["http://a, http://b/,,http://a", ["http://a/", "http://b", "http://a"]])
def test_urls_are_split_cleaned_and_counted_once(text: str):
    assert [server.url for server in Servers(text).all] == ["http://a", "http://b"]
    assert str(Servers(text)) == "http://a, http://b"


@pytest.mark.parametrize("text", ["", " , ", []])
def test_no_url_is_told(text: str):
    with pytest.raises(ValueError, match="no URL of a model server"):
        Servers(text)


@pytest.mark.parametrize("text", ["localhost:8100", "ftp://a", "http://", "http://a:99999", "http://a,b"])
def test_what_is_no_url_is_told(text: str):
    with pytest.raises(ValueError, match="is not the URL of a model server"):
        Servers(text)


def test_the_fewest_requests_in_flight_go_first():
    servers = Servers("http://a,http://b,http://c")
    assert len({taken(servers) for _ in range(3)}) == 3
    busy = taken(servers)
    for server in servers.all:
        if server is not busy:
            servers.give_back(server, None)
    chosen = [taken(servers) for _ in range(4)]
    assert busy not in chosen
    assert [server.in_flight for server in servers.all] == [2, 2, 2]


def test_ties_are_broken_at_random():
    servers = Servers("http://a,http://b")
    counts = Counter[str]()
    for _ in range(400):
        server = taken(servers)
        counts[server.url] += 1
        servers.give_back(server, None)
    assert 120 < counts["http://a"] < 280  # eight standard deviations


def test_one_that_failed_is_left_alone_until_its_rest_is_over(clock: Clock):
    servers = Servers("http://a,http://b")
    bad, good = servers.all
    fail(servers, bad)
    assert clock.now + SHORTEST_REST / 2 <= bad.wakes <= clock.now + SHORTEST_REST
    assert {taken(servers).url for _ in range(20)} == {good.url}
    clock.now += SHORTEST_REST
    assert taken(servers) is bad


def test_rests_grow_with_jitter_and_a_success_ends_them(clock: Clock):
    servers = Servers("http://a")
    (server,) = servers.all
    for number in range(100):
        fail(servers, server)
        longest = min(LONGEST_REST, SHORTEST_REST * 2**number)
        assert longest / 2 <= server.wakes - clock.now <= longest
    servers.give_back(taken(servers), None)
    assert server.wakes == 0
    fail(servers, server)
    assert server.wakes - clock.now <= SHORTEST_REST


def test_a_server_that_names_a_time_rests_as_long(clock: Clock):
    servers = Servers("http://a")
    fail(servers, servers.all[0], Overloaded("full", retry_after=7))
    assert servers.all[0].wakes == clock.now + 7


def test_when_all_rest_the_first_to_wake_is_asked_and_each_once(clock: Clock):
    servers = Servers("http://a,http://b")
    first, second = servers.all
    fail(servers, first, Overloaded("full", retry_after=9))
    fail(servers, second, Overloaded("full", retry_after=3))
    assert taken(servers) is second
    assert taken(servers, [second]) is first
    assert servers.take([first, second]) is None


def test_one_that_rests_is_not_asked_while_another_is_awake_though_tried(clock: Clock):
    servers = Servers("http://a,http://b")
    first, second = servers.all
    fail(servers, first)
    assert servers.take([second]) is None


def test_threads_do_not_lose_count():
    servers = Servers("http://a,http://b,http://c")

    def work() -> None:
        for number in range(2_000):
            servers.give_back(taken(servers), BROKEN if number % 7 == 0 else None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [server.in_flight for server in servers.all] == [0, 0, 0]

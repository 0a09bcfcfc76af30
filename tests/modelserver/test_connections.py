import gzip
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from modelserver.connections import Connections

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer:
    """A server of few words: counts its connections, and answers each request with ``answer``.

    While the gate is shut it lets callers wait. With ``hang_up`` it closes after each answer, unannounced.
    """

    def __init__(self, answer: bytes, *, hang_up: bool) -> None:
        self._answer, self._hang_up = answer, hang_up
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.gate = threading.Event()
        self.gate.set()
        self._closing = False
        self.opened, self.ended = 0, threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._closing:
                connection.close()
                return
            self.opened += 1
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while connection.recv(65_536):
                assert self.gate.wait(10)
                connection.sendall(self._answer)
                if self._hang_up:
                    break
        self.ended.release()

    def close(self) -> None:
        self._closing = True
        socket.create_connection(self._listener.getsockname()).close()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()


@contextmanager
def peer(answer: bytes = ANSWER, *, hang_up: bool = False) -> Iterator[Peer]:
    running = Peer(answer, hang_up=hang_up)
    try:
        yield running
    finally:
        running.close()


def test_one_caller_needs_one_connection():
    with peer() as server, httpx.Client(transport=Connections()) as client:
        assert [client.get(server.url).text for _ in range(5)] == ["ok"] * 5
    assert server.opened == 1


def test_callers_at_once_have_one_each_and_those_stay():
    with peer() as server, httpx.Client(transport=Connections()) as client, ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            server.gate.clear()
            waiting = [pool.submit(client.get, server.url) for _ in range(4)]
            while server.opened < 4:
                assert not any(one.done() for one in waiting)
            server.gate.set()
            assert [one.result().text for one in waiting] == ["ok"] * 4
    assert server.opened == 4


def test_each_server_has_its_own():
    with peer() as one, peer() as other, httpx.Client(transport=Connections()) as client:
        for server in (one, other, one, other):
            assert client.get(server.url).text == "ok"
    assert (one.opened, other.opened) == (1, 1)


def test_one_that_the_server_closed_is_opened_again():
    with peer(hang_up=True) as server, httpx.Client(transport=Connections()) as client:
        for number in range(3):
            assert client.get(server.url).text == "ok"
            assert server.ended.acquire(timeout=10), number
    assert server.opened == 3


def test_an_answer_that_breaks_off_is_an_error_and_its_connection_is_not_used_again():
    broken = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    with peer(broken, hang_up=True) as server, httpx.Client(transport=Connections()) as client:
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError):
                client.get(server.url)
    assert server.opened == 2


def test_an_encoded_answer_is_decoded_once():
    packed = gzip.compress(b"plain")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with peer(head + packed) as server, httpx.Client(transport=Connections()) as client:
        assert client.get(server.url).text == "plain"


def test_closing_closes_those_idle_and_those_in_use_after_their_answer():
    with peer() as server, ThreadPoolExecutor(1) as pool:
        transport = Connections()
        client = httpx.Client(transport=transport)
        client.get(server.url)
        server.gate.clear()
        waiting = pool.submit(client.get, server.url)
        other = httpx.Client(transport=transport)
        second = threading.Thread(target=other.get, args=(server.url,))
        second.start()
        while server.opened < 2:
            assert not waiting.done()
        transport.close()
        server.gate.set()
        assert waiting.result().text == "ok"
        second.join(10)
        assert server.ended.acquire(timeout=10)
        assert server.ended.acquire(timeout=10)

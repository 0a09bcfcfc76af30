import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from modelserver.wire.client import make_http_client

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer:
    """A server that answers each request with ``answer``.

    It counts its connections. While the gate is shut it lets callers wait. With ``hang_up`` it closes after
    each answer, unannounced.
    """

    def __init__(self, answer: bytes, *, hang_up: bool, tls: ssl.SSLContext | None) -> None:
        self._answer, self._hang_up, self._tls = answer, hang_up, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.heard: list[bytes] = []
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
        if self._tls:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            while heard := connection.recv(65_536):
                self.heard.append(heard)
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
def peer(
    answer: bytes = ANSWER, *, hang_up: bool = False, tls: ssl.SSLContext | None = None
) -> Iterator[Peer]:
    running = Peer(answer, hang_up=hang_up, tls=tls)
    try:
        yield running
    finally:
        running.close()


def test_one_caller_needs_one_connection():
    with peer() as server, make_http_client(server.url) as client:
        assert [client.get(server.url).text for _ in range(5)] == ["ok"] * 5
    assert server.opened == 1


def test_a_header_cannot_add_another():
    with peer() as server, make_http_client(server.url) as client:
        with pytest.raises(httpx.LocalProtocolError, match="Illegal header value"):
            client.get(server.url, headers={"X-Request-ID": "a\r\nAuthorization: b"})
        assert client.get(server.url).text == "ok"
    assert b"Authorization" not in b"".join(server.heard)


def test_what_goes_wrong_has_httpx_names():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/"
    with make_http_client(address) as client, pytest.raises(httpx.ConnectError):
        client.get(address)
    with peer() as server, make_http_client(server.url) as client:
        server.gate.clear()
        with pytest.raises(httpx.ReadTimeout):
            client.get(server.url, timeout=0.05)
        server.gate.set()
        assert client.get(server.url).text == "ok"
    with (
        peer(b"no http at all\r\n\r\n") as server,
        make_http_client(server.url) as client,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        client.get(server.url)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for the loopback address, and its key.

    Both are in one file.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([]), datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    signed = builder.add_extension(address, critical=True).sign(key, hashes.SHA256())
    file = tmp_path / "certificate.pem"
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(encoding, form, serialization.NoEncryption())
    file.write_bytes(secret + signed.public_bytes(encoding))
    return file


def test_over_tls_too(certificate: Path, monkeypatch: pytest.MonkeyPatch):
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with peer(tls=tls) as server:
        with monkeypatch.context() as patched:
            patched.setattr("httpx._transports.default.create_ssl_context", lambda **_: trusting)
            with make_http_client(server.url) as client:
                assert [client.get(server.url).text for _ in range(3)] == ["ok"] * 3
        assert server.opened == 1


def test_callers_at_once_have_one_each_and_those_stay():
    with peer() as server, make_http_client(server.url) as client, ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            server.gate.clear()
            waiting = [pool.submit(client.get, server.url) for _ in range(4)]
            while server.opened < 4:
                assert not any(future.done() for future in waiting)
            server.gate.set()
            assert [future.result().text for future in waiting] == ["ok"] * 4
    assert server.opened == 4


def test_each_server_has_its_own():
    with peer() as first, peer() as second, make_http_client(first.url) as client:
        for server in (first, second, first, second):
            assert client.get(server.url).text == "ok"
    assert (first.opened, second.opened) == (1, 1)


def test_one_that_the_server_closed_is_opened_again():
    with peer(hang_up=True) as server, make_http_client(server.url) as client:
        for number in range(3):
            assert client.get(server.url).text == "ok"
            assert server.ended.acquire(timeout=10), number
    assert server.opened == 3


def test_an_answer_that_breaks_off_is_an_error_and_its_connection_is_not_used_again():
    broken = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    with peer(broken, hang_up=True) as server, make_http_client(server.url) as client:
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError):
                client.get(server.url)
    assert server.opened == 2

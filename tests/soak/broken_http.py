"""Bytes of requests whose framing, headers or characters are broken."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

from tests.soak import malformed

SECONDS = 0.3  # to wait for more, where a server rightly waits for the rest of a request

LINES = (
    "{method} {path} HTTP/1.1",
    "{method} {path} HTTP/9.9",
    "{method} {path}",
    "{method}  {path} HTTP/1.1",
    "{method} http://other.example{path} HTTP/1.1",
    "{method} {path}%00%ff%c0%af HTTP/1.1",
    "{method} {path}?a=%ed%a0%80&b=%zz&{long} HTTP/1.1",
    "GEΤ {path} HTTP/1.1",
    "TRACE {path} HTTP/1.1",
    "CONNECT 127.0.0.1:22 HTTP/1.1",
    "{long} {path} HTTP/1.1",
)
HEADERS = (
    b"Host: other.example",
    b"Host:",
    b"Host: a\r\nHost: b",
    b"X-Long: " + b"a" * 70_000,
    b"Cookie: sessionid=\xff\xfe; csrftoken=" + b"b" * 3_000,
    b"Cookie: " + b"; ".join(b"c%d=1" % number for number in range(300)),
    b"No-Colon",
    b" folded: header",
    b"X\x00Nul: 1",
    b"Accept-Language: " + b"de;q=9," * 500,
    b"X-Request-ID: \xc3\xa9\x01",
    b"Range: bytes=9-1,-0,a-b",
    b"If-Modified-Since: never",
    b"Authorization: Bearer \xff" + b"t" * 500,
    b"Expect: 100-continue",
    b"Upgrade: websocket\r\nConnection: Upgrade",
    b"X-Forwarded-For: ::1, 999.1.1.1, '\"",
    b"X-Timeout-Seconds: nan",
    b"Content-Encoding: gzip",
)


def request(path: str, port: int, rng: random.Random) -> bytes:
    """Return the bytes of one request."""
    method = rng.choice(["GET", "POST", "POST", "POST", "PUT", "HEAD", "OPTIONS"])
    line = rng.choice([LINES[0], LINES[0], *LINES])
    head = [line.format(method=method, path=path, long="a" * rng.choice([10, 9_000])).encode()]
    head.append(b"Host: 127.0.0.1:%d" % port)
    head += rng.sample(HEADERS, rng.choice([0, 1, 1, 2]))
    head.append(b"Content-Type: " + rng.choice(malformed.MEDIA).encode())
    body = rng.choice([malformed.upload(rng), b"a=" + rng.choice(malformed.BYTES), b""])
    length = len(body)
    framing = rng.randrange(8)
    if framing < 4:
        wrong = (length, length + rng.randrange(1, 50), max(0, length - 1), 10**15)[framing]
        head.append(b"Content-Length: %d" % wrong)
    elif framing == 4:
        head.append(rng.choice([b"Content-Length: -1", b"Content-Length: a", b"Content-Length: 1, 2"]))
    elif framing == 5:
        head.append(b"Transfer-Encoding: chunked")
        body = rng.choice(
            [b"zz\r\nabc\r\n0\r\n\r\n", b"5\r\nabc\r\n", b"f" * 20 + b"\r\n", b"0\r\nX: y\r\n\r\n"]
        )
    elif framing == 6:
        head += [b"Content-Length: 3", b"Transfer-Encoding: chunked"]
        body = b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    head.append(b"Connection: close")
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def statuses(data: bytes, port: int) -> list[int]:
    """Send bytes and return the statuses of the answers.

    There is none if the server closes or waits.
    """
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        with suppress(ConnectionError):  # the server may close before all is sent
            connection.sendall(data)
        connection.settimeout(SECONDS)
        with suppress(TimeoutError, ConnectionError):
            while block := connection.recv(65_536):
                answer += block
                connection.settimeout(5)
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]

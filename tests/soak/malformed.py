"""Malformed values, documents and bytes from generators with seeds."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus

TEXTS = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\x1b[31m",
    "\u202e\u2066evil",
    "\ufeff",
    "\ud7ff\ue000\U0010ffff",
    "👩‍🔬" * 50,
    "é" * 300,
    "A" * 5_000,
    "'; DROP TABLE accounts_user; --",
    "<script>alert(1)</script>",
    "{{ 7*7 }}{% debug %}",
    "%s%n%x %(name)s {0} {name}",
    "../../../../etc/passwd",
    "file:///etc/passwd",
    "http://127.0.0.1:1/",
    "=HYPERLINK(1)",
    "NaN",
    "Infinity",
    "-0",
    "1e999",
    "9" * 400,
    "-1",
    "0x10",
    "٣",
    "½",
    "true",
    "null",
    "[]",
    "{",
    "2026-02-30",
    "0000-00-00T00:00:00Z",
    "99999-01-01",
    "12:61",
    "a,b\r\nc",
    "line\nSet-Cookie: a=b",
)
NUMBERS = (0, -1, 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, 1.5, -0.0, 1e308, 5e-324)
BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xc0\x80",  # overlong zero
    b"\xe0\x80\xaf",  # overlong slash
    b"\xed\xa0\x80",  # a lone surrogate
    b"\xf5\x80\x80\x80",
    b"\xef\xbb\xbf",
    b"\x80",
    b"\r\n\r\n",
    b'"',
    b"{",
    b"\\ud800",
    b"NaN",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\x89PNG\r\n\x1a\n",
)
MEDIA = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded; charset=utf-7",
    "application/x-www-form-urlencoded; charset=nothing",
    "application/json; charset=utf-16",
    "application/octet-stream",
    "text/plain; charset=iso-8859-15",
    "image/png",
    "",
    "/",
    "a/b; =;;",
)


def value(rng: random.Random) -> Any:
    """Return a JSON value of any kind."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(TEXTS)
    if kind < 5:
        return rng.choice(NUMBERS)
    if kind == 5:
        return rng.choice([None, True, False, [], {}, [[]], {"": None}, [None] * 200])
    if kind == 6:
        return {rng.choice(TEXTS): rng.choice(TEXTS), "id": rng.choice(NUMBERS)}
    return nested(rng.choice([20, 200]))


def nested(depth: int) -> Any:
    """Return lists in lists."""
    inner: Any = []
    for _ in range(depth):
        inner = [inner]
    return inner


def spoiled(document: Any, rng: random.Random) -> Any:
    """Return a copy of a JSON document with one to three changes.

    A change replaces, adds or removes a place of the document.
    """
    copy = json.loads(json.dumps(document))
    for _ in range(rng.randint(1, 3)):
        copy = _spoil(copy, rng)
    return copy


def _spoil(document: Any, rng: random.Random) -> Any:
    if not document or not isinstance(document, (dict, list)) or rng.random() < 0.15:
        return value(rng)
    key: Any = rng.choice(list(document)) if isinstance(document, dict) else rng.randrange(len(document))
    act = rng.randrange(5)
    if act == 0:
        del document[key]
    elif act == 1 and isinstance(document, dict):
        document[rng.choice([*TEXTS, f"{key} ", key.upper()])] = value(rng)
    elif act == 1:
        document.insert(key, document[key])
    else:
        document[key] = _spoil(document[key], rng)
    return document


def cut(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with some replaced, inserted, doubled or left out."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice([0, 1, 8, 200]))
        part = rng.choice([b"", rng.choice(BYTES), rng.randbytes(4), data[start:end] * 2])
        data = data[:start] + part + data[end:]
    return data[: rng.randrange(len(data) + 1)] if rng.random() < 0.2 else data


def json_bytes(document: Any, rng: random.Random) -> bytes:
    """Return a JSON body with spoiled values, broken bytes, or both."""
    body = json.dumps(spoiled(document, rng) if rng.random() < 0.8 else document).encode()
    return cut(body, rng) if rng.random() < 0.25 else body


def form(fields: Mapping[str, Sequence[str]], rng: random.Random) -> list[tuple[str, str | bytes]]:
    """Return the fields of a form: some as the form offers them.

    Others are spoiled, left out, doubled or unknown.
    """
    sent: list[tuple[str, str | bytes]] = []
    for name, offered in fields.items():
        choice = rng.random()
        if choice < 0.45:
            sent.append((name, rng.choice(offered) if offered else rng.choice(TEXTS)))
        elif choice < 0.7:
            sent.append((name, rng.choice(TEXTS)))
        elif choice < 0.8:
            sent.append((name, rng.choice(BYTES)))
        elif choice < 0.9:
            sent += [(name, rng.choice(TEXTS)), (name, str(rng.choice(NUMBERS[:-4])))]
    if rng.random() < 0.2:
        sent.append((rng.choice(TEXTS), rng.choice(TEXTS)))
    return sent


def urlencoded(fields: Sequence[tuple[str, str | bytes]], rng: random.Random) -> bytes:
    """Return fields as a body, now and then with broken percent signs."""
    body = "&".join(f"{quote_plus(name)}={quote_plus(text)}" for name, text in fields).encode()
    return cut(body, rng) if rng.random() < 0.15 else body


def multipart(
    fields: Sequence[tuple[str, str | bytes]], files: Sequence[str], rng: random.Random
) -> tuple[bytes, str]:
    """Return fields and files as a multipart body, and its media type.

    The body is broken now and then.
    """
    boundary = rng.choice(["x", "----a", "b" * 70])
    parts = [(f'name="{name[:200]}"', text if isinstance(text, bytes) else text.encode())
             for name, text in fields]  # fmt: skip
    for name in files:
        file_name = rng.choice([*TEXTS, "p.png", "items.jsonl", "a.zip"])[:300]
        parts.append((f'name="{name}"; filename="{file_name}"', upload(rng)))
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + content + b"\r\n"
        for head, content in parts
    )
    body += f"--{boundary}--\r\n".encode()
    return (cut(body, rng) if rng.random() < 0.3 else body), f"multipart/form-data; boundary={boundary}"


def upload(rng: random.Random) -> bytes:
    """Return the content of an uploaded file."""
    kinds = (
        b"",
        json.dumps(value(rng)).encode(),
        b"\n".join(json.dumps(value(rng)).encode() for _ in range(3)),
        rng.choice(BYTES) * rng.choice([1, 100]),
        rng.randbytes(64),
        b"- [\n" + rng.choice(TEXTS).encode(),
        b"a: &a [*a]\n",
        b"study: x\ntitle: [1, 2\n",
    )
    return rng.choice(kinds)

"""A stand-in for Prolific: addresses, keys, notices, and the payment API.

The study addresses are signed, and the keys come over HTTP.

It follows the published formats that ``studyapp.web.prolific.signature``, ``studyapp.web.prolific.api`` and
``recruitment_webhook`` name.
Signatures are made here with PyJWT and hashlib, apart from the code under test.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

WEBHOOK = "/recruitment/prolific/webhook/"


class Prolific:
    """One platform with one key.

    ``fetched`` counts the requests for its keys.
    """

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.jwks_url = ""
        self.fetched = 0

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "k1", "alg": "RS256", "use": "sig"}]}

    def token(self, person: str, *, study: str = "S1", session: str = "sub1", **changes: Any) -> str:
        """Return the token of an address.

        ``changes`` replace claims; ``key`` and ``kid`` among them replace what signs it.
        """
        key, kid = changes.pop("key", self.key), changes.pop("kid", "k1")
        claims = {
            "iss": "https://www.prolific.com",
            "aud": "http://127.0.0.1:8000/join/x/",
            "sub": session,
            "iat": int(time.time()),
            "exp": int(time.time()) + 3600,
            "prolific": {
                "PROLIFIC_PID": person,
                "STUDY_ID": study,
                "SESSION_ID": session,
                "workspace_id": "w1",
            },
            **changes,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, key, algorithm="RS256", headers={"kid": kid})


def query(person: str, *, study: str = "S1", session: str = "sub1", **more: str) -> str:
    """The query string with which Prolific sends a person."""
    ids = {"PROLIFIC_PID": person, "STUDY_ID": study, "SESSION_ID": session}
    return "?" + urlencode(ids | more)


def notify(
    client: Client, submission: str, status: str, *, secret: str, event_id: str = "e1", **changes: Any
) -> Any:
    """Send the notice of a new status.

    ``changes``: at, late (seconds), event_type, body, signature.
    """
    content = {
        "event_type": changes.get("event_type", "submission.status.change"),
        "resource_id": submission,
        "participant_id": "person",
        "status": status,
    }
    body = changes.get("body", json.dumps(content).encode())
    timestamp = str(changes.get("at", int(time.time()) - changes.get("late", 0)))
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    headers = {
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": changes.get("signature", base64.b64encode(digest).decode()),
        "X-Event-ID": event_id,
    }
    return client.post(WEBHOOK, body, content_type="application/json", headers=headers)


@contextmanager
def prolific() -> Iterator[Prolific]:
    """The platform, with its keys served on a free port of this machine."""
    platform = Prolific()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            platform.fetched += 1
            body = json.dumps(platform.keys()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        platform.jwks_url = f"http://127.0.0.1:{server.server_port}/.well-known/study/jwks.json"
        yield platform
        server.shutdown()
        thread.join()


KEY = "only for this test"


@dataclass
class Submitted:
    """A submission on the platform.

    ``approvals`` counts how often its reward was paid.
    """

    participant: str
    study: str = "S1"
    status: str = "AWAITING REVIEW"
    bonuses: list[int] = field(default_factory=list)
    return_requested: str | None = None
    approvals: int = 0


@dataclass
class ProlificApi:
    """The part of Prolific's API that pays people, with failures.

    ``failures`` are pairs of a part of "METHOD path" and what happens to the next such request, once each:
    "429", "500", "500 after" it has acted, "hold" and "hold after" (no answer until ``released``, and
    ``held`` tells that it is so), or "late": a bonus is accepted and shows only after ``show_late``.
    """

    submissions: dict[str, Submitted] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    url: str = ""
    held: Event = field(default_factory=Event)
    released: Event = field(default_factory=Event)
    _bulk: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    _late: list[tuple[str, int]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def add(self, *people: str, **columns: Any) -> None:
        """Take submissions of people; that of p1 is sub-p1."""
        self.submissions |= {f"sub-{person}": Submitted(person, **columns) for person in people}

    def show_late(self) -> None:
        for submission, cents in self._late:
            self.submissions[submission].bonuses.append(cents)
        self._late.clear()

    def answer(self, method: str, path: str, key: str, body: Any) -> tuple[int, Any, dict[str, str]]:
        """Give status, content and headers; a status of 0 ends the connection."""
        with self._lock:
            request = f"{method} {path}"
            self.requests.append(request)
            if key != f"Token {KEY}":
                return _error(401, "Authentication credentials were not provided.")
            failure = next((failure for failure in self.failures if failure[0] in request), ("", ""))
            if failure[1]:
                self.failures.remove(failure)
        how = failure[1]
        if how == "429":
            return (*_error(429, "Request was throttled.")[:2], {"Retry-After": "0"})
        if how == "500":
            return _error(500, "Server error")
        if how == "hold":
            self._hold()
            return 0, None, {}
        with self._lock:
            answer = self._act(request, body, is_late=how == "late")
        if how == "hold after":
            self._hold()
            return 0, None, {}
        return _error(500, "Server error") if how == "500 after" else answer

    def _hold(self) -> None:
        self.held.set()
        self.released.wait(60)

    def _act(self, request: str, body: Any, *, is_late: bool) -> tuple[int, Any, dict[str, str]]:
        method, _, path = request.partition(" /api/v1/")
        parts = path.strip("/").split("/")
        if request == "POST /api/v1/submissions/bonus-payments/":
            return self._set_up(body)
        if parts[0] == "bulk-bonus-payments" and parts[2:] == ["pay"] and parts[1] in self._bulk:
            for submission, cents in self._bulk[parts[1]]:  # as often as it is asked to: documented so
                to = self._late if is_late else None
                if to is None:
                    self.submissions[submission].bonuses.append(cents)
                else:
                    to.append((submission, cents))
            return 202, None, {}
        row = self.submissions.get(parts[1]) if parts[0] == "submissions" and len(parts) > 1 else None
        if row is None:
            return _error(404, "Not found.")
        if method == "POST" and parts[2:] == ["transition"] and body == {"action": "APPROVE"}:
            if row.status not in ("AWAITING REVIEW", "APPROVED"):
                return _error(400, f"{parts[1]} cannot be approved")
            row.approvals += row.status == "AWAITING REVIEW"  # a second time is ignored: documented so
            row.status = "APPROVED"
        elif method == "POST" and parts[2:] == ["request-return"] and body["request_return_reasons"]:
            row.return_requested = row.return_requested or "2026-11-23T12:00:00Z"
        elif method != "GET" or parts[2:]:
            return _error(404, "Not found.")
        return 200, self._shown(parts[1], row), {}

    def _set_up(self, body: Any) -> tuple[int, Any, dict[str, str]]:
        rows = [line.split(",") for line in body["csv_bonuses"].strip().splitlines()]
        wrong = [
            name
            for name, _amount in rows
            if name not in self.submissions or self.submissions[name].study != body["study_id"]
        ]
        if wrong:
            return _error(400, {"csv_bonuses": [f"{name} is not of this study" for name in wrong]})
        bulk = [(name, int(Decimal(amount) * 100)) for name, amount in rows]
        key = f"bulk{len(self._bulk)}"
        self._bulk[key] = bulk
        total = sum(cents for _name, cents in bulk)
        content = {"id": key, "study": body["study_id"], "amount": total, "fees": total // 3}
        return 201, content | {"vat": 0, "total_amount": total + total // 3}, {}

    def _shown(self, key: str, row: Submitted) -> dict[str, Any]:
        return {
            "id": key,
            "status": row.status,
            "study_id": row.study,
            "participant": row.participant,
            "bonus_payments": list(map(float, row.bonuses)),
            "return_requested": row.return_requested,
            "entered_code": "CDONE",
        }


def _error(status: int, detail: Any) -> tuple[int, Any, dict[str, str]]:
    return status, {"error": {"status": status, "error_code": 140000, "detail": detail}}, {}


@contextmanager
def prolific_api() -> Iterator[ProlificApi]:
    """Serve the API on a free port of this machine.

    This process and its workers use it.
    """
    api = ProlificApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self._answer(json.loads(content) if content not in (b"", b"null") else None)

        def _answer(self, body: Any) -> None:
            key = self.headers.get("Authorization", "")
            status, content, headers = api.answer(self.command, self.path, key, body)
            self.close_connection = not status
            if not status:
                return
            sent = b"" if content is None else json.dumps(content).encode()
            with suppress(BrokenPipeError, ConnectionResetError):  # of a worker that was killed
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        api.url = f"http://127.0.0.1:{server.server_port}"
        yield api
        api.released.set()
        server.shutdown()
        thread.join()

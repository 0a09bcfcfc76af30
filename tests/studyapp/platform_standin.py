"""A stand-in for Prolific: it signs study addresses, publishes its keys over HTTP, and sends notices.

It follows the published formats that ``studyapp.web.prolific_signature`` and ``recruitment_webhook`` name.
Signatures are made here with PyJWT and hashlib, apart from the code under test.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

WEBHOOK = "/recruitment/prolific/webhook/"


class Prolific:
    """One platform with one key. ``fetched`` counts how often its keys were asked for."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.jwks_url = ""
        self.fetched = 0

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "k1", "alg": "RS256", "use": "sig"}]}

    def token(self, person: str, *, study: str = "S1", session: str = "sub1", **changes: Any) -> str:
        """The token of an address; ``changes`` replace claims, ``key`` and ``kid`` what signs it."""
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
    """Send the notice of a new status. ``changes``: at, late (seconds), event_type, body, signature."""
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

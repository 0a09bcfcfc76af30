"""Tests of the data API and the webhooks on a running site.

It has a real web server and a real worker with its beat.
"""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from jobs.webhooks.signatures import compute_signature
from tests.annotation.factories import make_record
from tests.site import Site, run_site

ITEMS = 3000  # about a megabyte: several blocks of a body

MANAGER = """
from accounts.actions.tokens import create_token
from accounts.models import User, Workspace
from annotation.actions.projects import add_webhook, create_project
user = User.objects.create_user("manager")
project = create_project(workspace=Workspace.objects.get(), slug="dogs", title="Dogs", kind="boxes", by=user)
hook = add_webhook(project=project, url={url!r}, kinds=["items_imported"], by=user)
print(create_token(name="script", scope="manage", days=7, by=user).key, hook.secret)
"""


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Yield an address and the signatures and bodies that it gets."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Touchstone-Signature"], body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", got
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def served() -> Iterator[Site]:
    with run_site(extra={"WEBHOOK_ALLOW_PRIVATE": "true", "WEBHOOK_SECONDS": "1"}) as site:
        yield site


def test_every_line_of_a_long_body_arrives_and_the_webhook_is_told(
    served: Site, receiver: tuple[str, list[tuple[str, bytes]]]
) -> None:
    url, got = receiver
    token, secret = served.manage("shell", "-v", "0", "-c", MANAGER.format(url=url)).split()
    body = "".join(make_record(f"q{n}").model_dump_json(exclude_defaults=True) + "\n" for n in range(ITEMS))
    address = f"{served.url}/api/v1/projects/dogs/items/"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
    response = httpx.post(address, content=body.encode(), headers=headers, timeout=60)
    assert response.status_code == 201
    assert response.json()["added"] == ITEMS
    as_list = "[" + body.strip().replace("\n", ",") + "]"
    response = httpx.post(
        address, content=as_list.encode(), headers=headers | {"Content-Type": "application/json"}, timeout=60
    )
    assert response.json()["unchanged"] == ITEMS
    deadline = time.monotonic() + 60
    while not got and time.monotonic() < deadline:
        time.sleep(0.2)
    ((header, sent),) = got
    moment, mac = (part.partition("=")[2] for part in header.split(","))
    assert mac == compute_signature(secret, int(moment), sent)
    assert json.loads(sent)["data"] == {"added": ITEMS}

"""A password in the address of a server is sent there, and shown nowhere."""

import json
import logging
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from modelserver.serving.logs import JsonLines
from modelserver.serving.system_spec import parse
from modelserver.systems.remote import RemoteSystem
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import ModelServerError
from modelserver.wire.load_balancing import Servers
from modelserver.wire.redaction import redact_logins
from modelserver.wire.schema import QAItem
from scripts.sites.processes import Part, Supervisor, free_port, is_url_answering
from studyapp.web.log_redaction import redact_log_text as redacted_line

LOGIN = "user:s3cr:t@"
QUESTION = QAItem(id="1", question="Who?", context=[("A", ["B."])])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"http://{LOGIN}host:1/x", "http://host:1/x"),
        (f"ask https://{LOGIN}h, redis://{LOGIN}r/0.", "ask https://h, redis://r/0."),
        ("http://host/a@b me@example.org", "http://host/a@b me@example.org"),
    ],
)
def test_logins_are_left_out(text: str, shown: str):
    assert redact_logins(text) == shown
    assert redacted_line(text) == shown


@pytest.mark.parametrize("part", ["x y=http://{}h/", "x=http://{}", "x=http://{}h:0/"])
def test_a_wrong_option_is_refused_without_its_password(part: str):
    with pytest.raises(ValueError, match=r".") as caught:
        parse(part.format(LOGIN))
    assert "s3cr" not in str(caught.value)


def test_objects_and_errors_hide_it():
    url = f"http://{LOGIN}127.0.0.1:{free_port()}"
    servers = Servers(url)
    shown = [repr(parse(f"far={url}/a")), str(servers), repr(servers.all)]
    with ModelClient(url, retry=Retry(total=0)) as client, pytest.raises(ModelServerError) as caught:
        client.systems()
    shown.append(client.base_url)
    with pytest.raises(ModelServerError) as refused:
        RemoteSystem(f"{url}/answer", name="far")
    assert "s3cr" not in " ".join([*shown, str(caught.value), repr(caught.value), str(refused.value)])


def test_a_log_line_hides_it():
    record = logging.LogRecord("httpx", 20, "x", 1, "HTTP Request: POST http://%sh/", (LOGIN,), None)
    assert "s3cr" not in JsonLines().format(record)


class Answer(BaseHTTPRequestHandler):
    """Answers every question, and notes the header that the login became."""

    logins: list[str | None] = []

    def do_POST(self) -> None:
        self.logins.append(self.headers["Authorization"])
        items = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["items"]
        body: dict[str, Any] = {"revision": "v1"}
        body["predictions"] = [{"id": item["id"], "answer": "B"} for item in items]
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_a_running_server_logs_no_password(tmp_path: Path):
    elsewhere = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=elsewhere.serve_forever, args=(0.05,), daemon=True).start()
    port, log = free_port(), tmp_path / "log"
    address = f"http://{LOGIN}127.0.0.1:{elsewhere.server_port}/answer"
    command = [sys.executable, "-m", "modelserver", "serve", "--port", str(port)]
    command += ["--systems", f"far={address}", "--log-level", "info"]
    with Supervisor() as parts:
        parts.start(
            Part(
                "model server",
                command,
                log,
                lambda: is_url_answering(f"http://127.0.0.1:{port}/ready"),
                {},
                120.0,
            )
        )
        parts.wait_ready()
        with ModelClient(f"http://127.0.0.1:{port}") as client:
            response = client.predict("far", [QUESTION])
            systems = client.systems().model_dump_json()
    elsewhere.shutdown()
    elsewhere.server_close()
    assert all(Answer.logins)
    assert "far" in systems
    assert "s3cr" not in systems + response.model_dump_json() + log.read_text()

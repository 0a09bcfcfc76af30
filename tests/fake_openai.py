"""A fake OpenAI-compatible server that answers and fails as planned.

It fails as real servers do. A *plan* says what to do with a request: a status with headers, a text that is
cut, a tool call. Plans are used up one after the other; without one the server answers well: with sentence 1
as answer and only fact.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Answerer = Callable[[str], str | Mapping[str, Any]]


@dataclass(frozen=True)
class Plan:
    """The server's reaction to one request.

    Attributes:
        status: Of the reply.
        headers: Of the reply.
        body: Text of the reply; the usual answer if None.
        message: Takes the place of the message in a good reply.
        finish: The reason why the model stopped.
        delay: Seconds before the reply.
        cut: Close the connection in the middle of the reply.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    message: Mapping[str, Any] | None = None
    finish: str = "stop"
    delay: float = 0.0
    cut: bool = False


def error(status: int, code: str = "", *, message: str = "no", **headers: str) -> Plan:
    """Return a plan that answers with an error in OpenAI's form."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Plan(status, named, json.dumps({"error": {"message": message, "code": code}}))


def content(text: str, finish: str = "stop") -> Plan:
    """Return a plan that answers 200 with a text in place of the JSON."""
    return Plan(message={"role": "assistant", "content": text}, finish=finish)


REFUSAL = Plan(message={"role": "assistant", "content": None, "refusal": "I cannot help with that."})
TOOL_CALL = Plan(
    message={
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
    },
    finish="tool_calls",
)
STREAM_CUT = Plan(
    headers={"Content-Type": "text/event-stream"},
    body='data: {"choices": [{"delta": {"content": "{\\"answ"}}]}\n\n',
)


def first_sentence(prompt: str) -> dict[str, Any]:
    """Answer with the first sentence of the prompt."""
    first = re.search(r"^\[1\] (.*)$", prompt, re.MULTILINE)
    return {
        "rationale": "The first sentence says so.",
        "facts": [1],
        "type": "span",
        "answer": first[1].rstrip(".") if first else "",
    }


class FakeOpenAI:
    """The server, in a thread.

    ``requests`` holds the bodies that it received, and ``keys`` their headers.
    """

    def __init__(
        self,
        plans: Sequence[Plan] = (),
        *,
        answer: Callable[[str], Mapping[str, Any]] = first_sentence,
        logprob: float | None = -0.01,
        delay: float = 0.0,
    ) -> None:
        self.plans = deque(plans)
        self.answer, self.logprob, self.delay = answer, logprob, delay
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.now = self.most = 0
        self.lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or each small reply waits 40 ms for an acknowledgement

            def do_POST(self) -> None:
                fake.handle(self)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 256
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """Count a request and carry out the next plan."""
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        with self.lock:
            self.requests.append(body)
            self.keys.append(request.headers.get("Authorization"))
            self.times.append(time.monotonic())
            self.now += 1
            self.most = max(self.most, self.now)
            plan = self.plans.popleft() if self.plans else Plan()
        time.sleep(plan.delay or self.delay)
        with self.lock:
            self.now -= 1
        with suppress(OSError):  # the client has given up
            self._reply(request, plan, body)

    def _reply(self, request: BaseHTTPRequestHandler, plan: Plan, body: dict[str, Any]) -> None:
        text = plan.body if plan.body is not None else json.dumps(self._completion(plan, body))
        sent = text.encode()
        request.send_response(plan.status)
        for name, value in ({"Content-Type": "application/json"} | dict(plan.headers)).items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(sent)))
        request.end_headers()
        request.wfile.write(sent[: len(sent) // 2] if plan.cut else sent)
        if plan.cut:
            request.close_connection = True

    def _completion(self, plan: Plan, body: dict[str, Any]) -> dict[str, Any]:
        markers = ("Question:", "The page:")
        contents = [turn["content"] for turn in reversed(body["messages"]) if turn["role"] == "user"]
        prompt = next(text for text in contents if any(words in text for words in markers))
        answer = self.answer(prompt)
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        text = json.dumps({name: answer[name] for name in schema.get("properties", answer)})
        message = dict(plan.message or {"role": "assistant", "content": text})
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": plan.finish}
        if body.get("logprobs") and self.logprob is not None and message["content"]:
            pieces = re.findall(r"\w+|\W", message["content"])
            choice["logprobs"] = {"content": [{"token": token, "logprob": self.logprob} for token in pieces]}
        read, written = len(prompt) // 4, len(text) // 4
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {"choices": [choice], "usage": usage}

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

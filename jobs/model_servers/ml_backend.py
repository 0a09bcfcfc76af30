"""Talk to machine learning backends in Label Studio's form.

Such a server answers ``GET /health``, takes the labelling configuration at ``POST /setup``, and returns
predictions for tasks at ``POST /predict``. Addresses are checked as those of webhooks are.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from django.conf import settings
from django.core.exceptions import ValidationError as InvalidField
from pydantic import BaseModel, ConfigDict, ValidationError

from foundation.errors import RunFailed
from foundation.imports.import_fields import format_first_error
from foundation.messages import say
from jobs.webhooks.addresses import NotFound, Refused, build_pinned_request, check_new_address
from modelserver.wire.errors import DeadlineExceeded, Unavailable

TIMEOUT = httpx.Timeout(60.0, connect=5.0)
LONGEST = 120.0  # seconds for a whole response
MOST_BYTES = 20_000_000  # of a response
MOST_QUOTED = 200  # characters of an error that the backend gives


class Prediction(BaseModel):
    """A prediction for one task: results as in an annotation."""

    model_config = ConfigDict(extra="ignore")

    result: list[dict[str, Any]] = []
    score: float | None = None


class _Predictions(BaseModel):
    model_config = ConfigDict(extra="ignore")

    results: list[Prediction]


@dataclass(frozen=True)
class Backend:
    """The name and version of the model of a backend."""

    name: str
    version: str


@dataclass(frozen=True)
class Problem:
    """The reason why a task has no prediction."""

    message: str


class _Answered(Exception):
    """The backend answered with an error."""


def check_backend_address(url: str) -> None:
    """Check a new address with `check_new_address`.

    Raises:
        ValidationError: The address is not allowed; names the field.
    """
    try:
        check_new_address(url)
    except Refused as error:
        raise InvalidField({"ml_backend": str(error)}) from error


def set_up(url: str, *, project: str, config: str) -> Backend:
    """Give a backend the labelling configuration; return its model.

    Raises:
        Unavailable: It does not answer.
        RunFailed: Its answer is not one of a backend, or its address is not allowed.
    """
    try:
        health = _call("GET", url, "/health")
        about = {"project": project, "schema": config, "hostname": "", "access_token": "", "extra_params": {}}
        setup = _call("POST", url, "/setup", about)
    except _Answered as error:
        raise RunFailed(say("The ML backend refuses the project: %(problem)s", problem=str(error))) from error
    name = _read_text(health, "model_class") or "ml-backend"
    version = _read_text(setup, "model_version") or _read_text(health, "version") or "unversioned"
    return Backend(name[:100], version[:100])


def _read_text(answer: Any, name: str) -> str:
    given = answer.get(name) if isinstance(answer, dict) else None
    return str(given).strip() if isinstance(given, str | int | float) else ""


def predict_tasks(
    url: str, *, project: str, config: str, tasks: Sequence[Mapping[str, Any]]
) -> list[Prediction | Problem]:
    """Return a prediction or problem for each task, in their order.

    Raises:
        Unavailable: The backend does not answer.
        RunFailed: Its address is not allowed.
    """
    body = {"tasks": list(tasks), "project": project, "label_config": config, "params": {}}
    try:
        answer = _call("POST", url, "/predict", body)
        whole = {"results": answer} if isinstance(answer, list) else answer
        results = _Predictions.model_validate(whole).results
        if len(results) != len(tasks):
            raise _Answered(f"it gave {len(results)} predictions for {len(tasks)} tasks")
    except (_Answered, ValidationError) as error:
        if len(tasks) > 1:  # find the task that it cannot take, and lose no other
            half = len(tasks) // 2
            parts = (tasks[:half], tasks[half:])
            return [
                result
                for part in parts
                for result in predict_tasks(url, project=project, config=config, tasks=part)
            ]
        message = format_first_error(error) if isinstance(error, ValidationError) else str(error)
        return [Problem(f"the ML backend: {message}")]
    return list(results)


def _call(method: str, url: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """Send a request to the checked address; return the JSON of the answer."""
    whole = url.rstrip("/") + path
    try:
        request = build_pinned_request(
            method,
            whole,
            allow_private=settings.WEBHOOK_ALLOW_PRIVATE,
            timeout=TIMEOUT,
            headers={"Accept": "application/json"},
            json=body,
        )
    except NotFound as error:
        raise Unavailable(str(error)) from error
    except Refused as error:
        raise RunFailed(str(error)) from error
    try:
        status, content = _send(request)
    except httpx.TimeoutException as error:
        raise DeadlineExceeded(f"the ML backend at {whole} did not answer in time") from error
    except httpx.HTTPError as error:
        raise Unavailable(f"the ML backend at {whole} does not answer: {error}") from error
    if status in (502, 503, 504):
        raise Unavailable(f"the ML backend at {whole} answered {status}")
    if not 200 <= status < 300:
        quoted = content[: 4 * MOST_QUOTED].decode(errors="replace")[:MOST_QUOTED].strip()
        raise _Answered(f"it answered {status}: {quoted}")
    try:
        return json.loads(content)
    except ValueError as error:
        raise _Answered(f"{path} did not answer with JSON") from error


def _send(request: httpx.Request) -> tuple[int, bytes]:
    """Return the status and body of a response, which may be of any length."""
    end, content = time.monotonic() + LONGEST, bytearray()
    # Proxies of the environment are left out, so that the connection goes to the address that was checked.
    with httpx.Client(trust_env=False, verify=request.url.scheme == "https") as client:
        response = client.send(request, stream=True, follow_redirects=False)
        try:
            for part in response.iter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    raise _Answered(f"it answered with more than {MOST_BYTES:,} bytes")
                if time.monotonic() > end:
                    raise DeadlineExceeded(f"the ML backend took more than {LONGEST:g} seconds")
        finally:
            response.close()
    return response.status_code, bytes(content)

"""A system that another server computes, over minimal JSON.

The server receives ``POST {"items": [{"id", "question", "context"}, ...]}`` at the given address and
answers::

    {"revision": "...",
     "predictions": [{"id": "...", "answer": "...", "facts": [["Title", 0]]},
                     {"id": "...", "error": "why this one failed"}]}

in any order. A prediction may have every field of QAPrediction; only ``answer`` is required.
``revision`` identifies what computes the answers; it may be left out if it was given with the address.

A server that also answers ``POST /v1/explain`` at the root of its host, as `ExplainRequest` and
`ExplainResponse` define, has saliency. The request names the system as it is named here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence, Set
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
from pydantic import ValidationError

from modelserver.systems.base import WARM_UP, complete_prediction, count_words, require_revision
from modelserver.wire.errors import PredictionFailed, Unavailable, UnusableSystem
from modelserver.wire.redaction import redact_logins
from modelserver.wire.schema import (
    ExplainRequest,
    ExplainResponse,
    Explanation,
    ItemError,
    QAItem,
    QAPrediction,
    SaliencyOptions,
    format_first_problem,
)

RETRY_STATUSES = frozenset({408, 429, 502, 503, 504})  # the same items may be answered later
ITEM_STATUSES = frozenset({400, 413, 422, 500})  # one of the items may be the reason; of all others none is
CONNECT_SECONDS = 5.0
MOST_BYTES = 64 * 2**20  # of an answer
EXPLAIN = "/v1/explain"
ABSENT = frozenset({404, 405, 501})  # what servers say that do not know this address


class RemoteSystem:
    """A remote server as a system.

    ``timeout`` (seconds) bounds the whole answer. Raises UnusableSystem if it does not answer a first
    question as declared, and Unavailable if it cannot be reached.
    """

    weight_bytes = 0

    def __init__(self, url: str, *, name: str, revision: str | None = None, timeout: float = 60.0) -> None:
        self.name, self._url = name, url
        self.shown = redact_logins(urlsplit(url)._replace(query="", fragment="").geturl())
        self.description = f"answered by {self.shown}"
        # No proxy from the environment: a proxy cannot reach the loopback address of this machine.
        limits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
        self._timeout = timeout
        self._given = revision is not None
        try:
            self._http = httpx.Client(trust_env=False, timeout=limits)
            reply = self._reply([WARM_UP])
            self.revision = require_revision(revision, "the address") if revision else self._revision(reply)
            self._require_form(reply["predictions"])
        except (PredictionFailed, ValueError, httpx.InvalidURL) as error:
            raise UnusableSystem(str(error)) from error

    def cost(self, item: QAItem) -> int:
        """Return the words of question and context."""
        return count_words(item)

    def check(self, item: QAItem) -> None:
        """Leave it to the server."""

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction | ItemError]:
        """Ask the server.

        Raises Unavailable when it cannot answer now or has changed its revision. Raises PredictionFailed
        when its answer as a whole is none, since fewer items at once may fare better, and UnusableSystem
        when it answers with a status that has nothing to do with the items.
        """
        reply = self._reply(items)
        if not self._given:
            self._require_same(self._revision(reply))
        answers = {prediction["id"]: prediction for prediction in reply["predictions"]}
        return [self._outcome(item, answers.get(item.id)) for item in items]

    def explain(self, items: Sequence[QAItem], options: SaliencyOptions) -> list[Explanation | ItemError]:
        """Ask the server for saliency. Raises as `predict` does.

        A server that does not know the address is an UnusableSystem, whose message says so.
        """
        request = ExplainRequest(system=self.name, items=list(items), options=options)
        response, content = self._post(urljoin(self._url, EXPLAIN), request.model_dump(mode="json"))
        if response.status_code in ABSENT:
            raise UnusableSystem(
                f"{self.name} has no saliency: its server answers {response.status_code} at {EXPLAIN}"
            )
        self._require_success(response)
        try:
            reply = ExplainResponse.model_validate_json(content)
        except ValidationError as error:
            raise PredictionFailed(f"{self.shown}: {EXPLAIN}: {format_first_problem(error)}") from error
        if not self._given:
            self._require_same(reply.revision)
        explained = {explanation.id: explanation for explanation in reply.explanations}
        return [self._explanation(item, explained.get(item.id)) for item in items]

    def _explanation(self, item: QAItem, answer: Explanation | ItemError | None) -> Explanation | ItemError:
        if isinstance(answer, ItemError):
            return answer
        problem = (
            "it is not among the explanations" if answer is None else _describe_misplaced_score(item, answer)
        )
        if answer is None or problem:
            return ItemError(id=item.id, error="prediction_failed", message=f"{self.shown}: {problem}")
        return answer.model_copy(update={"revision": self.revision})

    def _outcome(self, item: QAItem, answer: Mapping[str, Any] | None) -> QAPrediction | ItemError:
        if answer is None:
            reason = "it is not among the predictions"
        elif "error" in answer:
            reason = str(answer["error"])
        else:
            try:
                return complete_prediction(item, answer)
            except ValueError as error:
                reason = str(error)
        return ItemError(id=item.id, error="prediction_failed", message=f"{self.shown}: {reason}")

    def _require_form(self, predictions: Sequence[Mapping[str, Any]]) -> None:
        """Raise ValueError unless the first question has an answer or an error."""
        if not predictions:
            raise ValueError(f"{self.shown}: the first question is not among the predictions")
        if "error" not in predictions[0]:
            try:
                complete_prediction(WARM_UP, predictions[0])
            except ValueError as error:
                raise ValueError(f"{self.shown}: predictions.0.{error}") from error

    def _require_same(self, revision: str) -> None:
        before, self.revision = self.revision, revision
        if revision != before:
            raise Unavailable(f"{self.shown} changed from revision {before} to {revision}")

    def _revision(self, reply: Mapping[str, Any]) -> str:
        revision = reply.get("revision")
        if revision is None:
            raise PredictionFailed(
                f'{self.shown} answers without a "revision"; add it there, or to the address as #REVISION'
            )
        try:
            return require_revision(revision, self.shown)
        except ValueError as error:
            raise PredictionFailed(str(error)) from error

    def _reply(self, items: Sequence[QAItem]) -> Mapping[str, Any]:
        body = {"items": [item.model_dump(mode="json") for item in items]}
        response, content = self._post(self._url, body)
        self._require_success(response)
        return self._parse_reply(content, {item.id for item in items})

    def _post(self, url: str, body: object) -> tuple[httpx.Response, bytes]:
        """Post and return the response with its body.

        Raises Unavailable and PredictionFailed.
        """
        try:
            with self._http.stream("POST", url, json=body) as response:
                return response, self._read(response)
        except httpx.TimeoutException as error:
            raise Unavailable(f"{self.shown} did not answer in time") from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise Unavailable(f"{self.shown} cannot be reached: {error or type(error).__name__}") from error
        except httpx.HTTPError as error:
            raise PredictionFailed(f"{self.shown}: {error}") from error

    def _read(self, response: httpx.Response) -> bytes:
        """Return the body.

        The timeouts of httpx bound each part of it, and this function all of them together.
        """
        end = time.monotonic() + self._timeout
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > MOST_BYTES:
                raise PredictionFailed(f"{self.shown} answered more than {MOST_BYTES} bytes")
            if time.monotonic() > end:
                raise httpx.ReadTimeout("too slow")
        return bytes(content)

    def _require_success(self, response: httpx.Response) -> None:
        status = response.status_code
        if status == httpx.codes.OK:
            return
        message = f"{self.shown} answered {status} {response.reason_phrase}".rstrip()
        if status in RETRY_STATUSES:
            wait = response.headers.get("Retry-After", "")
            raise Unavailable(message, retry_after=float(wait) if wait.isdecimal() else None)
        raise PredictionFailed(message) if status in ITEM_STATUSES else UnusableSystem(message)

    def _parse_reply(self, content: bytes, asked: Set[str]) -> Mapping[str, Any]:
        try:
            reply = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise PredictionFailed(f"{self.shown} did not answer with JSON") from error
        predictions = reply.get("predictions") if isinstance(reply, dict) else None
        if not isinstance(predictions, list):
            raise PredictionFailed(
                f'{self.shown} did not answer with an object that has a list of "predictions"'
            )
        left = set(asked)
        for number, prediction in enumerate(predictions):
            if not isinstance(prediction, dict) or not isinstance(prediction.get("id"), str):
                raise PredictionFailed(f"{self.shown}: predictions.{number} is not an object with an id")
            if prediction["id"] not in left:
                again = "occurs a second time" if prediction["id"] in asked else "was not asked for"
                raise PredictionFailed(f"{self.shown}: predictions.{number}: {prediction['id']!r} {again}")
            left.remove(prediction["id"])
        return {"revision": reply.get("revision"), "predictions": predictions}


def _describe_misplaced_score(item: QAItem, explanation: Explanation) -> str:
    """Return the score that lies outside the item, or the empty text."""
    for number, score in enumerate(explanation.scores):
        text: str | None = item.question
        if score.article is not None:
            title, sentences = item.context[score.article] if score.article < len(item.context) else ("", [])
            text = title if score.index is None else dict(enumerate(sentences)).get(score.index)
        elif score.index is not None:
            text = None
        if text is None or not score.start <= score.end <= len(text):
            return f"scores.{number} lies outside the item"
    if max(explanation.first, explanation.last) >= len(explanation.scores):
        return "first and last refer to no score"
    return ""

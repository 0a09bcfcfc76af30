"""A system that another server computes: an adapter from its minimal JSON to predictions.

The server gets ``POST {"items": [{"id", "question", "context"}, ...]}`` at the address given and answers::

    {"revision": "...",
     "predictions": [{"id": "...", "answer": "...", "facts": [["Title", 0]]},
                     {"id": "...", "error": "why this one failed"}]}

in any order. A prediction may have every field of QAPrediction; ``answer`` alone is needed. ``revision`` says
what computes the answers; it may be left out where it was given with the address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from modelserver.errors import PredictionFailed, Unavailable, UnusableSystem
from modelserver.schema import ItemError, QAItem, QAPrediction
from modelserver.shelf import WARM_UP
from modelserver.systems.base import completed, words

AWAY = frozenset({429, 502, 503, 504})  # statuses that blame no item: the same items may be answered later
CONNECT_SECONDS = 5.0


class RemoteSystem:
    """A server elsewhere as a system. ``timeout`` (seconds) bounds each wait for it.

    Raises UnusableSystem when it does not answer a first question as declared, and Unavailable when it
    cannot be reached.
    """

    weight_bytes = 0

    def __init__(self, url: str, *, name: str, revision: str | None = None, timeout: float = 60.0) -> None:
        self.name, self._url = name, url
        parts = urlsplit(url)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"  # without a password
        self.description = f"answered by {self.shown}"
        # No proxy from the environment: a proxy cannot reach the loopback address of this machine.
        limits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
        try:
            self._http = httpx.Client(trust_env=False, timeout=limits)
            self.revision = revision or self._revision(self._reply([WARM_UP]))
        except (PredictionFailed, httpx.InvalidURL) as error:
            raise UnusableSystem(str(error)) from error
        self._given = revision is not None

    def cost(self, item: QAItem) -> int:
        """Return the words of question and context."""
        return words(item)

    def check(self, item: QAItem) -> None:
        """Leave it to the server."""

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction | ItemError]:
        """Ask the server. Raises Unavailable when it cannot answer now or has changed its revision.

        Raises PredictionFailed when its answer as a whole is none; fewer items at once may fare better.
        """
        reply = self._reply(items)
        if not self._given:
            self._require_same(self._revision(reply))
        answers = {one["id"]: one for one in reply["predictions"]}
        return [self._outcome(item, answers.get(item.id)) for item in items]

    def _outcome(self, item: QAItem, answer: Mapping[str, Any] | None) -> QAPrediction | ItemError:
        if answer is None:
            reason = "it is not among the predictions"
        elif "error" in answer:
            reason = str(answer["error"])
        else:
            try:
                return completed(item, answer)
            except ValueError as error:
                reason = str(error)
        return ItemError(id=item.id, error="prediction_failed", message=f"{self.shown}: {reason}")

    def _require_same(self, revision: str) -> None:
        before, self.revision = self.revision, revision
        if revision != before:
            raise Unavailable(f"{self.shown} changed from revision {before} to {revision}")

    def _revision(self, reply: Mapping[str, Any]) -> str:
        found = reply.get("revision")
        if not isinstance(found, str) or not found:
            raise PredictionFailed(
                f'{self.shown} answers without a "revision"; add it there, or to the address as #REVISION'
            )
        return found

    def _reply(self, items: Sequence[QAItem]) -> Mapping[str, Any]:
        body = {"items": [item.model_dump(mode="json") for item in items]}
        try:
            response = self._http.post(self._url, json=body)
        except httpx.TimeoutException as error:
            raise Unavailable(f"{self.shown} did not answer in time") from error
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise Unavailable(f"{self.shown} cannot be reached: {error or type(error).__name__}") from error
        except httpx.HTTPError as error:
            raise PredictionFailed(f"{self.shown}: {error}") from error
        if response.status_code in AWAY:
            wait = response.headers.get("Retry-After", "")
            raise Unavailable(
                f"{self.shown} answered {response.status_code}",
                retry_after=float(wait) if wait.isdigit() else None,
            )
        if response.status_code != httpx.codes.OK:
            raise PredictionFailed(f"{self.shown} answered {response.status_code}")
        return self._parsed(response)

    def _parsed(self, response: httpx.Response) -> Mapping[str, Any]:
        try:
            reply = response.json()
        except ValueError as error:
            raise PredictionFailed(f"{self.shown} answered what is no JSON") from error
        predictions = reply.get("predictions") if isinstance(reply, dict) else None
        if not isinstance(predictions, list):
            raise PredictionFailed(f'{self.shown} answered no object with a list of "predictions"')
        for number, one in enumerate(predictions):
            if not isinstance(one, dict) or not isinstance(one.get("id"), str):
                raise PredictionFailed(f"{self.shown}: predictions.{number} is no object with an id")
        return {"revision": reply.get("revision"), "predictions": predictions}

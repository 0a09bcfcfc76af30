"""Prolific's API: read submissions, approve, ask to return, pay bonuses.

Source: Prolific API reference, "Submissions" (retrieve; approve or reject; request a return) and "Bonuses"
(set up; pay). A key authenticates with ``Authorization: Token KEY``. Setting a bonus up pays nothing. Paying
it is asynchronous and not idempotent, so that nothing here sends it a second time.

ProlificError (a StudyappError)
├── NotSent             Prolific did nothing, and another time it may
│   ├── BadKey          there is no key, or Prolific does not accept it
│   ├── Unreachable     no connection, or too many requests
│   └── Stopped         the work was stopped while it waited
├── RefusedByProlific   Prolific did nothing, and says why
└── Doubtful            no answer came, or an error of the server: it may have happened
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import httpx

from foundation.messages import say
from studyapp.errors import StudyappError

TIMEOUT = httpx.Timeout(30.0, connect=10.0)
TRIES = 8  # of a request that Prolific answers with 429
MOST_WAIT = 120  # seconds between two tries
LOOPBACK = ("127.0.0.1", "localhost", "::1")

Pause = Callable[[float], None]


class ProlificError(StudyappError):
    """Prolific could not be asked, or refused."""

    status = 502


class NotSent(ProlificError):
    """Prolific did nothing, and another time it may."""


class BadKey(NotSent):
    """There is no key, or Prolific does not accept it."""


class Unreachable(NotSent):
    """The request did not reach Prolific, or was refused as too frequent."""


class Stopped(NotSent):
    """The work was stopped while it waited to try a request again."""


class RefusedByProlific(ProlificError):
    """Prolific refused the request and did nothing; says why."""


class Doubtful(ProlificError):
    """No answer came, or an error of the server: it may have happened."""


class Submission(NamedTuple):
    """The state of a submission on Prolific.

    ``bonuses`` are in cents, ``return_requested`` tells that the person was asked to return it.
    """

    id: str
    status: str
    study: str
    participant: str
    bonuses: tuple[int, ...]
    return_requested: bool


class Prolific:
    """Prolific's API with one key.

    ``pause`` waits for seconds between two tries of a request; it raises `Stopped` to end the work.
    """

    def __init__(self, client: httpx.Client, pause: Pause) -> None:
        self._client = client
        self._pause = pause

    def submission(self, submission: str) -> Submission:
        """Return a submission."""
        return _parse_submission(self._send("GET", f"submissions/{quote(submission, safe='')}/"))

    def approve(self, submission: str) -> Submission:
        """Approve a submission; Prolific ignores a second time."""
        path = f"submissions/{quote(submission, safe='')}/transition/"
        return _parse_submission(self._send("POST", path, {"action": "APPROVE"}))

    def request_return(self, submission: str, reason: str) -> None:
        """Ask a person to return a submission."""
        path = f"submissions/{quote(submission, safe='')}/request-return/"
        self._send("POST", path, {"request_return_reasons": [reason]})

    def set_up_bonuses(self, study: str, amounts: Mapping[str, Decimal]) -> str:
        """Set up a bulk payment of bonuses by submission; return its ID.

        Raises:
            RefusedByProlific: Also if Prolific would pay another sum than asked for.
        """
        lines = "\n".join(f"{submission},{amount:.2f}" for submission, amount in amounts.items())
        given = self._send("POST", "submissions/bonus-payments/", {"study_id": study, "csv_bonuses": lines})
        sum_there = given.get("amount")
        if sum_there is not None and _parse_cents(sum_there) != int(sum(amounts.values()) * 100):
            raise RefusedByProlific(say("Prolific would pay another sum than was asked for"))
        if not isinstance(given.get("id"), str) or not given["id"]:
            raise RefusedByProlific(say("Prolific's answer is not of the published form"))
        return str(given["id"])

    def pay_bonuses(self, transfer: str, *, before: Callable[[], None] = lambda: None) -> None:
        """Pay a bulk payment that was set up; never call it twice.

        ``before`` is called right before each try, and raises to send nothing.
        """
        path = f"bulk-bonus-payments/{quote(transfer, safe='')}/pay/"
        self._send("POST", path, expects_body=False, before=before)

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        expects_body: bool = True,
        before: Callable[[], None] = lambda: None,
    ) -> dict[str, Any]:
        for _try in range(TRIES):
            before()
            try:
                response = self._client.request(method, path, json=body)
            except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
                raise Unreachable(say("Prolific cannot be reached")) from error
            except httpx.HTTPError as error:
                raise Doubtful(say("Prolific did not answer")) from error
            if response.status_code != 429:
                return _read(response, expects_body)
            self._pause(_wait(response))
        raise Unreachable(say("Prolific refused too many requests; try again later"))


@contextmanager
def connect_to_prolific(*, url: str, key: str, pause: Pause) -> Iterator[Prolific]:
    """Yield Prolific's API at an address, which is https unless local.

    Raises:
        BadKey: There is no key.
        RefusedByProlific: The address would send the key in plain text.
    """
    if not key:
        raise BadKey(say("There is no key: set PROLIFIC_API_TOKEN in the environment of the site."))
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise RefusedByProlific(say("PROLIFIC_API_URL must begin with https://"))
    headers = {"Authorization": f"Token {key}", "User-Agent": "Touchstone"}
    # Redirects are not followed: they would carry the key to another address.
    with httpx.Client(base_url=f"{url.rstrip('/')}/api/v1/", headers=headers, timeout=TIMEOUT) as client:
        yield Prolific(client, pause)


def _read(response: httpx.Response, expects_body: bool) -> dict[str, Any]:
    status = response.status_code
    if status in (401, 403):
        raise BadKey(say("Prolific does not accept the key in PROLIFIC_API_TOKEN."))
    if status == 408 or status >= 500:
        raise Doubtful(say("Prolific answered %(status)d", status=status))
    if not response.is_success:
        raise RefusedByProlific(_read_reason(response))
    try:
        content = response.json() if response.content else {}
    except ValueError:
        content = None
    if isinstance(content, dict):
        return content
    if expects_body:
        raise Doubtful(say("Prolific's answer is not of the published form"))
    return {}


def _read_reason(response: httpx.Response) -> str:
    """Return the reason in an error: a text, a list, or texts by field."""
    try:
        detail: Any = response.json()["error"]
        detail = detail.get("detail") or detail.get("title") or "" if isinstance(detail, dict) else detail
    except (ValueError, KeyError, TypeError):
        detail = ""
    text = detail if isinstance(detail, str) else json.dumps(detail)
    return text or say("Prolific answered %(status)d", status=response.status_code)


def _wait(response: httpx.Response) -> float:
    after = response.headers.get("Retry-After", "")
    return min(float(after), MOST_WAIT) if after.isascii() and after.isdigit() else 10.0


def _parse_submission(content: dict[str, Any]) -> Submission:
    participant = content.get("participant") or content.get("participant_id") or ""
    return Submission(
        str(content.get("id", "")),
        str(content.get("status", "")).upper().replace("_", " ").replace("-", " "),
        str(content.get("study_id", "")),
        str(participant),
        tuple(_parse_cents(bonus) for bonus in content.get("bonus_payments") or ()),
        bool(content.get("return_requested")),
    )


def _parse_cents(amount: Any) -> int:
    try:
        return round(Decimal(str(amount)))
    except InvalidOperation as error:
        raise Doubtful(say("Prolific's answer is not of the published form")) from error

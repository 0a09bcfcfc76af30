"""The system ``chat``: a model behind any OpenAI-compatible server.

Its YAML file (`chat_file`) is its identity. The key comes from the environment and goes into the header of
requests alone. Every answer is checked, because some servers answer 200 and ignore what they were asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack
from urllib.parse import urlsplit

from modelserver.systems.base import Identified, Identity, Labels
from modelserver.systems.language.answer_store import AnswerStore
from modelserver.systems.language.chat_file import ChatFile, read_chat_file
from modelserver.systems.language.chat_requests import ItemFailed, run_in_loop
from modelserver.systems.language.paid_requests import (
    InvalidReply,
    PaidRequests,
    build_response_format,
    make_invalid_reply,
    open_store,
    parse_choice,
)
from modelserver.systems.language.questions import (
    InvalidAnswer,
    ModelAnswer,
    add_usage,
    build_answer_schema,
    build_prediction,
    build_prompt,
    compute_lost_share,
    compute_target_logprob,
    find_value_bounds,
    leave_out,
    number_sentences,
    parse_answer,
)
from modelserver.wire.errors import BudgetSpent, UnusableSystem
from modelserver.wire.schema import ItemError, LanguageModel, QAItem, QAPrediction, Usage


class Reply(NamedTuple):
    """A valid answer with the logarithm of its probability and its tokens."""

    answer: ModelAnswer
    logprob: float | None
    usage: Usage


class ChatSystem(Identified):
    """A language model as the server sees it.

    Raises UnusableSystem if the key's variable is not set. It sends nothing before it is asked.
    """

    weight_bytes = 0
    warm = True  # a first question would be paid

    def __init__(self, file: ChatFile, store: AnswerStore, **identity: Unpack[Identity]) -> None:
        super().__init__(**identity)
        self.file, self._store = file, store
        self._paid = PaidRequests(file, store, self.name)
        self._running: dict[str, asyncio.Task[Reply]] = {}

    @property
    def language_model(self) -> LanguageModel:
        """Return where texts go and what was spent so far."""
        file, blank = self.file, QAItem(id="blank", question="?", context=[])
        prompt = build_prompt(file.prompt, blank, file.order, file.numbers)
        return self._paid.language_model(len(prompt) + len(file.system_prompt))

    def cost(self, item: QAItem) -> int:
        """Return 1: nothing is padded, and the file bounds what runs."""
        return 1

    def check(self, item: QAItem) -> None:
        """Take every item; the server knows how much it can read."""

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction | ItemError]:
        """Ask the server about all items at once, within the file's bounds.

        Raises:
            Unavailable: The server is busy or away for longer than the file's patience.
            BudgetSpent: The next request may cost more than is left.
            UnusableSystem: Address, key or model is wrong.
        """
        return run_in_loop(self._predict(items))

    def unload(self) -> None:
        """Close connections and stored answers."""
        run_in_loop(self._paid.close())

    async def _predict(self, items: Sequence[QAItem]) -> list[QAPrediction | ItemError]:
        # All of them end before an error is raised: what was sent is paid and goes into the store.
        outcomes = await asyncio.gather(*map(self._outcome, items), return_exceptions=True)
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if errors:
            raise next((error for error in errors if isinstance(error, BudgetSpent)), errors[0])
        return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]

    async def _outcome(self, item: QAItem) -> QAPrediction | ItemError:
        try:
            return await self._answer(item)
        except ItemFailed as error:
            return ItemError(id=item.id, error="prediction_failed", message=f"{self.name}: {error}")
        except InvalidReply as error:
            kind: Any = error.kind
            message = f"{self.name}: {self._paid.client.clean(str(error))}"
            return ItemError(id=item.id, error=kind, message=message)

    async def _answer(self, item: QAItem) -> QAPrediction:
        reply = await self._reply(item)
        relevance, usage = None, reply.usage
        # With a target only a probability is asked for: requests without each sentence would be paid in vain.
        if self.file.relevance == "leave-one-out" and item.target is None:
            relevance, usage = await self._measure_relevance(item, reply)
        return build_prediction(
            item,
            reply.answer,
            logprob=reply.logprob,
            target=compute_target_logprob(reply.answer.answer, reply.logprob, item.target),
            usage=usage,
            relevance=relevance,
        )

    async def _measure_relevance(self, item: QAItem, whole: Reply) -> tuple[dict[int, float], Usage]:
        """Return the relevance of each sentence number, and all tokens."""
        if whole.logprob is None:
            raise ItemFailed("the server gives no log-probabilities, which relevance: leave-one-out needs")
        count = len(number_sentences(item.context).facts)
        without = await asyncio.gather(
            *(self._reply(leave_out(item, number)) for number in range(1, count + 1))
        )
        shares = {}
        for number, reply in enumerate(without, start=1):
            left = compute_target_logprob(reply.answer.answer, reply.logprob, whole.answer.answer)
            if left is None:
                raise ItemFailed("the server gave log-probabilities for some answers only")
            shares[number] = compute_lost_share(whole.logprob, left)
        return shares, add_usage(whole.usage, *(reply.usage for reply in without))

    async def _reply(self, item: QAItem) -> Reply:
        """Return the stored answer to an item, or ask.

        Equal requests are sent once.
        """
        body = self._body(item)
        digest = hashlib.sha256(json.dumps([self.file.url, body]).encode()).hexdigest()
        stored = self._store.get(digest)
        if stored is not None:
            return _load(stored)
        if digest not in self._running:
            task = asyncio.ensure_future(self._ask_and_store(body, digest, item.labels))
            self._running[digest] = task
            task.add_done_callback(lambda _: self._running.pop(digest, None))
        return await asyncio.shield(self._running[digest])

    async def _ask_and_store(self, body: dict[str, Any], digest: str, labels: Sequence[str]) -> Reply:
        """Ask, and store the answer."""
        reply = await self._paid.ask(body, lambda content, usage: _read(content, usage, labels))
        self._store.put(digest, _dump(reply))
        return reply

    def _body(self, item: QAItem) -> dict[str, Any]:
        file = self.file
        messages = [{"role": "system", "content": file.system_prompt}] if file.system_prompt else []
        messages.append(
            {"role": "user", "content": build_prompt(file.prompt, item, file.order, file.numbers)}
        )
        schema = build_answer_schema(file.order, item.labels)
        body: dict[str, Any] = {"model": file.model, "messages": messages, **file.decoding}
        return body | build_response_format(file, schema) | ({"logprobs": True} if file.logprobs else {})


def _read(content: Mapping[str, Any], usage: Usage, labels: Sequence[str]) -> Reply:
    """Return the valid answer of a reply. Raises InvalidReply."""
    text, choice = parse_choice(content)
    try:
        answer = parse_answer(text, labels)
    except InvalidAnswer as error:
        raise make_invalid_reply(text, choice, error) from error
    return Reply(answer, compute_answer_logprob(text, choice.get("logprobs")), usage)


def compute_answer_logprob(text: str, logprobs: object) -> float | None:
    """Return the summed log-probabilities of the tokens of the answer's value.

    None if the server gave none, or others than those of this text. A token that is partly outside of the
    value counts.
    """
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    bounds = find_value_bounds(text, "answer")
    if not tokens or bounds is None:
        return None
    start, end = (len(text[:bound].encode()) for bound in bounds)
    total, position = 0.0, 0
    try:
        for token in tokens:
            given = token.get("bytes")
            size = len(given if given is not None else token["token"].encode())
            if position < end and position + size > start:
                total += float(token["logprob"])
            position += size
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return min(0.0, total) if position == len(text.encode()) else None


def _dump(reply: Reply) -> str:
    return json.dumps([reply.answer.model_dump(), reply.logprob, reply.usage.model_dump()])


def _load(stored: str) -> Reply:
    answer, logprob, usage = json.loads(stored)
    return Reply(ModelAnswer.model_validate(answer), logprob, Usage.model_validate(usage))


def open_chat(path: Path, name: str, description: str = "") -> ChatSystem:
    """Return the system of a file.

    Raises:
        UnusableSystem: The file or the folder of its answers cannot be used.
    """
    file = read_chat_file(path)
    store = open_store(path)
    server = urlsplit(file.url).netloc
    description = description or f"{file.model}, answered by {server}"
    return ChatSystem(file, store, name=name, description=description, revision=file.revision)


def load(path: Path | None, device: object, **labels: Unpack[Labels]) -> ChatSystem:
    """Open the system of a file for `predict` without a server."""
    if path is None:
        raise UnusableSystem(f"{labels['name']} needs a file: --weights FILE.yaml")
    return open_chat(path, labels["name"])

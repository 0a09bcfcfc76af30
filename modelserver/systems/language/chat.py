"""The system ``chat``: a model behind any OpenAI-compatible server.

Its YAML file (`chat_file`) is its identity. The key comes from the environment and goes into the header of
requests alone. Every answer is checked, because some servers answer 200 and ignore what they were asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack
from urllib.parse import urlsplit

from modelserver.systems.base import Identified, Identity, Labels
from modelserver.systems.language.answer_store import AnswerStore
from modelserver.systems.language.chat_file import ChatFile, read_chat_file
from modelserver.systems.language.chat_requests import ChatClient, ItemFailed, run_in_loop
from modelserver.systems.language.questions import (
    InvalidAnswer,
    ModelAnswer,
    answer_schema,
    build_prompt,
    lost_share,
    number_sentences,
    parse_answer,
    prediction,
    target_logprob,
    value_bounds,
)
from modelserver.wire.errors import BudgetSpent, UnusableSystem
from modelserver.wire.schema import ItemError, LanguageModel, QAItem, QAPrediction, Usage

STORES = "MODELSERVER_ANSWERS"  # a folder for stored answers; by default that of the file
CHARACTERS_PER_TOKEN = 4  # of English, about: for bounds before a reply tells the number
UNKNOWN_OUTPUT = 512  # tokens of a reply for which the file declares no bound


class Reply(NamedTuple):
    """A valid answer with the logarithm of its probability and its tokens."""

    answer: ModelAnswer
    logprob: float | None
    usage: Usage


class _Invalid(Exception):
    """A reply without a valid answer; ``kind`` is that of the item's error."""

    def __init__(self, message: str, content: str | None = None, kind: str = "invalid_answer") -> None:
        super().__init__(message)
        self.content, self.kind = content, kind


class ChatSystem(Identified):
    """A language model as the server sees it.

    Raises UnusableSystem if the key's variable is not set. It sends nothing before it is asked.
    """

    weight_bytes = 0
    warm = True  # a first question would be paid

    def __init__(self, file: ChatFile, store: AnswerStore, **identity: Unpack[Identity]) -> None:
        super().__init__(**identity)
        key = os.environ.get(file.key_env) if file.key_env else None
        if file.key_env and not key:
            raise UnusableSystem(f"{self.name}: the environment has no {file.key_env}, which holds the key")
        self.file, self._store = file, store
        self._client = ChatClient(file.url, file.limits, key)
        self._running: dict[str, asyncio.Task[Reply]] = {}
        self._reserved = Usage()
        self._spending = asyncio.Condition()

    @property
    def language_model(self) -> LanguageModel:
        """Return where texts go and what was spent so far."""
        file, spent = self.file, self._store.spent()
        blank = QAItem(id="blank", question="?", context=[])
        return LanguageModel(
            model=file.model,
            recipient=file.url,
            order=file.order,
            relevance=file.relevance,
            prompt_characters=len(build_prompt(file.prompt, blank, file.order, file.numbers))
            + len(file.system_prompt),
            most_output_tokens=file.most_output_tokens or UNKNOWN_OUTPUT,
            input_price=file.prices.input if file.prices else None,
            output_price=file.prices.output if file.prices else None,
            currency=file.prices.currency if file.prices else "",
            budget_tokens=file.limits.budget_tokens,
            budget_money=file.limits.budget_money,
            spent_tokens=spent.input_tokens + spent.output_tokens,
            spent_money=file.prices.of(spent) if file.prices else 0.0,
        )

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
        run_in_loop(self._client.close())
        self._store.close()

    async def _predict(self, items: Sequence[QAItem]) -> list[QAPrediction | ItemError]:
        # All of them end before an error is raised: what was sent is paid and goes into the store.
        outcomes = await asyncio.gather(*map(self._outcome, items), return_exceptions=True)
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if errors:
            raise next((error for error in errors if isinstance(error, BudgetSpent)), errors[0])
        return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]

    async def _outcome(self, item: QAItem) -> QAPrediction | ItemError:
        try:
            return await self._answered(item)
        except ItemFailed as error:
            return ItemError(id=item.id, error="prediction_failed", message=f"{self.name}: {error}")
        except _Invalid as error:
            kind: Any = error.kind
            return ItemError(id=item.id, error=kind, message=f"{self.name}: {self._client.clean(str(error))}")

    async def _answered(self, item: QAItem) -> QAPrediction:
        reply = await self._reply(item)
        relevance, usage = None, reply.usage
        if self.file.relevance == "leave-one-out":
            relevance, usage = await self._left_out(item, reply)
        return prediction(
            item,
            reply.answer,
            logprob=reply.logprob,
            target=target_logprob(reply.answer.answer, reply.logprob, item.target),
            usage=usage,
            relevance=relevance,
        )

    async def _left_out(self, item: QAItem, whole: Reply) -> tuple[dict[int, float], Usage]:
        """Return the relevance of each sentence number, and all tokens."""
        if whole.logprob is None:
            raise ItemFailed("the server gives no log-probabilities, which relevance: leave-one-out needs")
        count = len(number_sentences(item.context).facts)
        without = await asyncio.gather(
            *(self._reply(_leave_out(item, number)) for number in range(1, count + 1))
        )
        shares = {}
        for number, reply in enumerate(without, start=1):
            left = target_logprob(reply.answer.answer, reply.logprob, whole.answer.answer)
            if left is None:
                raise ItemFailed("the server gave log-probabilities for some answers only")
            shares[number] = lost_share(whole.logprob, left)
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
            task = asyncio.ensure_future(self._asked(body, digest, item.labels))
            self._running[digest] = task
            task.add_done_callback(lambda _: self._running.pop(digest, None))
        return await asyncio.shield(self._running[digest])

    async def _asked(self, body: dict[str, Any], digest: str, labels: Sequence[str]) -> Reply:
        """Ask, and once more if the answer is not valid; store a valid one."""
        content, usage = await self._paid(body)
        try:
            reply = self._read(content, usage, labels)
        except _Invalid as error:
            again, more = await self._paid(_asked_again(body, error))
            reply = self._read(again, add_usage(usage, more), labels)
        self._store.put(digest, _dump(reply))
        return reply

    async def _paid(self, body: dict[str, Any]) -> tuple[dict[str, Any], Usage]:
        """Send a request within the budget and record what it took."""
        expected = Usage(
            input_tokens=len(json.dumps(body["messages"])) // CHARACTERS_PER_TOKEN,
            output_tokens=self.file.most_output_tokens or UNKNOWN_OUTPUT,
        )
        await self._reserve(expected)
        try:
            content = await self._client.post(body, expected.input_tokens + expected.output_tokens)
            usage = usage_of(content) or expected
            self._store.spend(usage)
            return content, usage
        finally:
            await self._release(expected)

    async def _reserve(self, expected: Usage) -> None:
        """Wait until a request surely fits into the budget.

        Raises BudgetSpent if it cannot.
        """
        async with self._spending:
            await self._spending.wait_for(lambda: self._fits(expected) or self._reserved == Usage())
            if not self._fits(expected):
                raise BudgetSpent(self._spent_message())
            self._reserved = add_usage(self._reserved, expected)

    async def _release(self, expected: Usage) -> None:
        async with self._spending:
            self._reserved = Usage(
                input_tokens=self._reserved.input_tokens - expected.input_tokens,
                output_tokens=self._reserved.output_tokens - expected.output_tokens,
            )
            self._spending.notify_all()

    def _fits(self, expected: Usage) -> bool:
        limits, prices = self.file.limits, self.file.prices
        if limits.budget_tokens is None and limits.budget_money is None:
            return True
        total = add_usage(self._store.spent(), self._reserved, expected)
        tokens = total.input_tokens + total.output_tokens
        if limits.budget_tokens is not None and tokens > limits.budget_tokens:
            return False
        return limits.budget_money is None or prices is None or prices.of(total) <= limits.budget_money

    def _spent_message(self) -> str:
        model = self.language_model
        bounds = []
        if model.budget_tokens is not None:
            bounds.append(f"{model.spent_tokens} of {model.budget_tokens} tokens")
        if model.budget_money is not None:
            bounds.append(f"{model.spent_money:.4f} of {model.budget_money:g} {model.currency}")
        return (
            f"{self.name}: the budget does not allow another request ({', '.join(bounds)} are spent); raise "
            "it under limits in the system's file, restart the model server and start the run again"
        )

    def _body(self, item: QAItem) -> dict[str, Any]:
        file = self.file
        messages = [{"role": "system", "content": file.system_prompt}] if file.system_prompt else []
        messages.append(
            {"role": "user", "content": build_prompt(file.prompt, item, file.order, file.numbers)}
        )
        body: dict[str, Any] = {"model": file.model, "messages": messages, **file.decoding}
        if file.structured == "json_schema":
            schema = {"name": "answer", "strict": True, "schema": answer_schema(file.order, item.labels)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif file.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        if file.logprobs:
            body["logprobs"] = True
        return body

    def _read(self, content: Mapping[str, Any], usage: Usage, labels: Sequence[str]) -> Reply:
        """Return the valid answer of a reply. Raises _Invalid."""
        try:
            choice = content["choices"][0]
            message, finish = choice["message"], choice.get("finish_reason")
            text, refusal = message.get("content"), message.get("refusal")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise _Invalid("the reply holds no choices with a message") from error
        if refusal or finish == "content_filter":
            raise _Invalid(f"the model refused: {refusal or finish}", kind="refused")
        if message.get("tool_calls") and not text:
            raise _Invalid("the model called a tool instead of answering")
        if not isinstance(text, str) or not text.strip():
            raise _Invalid("the reply has no content")
        try:
            answer = parse_answer(text, labels)
        except InvalidAnswer as error:
            cut = " (cut at the most tokens that the file allows)" if finish == "length" else ""
            raise _Invalid(f"the answer is not the JSON asked for{cut}: {error}", text) from error
        return Reply(answer, answer_logprob(text, choice.get("logprobs")), usage)


def answer_logprob(text: str, logprobs: object) -> float | None:
    """Return the summed log-probabilities of the tokens of the answer's value.

    None if the server gave none, or others than those of this text. A token that is partly outside of the
    value counts.
    """
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    bounds = value_bounds(text, "answer")
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


def usage_of(content: Mapping[str, Any]) -> Usage | None:
    """Return the tokens that a reply declares, or None."""
    usage = content.get("usage")
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    counts = (
        usage.get("prompt_tokens"),
        usage.get("completion_tokens"),
        details.get("cached_tokens") if isinstance(details, dict) else 0,
    )
    read, written, cached = (count if isinstance(count, int) and count >= 0 else 0 for count in counts)
    return Usage(input_tokens=read, output_tokens=written, cached_tokens=cached) if read or written else None


def add_usage(*usages: Usage) -> Usage:
    """Return the sum of tokens."""
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
    )


def _leave_out(item: QAItem, number: int) -> QAItem:
    context = [(title, list(sentences)) for title, sentences in item.context]
    left = number
    for _, sentences in context:
        if left <= len(sentences):
            del sentences[left - 1]
            break
        left -= len(sentences)
    return item.model_copy(update={"context": context})


def _asked_again(body: dict[str, Any], error: _Invalid) -> dict[str, Any]:
    before = [{"role": "assistant", "content": error.content}] if error.content else []
    complaint = {
        "role": "user",
        "content": f"That was not valid: {error}. Write the JSON object alone, with all its fields.",
    }
    return body | {"messages": [*body["messages"], *before, complaint]}


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
    folder = Path(os.environ.get(STORES) or path.parent)
    store = AnswerStore(folder / f"{path.stem}.answers.sqlite3")
    server = urlsplit(file.url).netloc
    description = description or f"{file.model}, answered by {server}"
    return ChatSystem(file, store, name=name, description=description, revision=file.revision)


def load(path: Path | None, device: object, **labels: Unpack[Labels]) -> ChatSystem:
    """Open the system of a file for `predict` without a server."""
    if path is None:
        raise UnusableSystem(f"{labels['name']} needs a file: --weights FILE.yaml")
    return open_chat(path, labels["name"])

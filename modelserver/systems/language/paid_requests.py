"""Paid requests to a language model: a budget, and one retry.

``chat`` answers questions by them, and so do simulated participants; all that use one file share its
budget and its stored answers. The key comes from the environment and goes into the header of requests alone.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from modelserver.systems.language.answer_store import AnswerStore
from modelserver.systems.language.chat_file import ChatFile
from modelserver.systems.language.chat_requests import ATTEMPTS, ChatClient, ItemFailed, pause_before
from modelserver.systems.language.questions import add_usage
from modelserver.wire.errors import BudgetSpent, UnusableSystem
from modelserver.wire.schema import LanguageModel, Usage

STORES = "MODELSERVER_ANSWERS"  # a folder for stored answers; by default that of the file
CHARACTERS_PER_TOKEN = 4  # of English, about: for bounds before a reply tells the number
UNKNOWN_OUTPUT = 512  # tokens of a reply for which the file declares no bound

T = TypeVar("T")


class InvalidReply(Exception):
    """A reply without a valid answer; ``kind`` is that of the item's error."""

    def __init__(self, message: str, content: str | None = None, kind: str = "invalid_answer") -> None:
        super().__init__(message)
        self.content, self.kind = content, kind


class PaidRequests:
    """The requests of one file to its server.

    Raises UnusableSystem if the key's variable is not set. It sends nothing before it is asked.
    """

    def __init__(self, file: ChatFile, store: AnswerStore, name: str) -> None:
        key = os.environ.get(file.key_env) if file.key_env else None
        if file.key_env and not key:
            raise UnusableSystem(f"{name}: the environment has no {file.key_env}, which holds the key")
        self.file, self.store, self.name = file, store, name
        self.client = ChatClient(file.url, file.limits, key)
        self._reserved = Usage()
        self._spending = asyncio.Condition()

    def language_model(self, prompt_characters: int) -> LanguageModel:
        """Return where texts go and what was spent so far.

        Args:
            prompt_characters: The length of a request without its texts.
        """
        file, spent = self.file, self.store.read_usage()
        return LanguageModel(
            model=file.model,
            recipient=file.url,
            order=file.order,
            relevance=file.relevance,
            prompt_characters=prompt_characters,
            most_output_tokens=file.most_output_tokens or UNKNOWN_OUTPUT,
            input_price=file.prices.input if file.prices else None,
            output_price=file.prices.output if file.prices else None,
            currency=file.prices.currency if file.prices else "",
            budget_tokens=file.limits.budget_tokens,
            budget_money=file.limits.budget_money,
            spent_tokens=spent.input_tokens + spent.output_tokens,
            spent_money=file.prices.of(spent) if file.prices else 0.0,
        )

    async def ask(self, body: dict[str, Any], read: Callable[[dict[str, Any], Usage], T]) -> T:
        """Ask, and once more, with the reason, if the reply is not valid.

        Args:
            body: The request.
            read: Returns the answer of a reply that took some tokens, or raises InvalidReply.

        Raises:
            InvalidReply: Neither reply is valid.
            ItemFailed: This request will not be answered.
            BudgetSpent: The next request may cost more than is left.
            Unavailable: The server is busy or away for longer than the file's patience.
            UnusableSystem: Address, key or model is wrong.
        """
        content, usage = await self._send_within_budget(body)
        try:
            return read(content, usage)
        except InvalidReply as error:
            again, more = await self._send_within_budget(_add_complaint(body, error))
            return read(again, add_usage(usage, more))

    async def close(self) -> None:
        """Close connections and stored answers."""
        await self.client.close()
        self.store.close()

    async def _send_within_budget(self, body: dict[str, Any]) -> tuple[dict[str, Any], Usage]:
        """Send a request within the budget and record what it took.

        A try without a reply counts as its estimate if the server may charge for it, and the next one is sent
        only if it fits, too.
        """
        expected = Usage(
            input_tokens=len(json.dumps(body["messages"])) // CHARACTERS_PER_TOKEN,
            output_tokens=self.file.most_output_tokens or UNKNOWN_OUTPUT,
        )
        failures = 0
        while True:
            await self._reserve(expected)
            try:
                content = await self.client.post(body, expected.input_tokens + expected.output_tokens)
                usage = parse_usage(content) or expected
                self.store.spend(usage)
                return content, usage
            except ItemFailed as error:
                failures += 1
                if error.is_paid:
                    self.store.spend(expected)
                if failures >= ATTEMPTS or not error.again:
                    raise
            finally:
                await self._release(expected)
            await asyncio.sleep(pause_before(failures))

    async def _reserve(self, expected: Usage) -> None:
        """Wait until a request surely fits into the budget.

        Raises BudgetSpent if it cannot.
        """
        async with self._spending:
            await self._spending.wait_for(
                lambda: self._is_within_budget(expected) or self._reserved == Usage()
            )
            if not self._is_within_budget(expected):
                raise BudgetSpent(self._format_spent_message())
            self._reserved = add_usage(self._reserved, expected)

    async def _release(self, expected: Usage) -> None:
        async with self._spending:
            self._reserved = Usage(
                input_tokens=self._reserved.input_tokens - expected.input_tokens,
                output_tokens=self._reserved.output_tokens - expected.output_tokens,
            )
            self._spending.notify_all()

    def _is_within_budget(self, expected: Usage) -> bool:
        limits, prices = self.file.limits, self.file.prices
        if limits.budget_tokens is None and limits.budget_money is None:
            return True
        total = add_usage(self.store.read_usage(), self._reserved, expected)
        tokens = total.input_tokens + total.output_tokens
        if limits.budget_tokens is not None and tokens > limits.budget_tokens:
            return False
        return limits.budget_money is None or prices is None or prices.of(total) <= limits.budget_money

    def _format_spent_message(self) -> str:
        model = self.language_model(0)
        bounds = []
        if model.budget_tokens is not None:
            bounds.append(f"{model.spent_tokens} of {model.budget_tokens} tokens")
        if model.budget_money is not None:
            bounds.append(f"{model.spent_money:.4f} of {model.budget_money:g} {model.currency}")
        return (
            f"{self.name}: the budget does not allow another request ({', '.join(bounds)} are spent); raise "
            "it under limits in the system's file, restart the model server and start the run again"
        )


def build_response_format(file: ChatFile, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that ask for an answer by a schema."""
    if file.structured == "json_schema":
        named = {"name": "answer", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"response_format": {"type": "json_object"}} if file.structured == "json_object" else {}


def parse_choice(content: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text of a reply, and the choice that holds it.

    Raises:
        InvalidReply: It has none, refuses, or calls a tool.
    """
    try:
        choice = content["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InvalidReply("the reply holds no choices with a message") from error
    if refusal or finish == "content_filter":
        raise InvalidReply(f"the model refused: {refusal or finish}", kind="refused")
    if message.get("tool_calls") and not text:
        raise InvalidReply("the model called a tool instead of answering")
    if not isinstance(text, str) or not text.strip():
        raise InvalidReply("the reply has no content")
    return text, choice


def make_invalid_reply(text: str, choice: Mapping[str, Any], problem: object) -> InvalidReply:
    """Return the error of a text that is not the JSON asked for."""
    is_cut = choice.get("finish_reason") == "length"
    cut = " (cut at the most tokens that the file allows)" if is_cut else ""
    return InvalidReply(f"the answer is not the JSON asked for{cut}: {problem}", text)


def parse_usage(content: Mapping[str, Any]) -> Usage | None:
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


def _add_complaint(body: dict[str, Any], error: InvalidReply) -> dict[str, Any]:
    before = [{"role": "assistant", "content": error.content}] if error.content else []
    complaint = {
        "role": "user",
        "content": f"That was not valid: {error}. Write the JSON object alone, with all its fields.",
    }
    return body | {"messages": [*body["messages"], *before, complaint]}


def open_store(path: Path) -> AnswerStore:
    """Open the stored answers of a system's file.

    Raises:
        UnusableSystem: Its folder cannot be used.
    """
    folder = Path(os.environ.get(STORES) or path.parent)
    return AnswerStore(folder / f"{path.stem}.answers.sqlite3")

"""The YAML file of a ``chat`` system, which is its identity.

Everything that changes answers is in the revision: address, model, prompt, decoding, order, relevance.
Limits and prices are not, so that a budget can be raised and the run goes on.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from analysis.io.errors import describe_os_error
from modelserver.systems.language.questions import (
    MEANINGS,
    PROMPT,
    REQUIRED,
    Numbers,
    Order,
    Relevance,
    build_answer_schema,
)
from modelserver.wire.errors import UnusableSystem
from modelserver.wire.schema import Usage, format_first_problem

OURS = frozenset({"model", "messages", "response_format", "logprobs", "stream", "n", "tools"})
Structured = Literal["json_schema", "json_object", "none"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Part):
    """Bounds of what is sent; systems of one server share the smaller ones.

    Attributes:
        concurrency: Requests at a time.
        tokens_per_minute: Tokens of requests and replies in any minute.
        timeout: Time for one reply (s).
        patience: Time to go on asking a server that is busy or away (s).
        budget_tokens: Tokens in all; then the run pauses.
        budget_money: Money in all, at the file's prices.
    """

    concurrency: Annotated[int, Field(ge=1, le=1_024)] = 8
    tokens_per_minute: Annotated[int, Field(ge=1)] | None = None
    timeout: Annotated[float, Field(gt=0, le=3_600)] = 60.0
    patience: Annotated[float, Field(ge=0, le=3_600)] = 120.0
    budget_tokens: Annotated[int, Field(ge=1)] | None = None
    budget_money: Annotated[float, Field(gt=0)] | None = None


class Prices(_Part):
    """Money for a million tokens."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "USD"

    def of(self, usage: Usage) -> float:
        """Return the price of some tokens."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        price_cached = self.input if self.cached is None else self.cached
        read = (usage.input_tokens - cached) * self.input + cached * price_cached
        return (read + usage.output_tokens * self.output) / 1e6


class ChatFile(_Part):
    """The content of the file.

    Attributes:
        url: The address before ``/chat/completions``, such as ``http://127.0.0.1:8000/v1``.
        model: The model's name at that server.
        key_env: The variable of the environment that holds the key; none by default.
        prompt: The user message, with the placeholders; ``{fields}`` may be left out for a model that was
            trained to write the form.
        numbers: Side of a sentence on which its number stands.
        system_prompt: A message before it.
        order: The part that the model writes first.
        relevance: The order in which FaRM removes facts.
        structured: The ``response_format`` to ask for.
        logprobs: Ask for log-probabilities.
        decoding: Other fields of the request, such as ``temperature``.
    """

    url: str
    model: Annotated[str, Field(min_length=1)]
    key_env: Annotated[str, Field(pattern="^[A-Z][A-Z0-9_]*$")] | None = None
    prompt: str = PROMPT
    numbers: Numbers = "before"
    system_prompt: str = ""
    order: Order = "explain-first"
    relevance: Relevance = "citation"
    structured: Structured = "json_schema"
    logprobs: bool = True
    decoding: dict[str, JsonValue] = {"temperature": 0, "max_tokens": 512}
    limits: Limits = Limits()
    prices: Prices | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("url: is not an address such as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("url: holds more than an address; name the key's variable in key_env")
        if missing := [name for name in REQUIRED if name not in self.prompt]:
            raise ValueError(f"prompt: has no {missing[0]}")
        if taken := sorted(OURS & self.decoding.keys()):
            raise ValueError(f"decoding.{taken[0]}: has a field of its own in this file, or is not offered")
        if self.relevance == "leave-one-out" and not self.logprobs:
            raise ValueError("relevance: leave-one-out needs logprobs: true")
        if self.limits.budget_money is not None and self.prices is None:
            raise ValueError("limits.budget_money: needs prices")
        return self

    @property
    def revision(self) -> str:
        """Return 12 hex digits of everything that changes answers."""
        parts = self.model_dump(mode="json", exclude={"key_env", "limits", "prices"})
        if self.numbers == "before":  # as in revisions that did not know the field
            del parts["numbers"]
        parts |= {"schema": build_answer_schema(self.order), "meanings": MEANINGS}
        # Not sorted: the order of a schema's fields is the order in which the model writes.
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

    @property
    def most_output_tokens(self) -> int:
        """Return the bound of one reply that the file declares; 0 without one."""
        declared = self.decoding.get("max_completion_tokens", self.decoding.get("max_tokens"))
        return declared if isinstance(declared, int) else 0


def read_chat_file(path: Path) -> ChatFile:
    """Read and check a file.

    Raises:
        UnusableSystem: Names the file, and the line or field that is wrong.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnusableSystem(f"{path}: {describe_os_error(error)}") from error
    except UnicodeDecodeError as error:
        raise UnusableSystem(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}:" if mark else ""
        raise UnusableSystem(f"{path}:{where} is not YAML: {getattr(error, 'problem', error)}") from error
    try:
        return ChatFile.model_validate(content)
    except ValidationError as error:
        raise UnusableSystem(f"{path}: {format_first_problem(error, whole='file')}") from error

"""Participants simulated by a language model. No Django.

A model reads each page as text and fills its form. It says something about the model, nothing about people.
"""

import json
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from foundation.simulated_people import BotError, Think, run_walks
from modelserver.systems.language.chat_file import read_chat_file
from modelserver.systems.language.chat_requests import ItemFailed, await_in_loop, run_in_loop
from modelserver.systems.language.paid_requests import (
    InvalidReply,
    PaidRequests,
    build_response_format,
    make_invalid_reply,
    open_store,
    parse_choice,
)
from modelserver.wire.errors import BudgetSpent, ModelServerError
from modelserver.wire.schema import LanguageModel, Usage
from studyapp.simulation.bots import Bot
from studyapp.simulation.page_requests import PARTICIPANT_COOKIE, Form, Get, Post, send_request
from studyapp.simulation.page_text import ReadPage, read_text
from studyapp.simulation.pages import Page, find_completion_code, read_page

LLM = "llm"  # the behaviour
LONGEST_NAME = 120  # characters of a model's or a file's name that a link records
MOST_PAGES = 1_000  # of one walk; more are a form that comes back for ever
PROMPT = """\
You take part in a study. Below is a page of it, as text. A choice is written [field=value] label, a text or \
number to write [field], and marked words are in {braces}. Read the page, and fill its form as you judge.

Answer with one JSON object that has the fields %(fields)s, in this order. Give a field of choices one of \
its values, a field with several choices a list of them, and any other field the text or number. "" leaves \
a field empty; that is for optional questions, and for those that your other answers make needless.

The page:

%(page)s"""


class Ask(NamedTuple):
    """Ask the model to fill a page."""

    page: Page


@dataclass
class Respondent:
    """A language model that fills pages for many participants.

    Attributes:
        paid: The requests to the model, with budget and stored answers.
        name: The name of its file.
        remember: The number of earlier pages that the model sees again, with its answers to them.
        stopped: The reason why nothing more is sent, empty before.
    """

    paid: PaidRequests
    name: str
    remember: int = 0
    stopped: str = ""

    @property
    def behaviour(self) -> str:
        """Return the name under which links and exports record it."""
        file = self.paid.file
        return f"{LLM}: {file.model[:LONGEST_NAME]} ({self.name[:LONGEST_NAME]}@{file.revision})"

    @property
    def language_model(self) -> LanguageModel:
        """Return where texts go and what was spent so far."""
        return self.paid.language_model(len(PROMPT) + len(self.paid.file.system_prompt))

    async def fill(self, page: Page, who: str) -> Form:
        """Return the form of a page as the model fills it.

        An answer is stored before it is sent to the site. A participant that comes back to a page gets it
        from the store, and remembers the pages before.

        Args:
            page: The page.
            who: The pseudonym of the participant.

        Raises:
            BotError: The page cannot be read by a model, or the model gives no valid answer.
        """
        read = read_text(page.text)
        if read.images:
            raise BotError(f"{page} shows an image, which is not sent to a language model")
        if not read.controls:
            return dict(page.fields)
        earlier = self._load_earlier_pages(who)
        if earlier and earlier[-1][0] == read.text:
            return {**page.fields, **earlier[-1][1]}
        try:
            answers = await await_in_loop(self.paid.ask(self._body(read, earlier), make_reader(read)))
        except BudgetSpent as error:
            self.stopped = "the budget of the model's file allows no other request; raise it under limits"
            raise BotError(self.stopped) from error
        except (InvalidReply, ItemFailed) as error:
            raise BotError(f"{page}: {self.paid.client.clean(str(error))}") from error
        except ModelServerError as error:
            self.stopped = str(error)
            raise BotError(self.stopped) from error
        self.paid.store.put(_build_key(who, len(earlier)), json.dumps([read.text, answers]))
        return {**page.fields, **answers}

    def _load_earlier_pages(self, who: str) -> list[tuple[str, Form]]:
        """Return the pages that a participant has read, and the answers."""
        pages: list[tuple[str, Form]] = []
        while (stored := self.paid.store.get(_build_key(who, len(pages)))) is not None:
            text, answers = json.loads(stored)
            pages.append((text, answers))
        return pages

    def _body(self, read: ReadPage, earlier: Sequence[tuple[str, Form]]) -> dict[str, Any]:
        file = self.paid.file
        messages = [{"role": "system", "content": file.system_prompt}] if file.system_prompt else []
        for text, answers in earlier[-self.remember :] if self.remember else []:
            messages.append({"role": "user", "content": text})
            messages.append({"role": "assistant", "content": json.dumps(answers, ensure_ascii=False)})
        prompt = PROMPT % {"fields": ", ".join(read.controls), "page": read.text}
        messages.append({"role": "user", "content": prompt})
        return {
            "model": file.model,
            "messages": messages,
            **file.decoding,
            **build_response_format(file, build_schema(read)),
        }

    def close(self) -> None:
        """Close connections and stored answers."""
        run_in_loop(self.paid.close())


def open_respondent(path: Path, *, remember: int = 0) -> Respondent:
    """Open the language model of a system's file.

    Raises:
        UnusableSystem: The file, its key or the folder of its answers cannot be used.
    """
    file = read_chat_file(path)
    return Respondent(PaidRequests(file, open_store(path), path.stem), path.stem, remember)


def build_schema(read: ReadPage) -> dict[str, Any]:
    """Return the JSON schema of the answers to a page."""
    fields: dict[str, Any] = {}
    for name, control in read.controls.items():
        if control.several:
            fields[name] = {"type": "array", "items": {"type": "string", "enum": control.values}}
        else:
            choices = {"enum": ["", *control.values]} if control.values else {}
            fields[name] = {"type": "string", **choices}
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def make_reader(read: ReadPage) -> Callable[[Mapping[str, Any], Usage], Form]:
    """Return the function that reads a reply as the answers to a page."""

    def answers(content: Mapping[str, Any], usage: Usage) -> Form:
        text, choice = parse_choice(content)
        try:
            return parse_answers(text, read)
        except ValueError as error:
            raise make_invalid_reply(text, choice, error) from error

    return answers


def parse_answers(text: str, read: ReadPage) -> Form:
    """Return the form values of a model's JSON; empty ones are left out.

    Raises:
        ValueError: It is no JSON object of the page's fields, or a value is not offered.
    """
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    if unknown := sorted(content.keys() - read.controls.keys()):
        raise ValueError(f"there is no field {unknown[0]}")
    answers: Form = {}
    for name, control in read.controls.items():
        given = content.get(name, "")
        values = [str(value).strip() for value in (given if isinstance(given, list) else [given])]
        chosen = [value for value in values if value]
        if wrong := [value for value in chosen if control.values and value not in control.values]:
            raise ValueError(f"{name}: {wrong[0]!r} is not among {', '.join(control.values)}")
        if len(chosen) > 1 and not control.several:
            raise ValueError(f"{name}: takes one value")
        if chosen:
            answers[name] = chosen if control.several else chosen[0]
    return answers


def _build_key(who: str, number: int) -> str:
    return f"participant {who} page {number}"


def walk(bot: Bot, link: str) -> Generator[Get | Post | Ask | Think, Any, None]:
    """Walk from the entry link to the completion code. Fills in ``bot``.

    A page that the site refuses once, for an answer that is missing or out of range, is filled once more.
    """
    page, status = yield from _open(Get(bot.entry or link))
    if "yes" in page.choices.get("consent", []):
        page, status = yield from _open(Post(page.url, {**page.fields, "consent": "yes"}))
        bot.consented = True
    for _number in range(MOST_PAGES):
        if status not in (200, 422):
            raise BotError(f"{page} answered with status {status}")
        if not page.fields:
            break
        yield Think(bot.rng.uniform(0.5, 1.5))
        was_refused = status == 422
        form = yield Ask(page)
        page, status = yield from _open(Post(page.url, form))
        if status == 422 and was_refused:
            raise BotError(f"{page} refused the model's answers twice")
    bot.code = find_completion_code(page)
    bot.ended = not bot.code


def _open(step: Get | Post) -> Generator[Get | Post | Ask | Think, Any, tuple[Page, int]]:
    response = yield step
    return read_page(str(response.url), response.text), response.status_code


async def run_respondents(
    bots: Sequence[Bot],
    link: str,
    model: Respondent,
    *,
    identify: Callable[[str], Awaitable[str]],
    concurrency: int,
    think: float = 0.0,
    on_finish: Callable[[Bot], None] = lambda bot: None,
) -> None:
    """Have a language model walk through a study as all bots; see `run_walks`.

    Args:
        bots: The participants.
        link: The participation link.
        model: The language model.
        identify: Returns the pseudonym of a participant cookie.
        concurrency: The number of bots at a time.
        think: The mean pause in seconds on each page.
        on_finish: Called with each bot whose walk has ended.
    """

    async def send(bot: Bot, step: Get | Post | Ask, client: httpx.AsyncClient) -> Any:
        if model.stopped:
            raise BotError(model.stopped)
        if isinstance(step, Ask):
            who = await identify(client.cookies.get(PARTICIPANT_COOKIE) or "")
            return await model.fill(step.page, who)
        return await send_request(bot, step, client)

    await run_walks(
        bots,
        lambda bot: walk(bot, link),
        send,
        concurrency=concurrency,
        think=think,
        on_finish=on_finish,
    )

"""The real server with fake systems made of plain rules, without torch.

``FakeModelServer`` serves them from a thread for tests; ``python -m modelserver.serving.fake_server`` as
a process.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Self

from modelserver.serving.fake_modular_system import FakeModularSystem
from modelserver.serving.lifecycle import bind, format_url, run, serve
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.model_cache import AvailableSystem, Loader, Source
from modelserver.serving.service import ServerLimits, Service
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import InvalidRequest, ModelServerError, PredictionFailed
from modelserver.wire.schema import (
    AnswerLocation,
    AnswerType,
    Fact,
    FactProbability,
    ProgramKind,
    QAItem,
    QAPrediction,
)
from modelserver.wire.system_protocol import Served

FAILS = "[[fail]]"
INVALID = "[[invalid]]"

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[A-Z]\w*(?: [A-Z]\w*)*|\d+")
_YES_NO = frozenset({"is", "are", "was", "were", "do", "does", "did", "has", "have", "can"})
_COMMON = _YES_NO | frozenset(
    {"a", "an", "and", "by", "for", "from", "in", "of", "on", "or", "that", "the", "to", "with"}
    | {"what", "when", "where", "which", "who"}
)


class FakeSystem:
    """Rules instead of a model: deterministic, each item answered on its own.

    A fact's probability is the share of the question's content words that its title and sentence hold;
    facts above ``threshold`` are relevant. A question that opens with a verb such as "is" or "did" is
    answered yes when facts of at least two articles are relevant, else no. Any other is answered with the
    longest capitalised name, or number, of the most probable fact that has one the question does not hold,
    whether that fact is relevant or not. A system with the part "lm" in its name quotes its facts as a
    rationale.

    A question with ``[[fail]]`` in it breaks ``predict`` and one with ``[[invalid]]`` does not pass
    ``check``, for tests of what follows.
    """

    description = "Word overlap and capital letters; for tests"

    def __init__(self, name: str = "fake", *, threshold: float = 0.4) -> None:
        self.name = name
        self.threshold = threshold
        self._explains = "lm" in name.split("-")
        self.revision = hashlib.sha256(f"1 {name} {threshold}".encode()).hexdigest()[:12]

    def cost(self, item: QAItem) -> int:
        """Return the number of words in question and context."""
        return len(_WORD.findall(item.question)) + sum(
            len(_WORD.findall(sentence)) for _, sentences in item.context for sentence in sentences
        )

    def check(self, item: QAItem) -> None:
        """Raise InvalidRequest for a question with ``[[invalid]]`` in it."""
        if INVALID in item.question:
            raise InvalidRequest(f"the question holds {INVALID}", field="question")

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        """Answer each item."""
        return [self._predict_one(item) for item in items]

    def _predict_one(self, item: QAItem) -> QAPrediction:
        if FAILS in item.question:
            raise PredictionFailed(f"the question holds {FAILS}")
        wanted = _find_content_words(item.question)
        texts = {
            (title, index): sentence
            for title, sentences in item.context
            for index, sentence in enumerate(sentences)
        }
        probabilities = {fact: _compute_share(wanted, f"{fact[0]} {text}") for fact, text in texts.items()}
        ranked = sorted(probabilities, key=lambda fact: -probabilities[fact])
        relevant = [fact for fact in ranked if probabilities[fact] > self.threshold]
        answer, kind, location = _choose_answer(item.question, ranked, relevant, texts)
        return QAPrediction(
            id=item.id,
            answer=answer,
            type=kind,
            location=location,
            facts=relevant,
            fact_probabilities=[
                FactProbability(title=title, index=index, probability=p)
                for (title, index), p in probabilities.items()
            ],
            threshold=self.threshold,
            rationale=" ".join(texts[fact].strip() for fact in relevant) if self._explains else None,
        )


def _find_content_words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _COMMON


def _compute_share(wanted: set[str], text: str) -> float:
    return len(wanted & _find_content_words(text)) / len(wanted) if wanted else 0.0


def _choose_answer(
    question: str, ranked: Sequence[Fact], relevant: Sequence[Fact], texts: dict[Fact, str]
) -> tuple[str, AnswerType, AnswerLocation | None]:
    opening = _WORD.match(question)
    if opening and opening[0].lower() in _YES_NO:
        kind: AnswerType = "yes" if len({title for title, _ in relevant}) > 1 else "no"
        return kind, kind, None
    for fact in ranked:
        names = [match for match in _NAME.finditer(texts[fact]) if match[0] not in question]
        if names:
            longest = max(names, key=lambda match: len(match[0]))
            where = AnswerLocation(first=fact, last=fact, start=longest.start(), end=longest.end())
            return longest[0], "span", where
    return "", "span", None


def _return_unchanged(system: Served) -> Served:
    return system


class FakeModelServer:
    """The real application with fake systems, in a thread of this process.

    It listens on a free loopback port, starts at once and ends with ``close`` or with the process. With
    ``ready=False`` the constructor does not wait until the systems are loaded. ``systems`` defaults to
    one FakeSystem named "fake", ``sources`` are served beside them, and ``preload`` and ``memory`` are
    those of Service::

        with FakeModelServer(FakeSystem("qi2019")) as server, server.client() as client:
            client.predict("qi2019", items)
    """

    def __init__(
        self,
        *systems: Served,
        token: str | None = None,
        limits: ServerLimits | None = None,
        ready: bool = True,
        preload: bool = True,
        memory: int | None = None,
        sources: Mapping[str, Source] | None = None,
    ) -> None:
        loaders: dict[str, Source | Loader] = dict(sources or {})
        for system in systems or (FakeSystem(),):
            loaders[system.name] = partial(_return_unchanged, system)
        self._token = token
        self.service = Service(loaders, limits=limits, token=token, preload=preload, memory=memory)
        self._listener = bind("127.0.0.1", 0)
        self.url = format_url(self._listener)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="fake", daemon=True)
        self._thread.start()
        if ready:
            with self.client() as client:
                client.wait_ready(10.0)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await serve(self.service, self._listener, stop=self._stop)

    def client(self, *, retry: Retry | None = None, timeout: float = 30.0) -> ModelClient:
        """Return a client of this server, by default one without retries."""
        return ModelClient(self.url, token=self._token, timeout=timeout, retry=retry or Retry(total=0))

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Answer 503 to every prediction within the block."""
        self.service.state = "draining"
        try:
            yield
        finally:
            self.service.state = "ready"

    def close(self) -> None:
        """End the server as SIGTERM does: finish and answer queued work first."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
        self.service.threads.stop(within=1.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


# The kind of programs of a network by the first part of its name; others execute both.
PROGRAMS: dict[str, ProgramKind] = {"visual": "boxes", "text": "spans"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve fake systems as a process."""
    parser = argparse.ArgumentParser(
        prog="python -m modelserver.serving.fake_server", description=main.__doc__
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8100, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--systems", default="fake", help="comma-separated readers (default: %(default)s)")
    parser.add_argument("--modular", default="", metavar="NAMES", help="modular networks, comma-separated")
    options = parser.parse_args(arguments)
    log_to_stderr("info")
    sources: dict[str, Source | Loader] = {
        name: partial(FakeSystem, name) for name in options.systems.split(",")
    }
    for name in filter(None, options.modular.split(",")):
        programs = PROGRAMS.get(name.partition("-")[0])
        about = AvailableSystem(kind="modular", programs=programs)
        sources[name] = Source(partial(FakeModularSystem, name), about)
    try:
        return run(Service(sources), bind(options.host, options.port), drain_seconds=30.0)
    except ModelServerError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())

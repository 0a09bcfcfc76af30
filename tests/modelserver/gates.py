"""A system that computes only when a test opens its gate.

Tests thereby decide which items wait together.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

import httpx

from modelserver.serving.fake_server import FakeSystem
from modelserver.wire.schema import QAItem, QAPrediction


def item(name: str, *, words: int = 4, question: str = "Who founded the band?") -> QAItem:
    """Return a question of 4 words, with ``words`` words of context."""
    return QAItem(id=name, question=question, context=[("Title", ["word " * words])])


def waiting(url: str) -> int:
    """Return the number of waiting items, as the server counts them."""
    text = httpx.get(f"{url}/metrics", trust_env=False).text
    return int(float(re.findall(r"^modelserver_queue_items (\S+)$", text, re.MULTILINE)[0]))


class GatedSystem(FakeSystem):
    """Records the ids of every batch, and computes it once the gate is open."""

    def __init__(self, name: str = "gated") -> None:
        super().__init__(name)
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.batches: list[list[str]] = []

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        if [question.id for question in items] == ["warm-up"]:
            return super().predict(items)
        self.batches.append([question.id for question in items])
        self.entered.set()
        assert self.gate.wait(20)
        return super().predict(items)

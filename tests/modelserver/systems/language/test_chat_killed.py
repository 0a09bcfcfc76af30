"""A run that is killed again and again pays no stored answer twice."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from modelserver.systems.language.chat_file import read_chat_file
from tests.fake_openai import FakeOpenAI

ITEMS, KILLS, CONCURRENCY = 1_000, 10, 8
RUN = """
import sys
from pathlib import Path
from modelserver.systems.language.chat import open_chat
from modelserver.wire.schema import QAItem
system = open_chat(Path(sys.argv[1]), "killed")
numbers = range(int(sys.argv[2]))
items = [QAItem(id=str(n), question=f"Question {n}?", context=[("A", [f"Sentence {n}."])]) for n in numbers]
assert len(system.predict(items)) == len(items)
"""


def test_no_stored_answer_is_requested_again(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    with FakeOpenAI(delay=0.01) as server:
        path.write_text(f"url: {server.url}\nmodel: fake\nlimits: {{concurrency: {CONCURRENCY}}}\n")
        assert read_chat_file(path).limits.concurrency == CONCURRENCY
        stored: list[tuple[int, set[str]]] = []
        for kill in range(1, KILLS + 1):
            with subprocess.Popen([sys.executable, "-c", RUN, str(path), str(ITEMS)]) as process:
                _wait_for(server, kill * ITEMS // (KILLS + 1))
                process.kill()
            stored.append((len(server.requests), digests(tmp_path)))
        subprocess.run([sys.executable, "-c", RUN, str(path), str(ITEMS)], check=True)

        times = Counter(str(body["messages"]) for body in server.requests)
        assert len(times) == ITEMS
        assert len(server.requests) - ITEMS <= KILLS * CONCURRENCY
        requested = [sha256(json.dumps([server.url, body]).encode()).hexdigest() for body in server.requests]
        assert all(before.isdisjoint(requested[count:]) for count, before in stored)
    assert digests(tmp_path) == set(requested)


def digests(folder: Path) -> set[str]:
    """Return the digests of the requests whose answers are stored."""
    with closing(sqlite3.connect(folder / "model.answers.sqlite3")) as rows:
        return {digest for (digest,) in rows.execute("SELECT digest FROM answers")}


def _wait_for(server: FakeOpenAI, count: int) -> None:
    end = time.monotonic() + 60
    while len(server.requests) < count:
        assert time.monotonic() < end, f"{len(server.requests)} of {count} requests arrived"
        time.sleep(0.005)

"""Measure ``chat`` against a bare asynchronous client.

Run ``python -m benchmarks.chat_client``. Both send the same kind of requests, 32 at a time, to a real local
server: `transformers serve` on the shipped ``world-lm``, or that of ``--url`` and ``--model``. They take
turns, and every question is asked once, so that nobody profits from a cache. Bar: ``chat``, which checks and
stores every answer, gets at least 0.9 of the requests per second of the bare client (median of the turns).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import yaml

from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import WEIGHTS
from modelserver.systems.language.chat import ChatSystem, open_chat
from modelserver.systems.language.questions import build_prompt
from modelserver.wire.schema import QAItem, QAPrediction
from modelserver.world import generate
from scripts.processes import free_port

BAR = 0.9
AT_ONCE = 32
SEED = 47
STARTS_WITHIN = 180.0  # seconds


@contextmanager
def served_world_lm() -> Iterator[str]:
    """Serve the shipped language model; yield the address."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(WEIGHTS / "world-lm")]
    with subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, "HF_HUB_OFFLINE": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(address).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    raise RuntimeError(f"{address} did not answer within {STARTS_WITHIN:g} s")


def timed_chat(system: ChatSystem, items: Sequence[QAItem]) -> float:
    """Return the questions that ``chat`` answers per second."""
    outcomes = {True: 0, False: 0}
    started = time.perf_counter()
    for outcome in system.predict(items):
        outcomes[isinstance(outcome, QAPrediction)] += 1
    seconds = time.perf_counter() - started
    if outcomes[False] * 20 > len(items):  # their retries would have to be counted
        raise RuntimeError(f"{outcomes[False]} of {len(items)} answers were not valid")
    return len(items) / seconds


async def timed_bare(system: ChatSystem, items: Sequence[QAItem]) -> float:
    """Return the requests per second of a client that reads replies."""
    file, slots = system.file, asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(timeout=600, trust_env=False) as client:

        async def ask(item: QAItem) -> None:
            prompt = build_prompt(file.prompt, item, file.order, file.numbers)
            body = {"model": file.model, "messages": [{"role": "user", "content": prompt}], **file.decoding}
            async with slots:
                reply = await client.post(f"{file.url}/chat/completions", json=body)
            reply.raise_for_status()
            reply.json()

        started = time.perf_counter()
        await asyncio.gather(*map(ask, items))
    return len(items) / (time.perf_counter() - started)


def measure(url: str, model: str, turns: int, requests: int) -> list[tuple[float, float]]:
    """Return the rates of ``chat`` and of the bare client by turn."""
    settings = yaml.safe_load((WEIGHTS / "world-lm" / "system.yaml").read_text("utf-8"))
    settings |= {"url": url, "model": model, "decoding": {"temperature": 0, "max_tokens": 320}}
    settings |= {"structured": "none", "logprobs": False}
    settings |= {"limits": {"concurrency": AT_ONCE, "timeout": 600}}
    asked = [one.item for one in parse_gold(generate("test", 2 * turns * requests, SEED), "world")]
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(json.dumps(settings), "utf-8")
        system = open_chat(path, "model")
        for turn in range(turns):
            mine, bare = (asked[(2 * turn + side) * requests :][:requests] for side in (0, 1))
            if turn % 2:
                last = asyncio.run(timed_bare(system, bare))
                rates.append((timed_chat(system, mine), last))
            else:
                first = timed_chat(system, mine)
                rates.append((first, asyncio.run(timed_bare(system, bare))))
            print(f"turn {turn + 1}: chat {rates[-1][0]:.2f}/s, bare {rates[-1][1]:.2f}/s", flush=True)
        system.unload()
    return rates


def main() -> int:
    """Print the rates, and their ratio against the bar."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chat_client", description=main.__doc__)
    parser.add_argument("--url", help="a running server (default: start one on world-lm)")
    parser.add_argument("--model", help="its model's name")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--requests", type=int, default=64, help="in each turn (default: %(default)s)")
    options = parser.parse_args()
    amount = (options.turns, options.requests)
    if options.url:
        rates = measure(options.url, options.model, *amount)
    else:
        with served_world_lm() as url:
            rates = measure(url, str(WEIGHTS / "world-lm"), *amount)
    ratio = statistics.median(mine / bare for mine, bare in rates)
    print(f"{AT_ONCE} at a time: chat gets {ratio:.2f} of the bare client (bar {BAR})")
    return int(ratio < BAR)


if __name__ == "__main__":
    sys.exit(main())

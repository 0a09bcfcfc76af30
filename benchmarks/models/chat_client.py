"""Measure ``chat`` against a bare asynchronous client.

Run ``python -m benchmarks.models.chat_client``. Both send the same kind of requests, 32 at a time, to a real
local server: `transformers serve` on the shipped ``world-lm``, or that of ``--url`` and ``--model``. They
take turns, and every question is asked once, so that nobody profits from a cache. Bar: ``chat``, which checks
and stores every answer, gets at least 0.9 of the requests per second of the bare client (median of the
turns).

Other work on the machine scatters these rates, because the server takes nearly all of the processor. With
``--delay`` a process answers in its stead, each request after so many seconds with the same answer, which
leaves the clients alone to be measured: rates, and the processor time that they need for a request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import yaml

from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import WEIGHTS
from modelserver.systems.language.chat import ChatSystem, open_chat
from modelserver.systems.language.questions import build_prompt
from modelserver.wire.schema import QAItem, QAPrediction
from modelserver.world import generate
from scripts.sites.processes import free_port

BAR = 0.9
AT_ONCE = 32
SEED = 47
STARTS_WITHIN = 180.0  # seconds


class Turn(NamedTuple):
    """The rate and the effort of one client in a turn.

    Attributes:
        rate: Requests per second.
        processor: Processor time of this process for a request (ms).
    """

    rate: float
    processor: float


@contextmanager
def start_waiting_server(delay: float) -> Iterator[str]:
    """Serve one answer from another process; yield the address."""
    here = [
        sys.executable,
        "-c",
        f"from benchmarks.models.chat_client import serve_after; serve_after({delay})",
    ]
    with subprocess.Popen(here, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def serve_after(delay: float) -> None:
    """Answer every request after a delay (s) on a free port, and print it."""
    answer = {"rationale": "It says so.", "facts": [1, 2], "type": "span", "answer": "Rolham"}
    message = {"role": "assistant", "content": json.dumps(answer)}
    usage = {"prompt_tokens": 900, "completion_tokens": 60, "total_tokens": 960}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"

    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", asked, re.IGNORECASE)
                await reader.readexactly(int(length[1]) if length else 0)
                await asyncio.sleep(delay)
                writer.write(head.encode() + body)
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer_all, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(serve())


@contextmanager
def serve_world_lm() -> Iterator[str]:
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


def time_chat(system: ChatSystem, items: Sequence[QAItem]) -> Turn:
    """Measure ``chat`` on some questions."""
    started = time.perf_counter(), time.process_time()
    outcomes = system.predict(items)
    turn = _compute_turn(started, len(items))
    failed = sum(not isinstance(outcome, QAPrediction) for outcome in outcomes)
    if failed * 20 > len(items):  # their retries would have to be counted
        raise RuntimeError(f"{failed} of {len(items)} answers were not valid")
    return turn


def _compute_turn(started: tuple[float, float], requests: int) -> Turn:
    seconds, processor = time.perf_counter() - started[0], time.process_time() - started[1]
    return Turn(requests / seconds, 1_000 * processor / requests)


async def time_bare_client(system: ChatSystem, items: Sequence[QAItem]) -> Turn:
    """Measure a client that reads replies and does no more."""
    file, slots = system.file, asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(timeout=600, trust_env=False) as client:

        async def ask(item: QAItem) -> None:
            prompt = build_prompt(file.prompt, item, file.order, file.numbers)
            body = {"model": file.model, "messages": [{"role": "user", "content": prompt}], **file.decoding}
            async with slots:
                reply = await client.post(f"{file.url}/chat/completions", json=body)
            reply.raise_for_status()
            reply.json()

        started = time.perf_counter(), time.process_time()
        await asyncio.gather(*map(ask, items))
        return _compute_turn(started, len(items))


def measure(url: str, model: str, turns: int, requests: int) -> list[tuple[Turn, Turn]]:
    """Return what ``chat`` and the bare client needed, by turn."""
    settings = yaml.safe_load((WEIGHTS / "world-lm" / "system.yaml").read_text("utf-8"))
    settings |= {"url": url, "model": model, "decoding": {"temperature": 0, "max_tokens": 320}}
    settings |= {"structured": "none", "logprobs": False}
    settings |= {"limits": {"concurrency": AT_ONCE, "timeout": 600}}
    asked = [example.item for example in parse_gold(generate("test", 2 * turns * requests, SEED), "world")]
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(json.dumps(settings), "utf-8")
        system = open_chat(path, "model")
        for turn in range(turns):
            mine, bare = (asked[(2 * turn + side) * requests :][:requests] for side in (0, 1))
            if turn % 2:
                last = asyncio.run(time_bare_client(system, bare))
                taken.append((time_chat(system, mine), last))
            else:
                first = time_chat(system, mine)
                taken.append((first, asyncio.run(time_bare_client(system, bare))))
            shown = (
                f"{name} {figures.rate:.2f}/s, {figures.processor:.2f} ms of processor a request"
                for name, figures in zip(("chat", "bare"), taken[-1], strict=True)
            )
            print(f"turn {turn + 1}: {'; '.join(shown)}", flush=True)
        system.unload()
    return taken


def main() -> int:
    """Print the rates, and their ratio against the bar."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.chat_client", description=main.__doc__)
    parser.add_argument("--url", help="a running server (default: start one on world-lm)")
    parser.add_argument("--model", help="its model's name")
    parser.add_argument("--delay", type=float, help="seconds of a server that only waits, in its stead")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--requests", type=int, default=64, help="in each turn (default: %(default)s)")
    options = parser.parse_args()
    amount = (options.turns, options.requests)
    if options.url:
        taken = measure(options.url, options.model, *amount)
    else:
        with serve_world_lm() if options.delay is None else start_waiting_server(options.delay) as url:
            taken = measure(url, str(WEIGHTS / "world-lm"), *amount)
    ratio = statistics.median(mine.rate / bare.rate for mine, bare in taken)
    more = statistics.median(mine.processor - bare.processor for mine, bare in taken)
    print(f"{AT_ONCE} at a time: chat gets {ratio:.2f} of the bare client (bar {BAR}),")
    print(f"and needs {more:.2f} ms of processor more for a request")
    return int(ratio < BAR)


if __name__ == "__main__":
    sys.exit(main())

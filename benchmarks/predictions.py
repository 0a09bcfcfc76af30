"""Predictions a second of the model server: one by one, batched, and beside the bare batched forward.

``python -m benchmarks.predictions`` starts a real server process on a free port and asks it over HTTP.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from modelserver.batching import BatchLimits, Predictor, plan
from modelserver.client import ModelClient
from modelserver.errors import Unavailable
from modelserver.fake import FakeSystem
from modelserver.schema import ItemError, QAItem

ROOT = Path(__file__).resolve().parent.parent
PER_REQUEST = 32
CLIENTS = 16


@dataclass(frozen=True)
class Running:
    """A server process, where it listens, and the file of its log lines."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path


@contextlib.contextmanager
def running(*command: str, **environment: str) -> Iterator[Running]:
    """Run ``python -m COMMAND`` from when it is ready until the block ends.

    Its first log line must say where it listens. Raises RuntimeError with what the process wrote when it
    ends instead.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *command], stderr=file, cwd=ROOT, env=os.environ | environment
            )
        try:
            url = _started(process, log)
            yield Running(process, url, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _started(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the server is ready, and return its URL."""
    while True:
        ended = process.poll() is not None
        written = log.read_text(encoding="utf-8")
        if ended:
            raise RuntimeError(f"the server ended with status {process.returncode}: {written}")
        if "\n" in written:
            url: str = json.loads(written.partition("\n")[0])["url"]
            with contextlib.suppress(Unavailable), ModelClient(url) as client:
                client.wait_ready(0)
                return url
        time.sleep(0.02)


def questions(count: int, seed: int = 0) -> list[QAItem]:
    """Return questions of the size of the generated text world: 8 articles of 2 or 3 short sentences."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghilmnoprstu", k=rng.randint(2, 9))) for _ in range(2_000)]

    def sentence() -> str:
        return " ".join(rng.choices(words, k=rng.randint(6, 12))).capitalize() + "."

    return [
        QAItem(
            id=f"q{number}",
            question=sentence()[:-1] + "?",
            context=[(words[i], [sentence() for _ in range(rng.randint(2, 3))]) for i in range(8)],
        )
        for number in range(count)
    ]


@dataclass(frozen=True)
class Rate:
    """Predictions a second of one way of asking, and the median latency of its requests."""

    way: str
    predictions: int
    per_second: float
    median_ms: float


def measure(way: str, ask: Callable[[Sequence[QAItem]], None], *, items: Sequence[QAItem], size: int,
            callers: int, seconds: float) -> Rate:  # fmt: skip
    """Let ``callers`` threads ask for ``size`` items a time, over and over, for about ``seconds``."""
    requests = _chunks(items, size)

    def caller(offset: int) -> list[float]:
        times: list[float] = []
        for request in itertools.islice(itertools.cycle(requests), offset, None):
            if time.perf_counter() >= end:
                return times
            started = time.perf_counter()
            ask(request)
            times.append(time.perf_counter() - started)
        return times

    ask(requests[0])
    started = time.perf_counter()
    end = started + seconds
    with ThreadPoolExecutor(callers) as pool:
        times = sorted(itertools.chain.from_iterable(pool.map(caller, range(callers))))
    done = len(times) * size
    return Rate(way, done, done / (time.perf_counter() - started), 1000 * times[len(times) // 2])


def _chunks(items: Sequence[QAItem], size: int) -> list[list[QAItem]]:
    """Cut into requests of exactly ``size`` items."""
    return [list(items[start : start + size]) for start in range(0, len(items) - size + 1, size)]


def bare(system: Predictor, items: Sequence[QAItem]) -> None:
    """The same work without a server: planned into batches and predicted in this process."""
    for positions in plan([system.cost(item) for item in items], BatchLimits()):
        system.predict([items[position] for position in positions])


def over_http(client: ModelClient, system: str, items: Sequence[QAItem]) -> None:
    """Ask the server, and fail on any item that it did not predict."""
    for outcome in client.predict(system, items).predictions:
        if isinstance(outcome, ItemError):
            raise RuntimeError(outcome.message)


def benchmark(name: str, weights: Path | None, seconds: float) -> list[Rate]:
    """Measure every way of asking for ``seconds`` each."""
    items = questions(512)
    fake = name == "fake"
    chosen = f"{name}={weights}" if weights else name
    command = ["modelserver.fake"] if fake else ["modelserver", "serve", "--systems", chosen]
    with (
        running(*command, "--port", "0", OMP_NUM_THREADS=os.environ["OMP_NUM_THREADS"]) as server,
        ModelClient(server.url) as client,
    ):
        ask = partial(over_http, client, name)
        time_ = partial(measure, ask=ask, items=items, seconds=seconds)
        rates = [
            time_("one by one", size=1, callers=1),
            time_(f"{PER_REQUEST} items a request", size=PER_REQUEST, callers=1),
            time_(f"{CLIENTS} clients, one item a request", size=1, callers=CLIENTS),
        ]
    ask = partial(bare, FakeSystem() if fake else _loaded(name, weights))
    return [
        *rates,
        measure("bare, one by one", ask, items=items, size=1, callers=1, seconds=seconds),
        measure(
            f"bare, batches of {PER_REQUEST}", ask, items=items, size=PER_REQUEST, callers=1, seconds=seconds
        ),
    ]


def _loaded(name: str, weights: Path | None) -> Predictor:
    from modelserver.systems import load_system  # imports torch, which reads OMP_NUM_THREADS only then

    return load_system(name, weights=weights)


def ratios(rates: Sequence[Rate]) -> dict[str, float]:
    """Return the figures to judge by: what batching gains, and what serving costs."""
    single, request, clients, bare_single, bare_batch = (rate.per_second for rate in rates)
    return {
        "32 items a request / one by one": request / single,
        "16 clients / one by one": clients / single,
        "served / bare, 32 items a request": request / bare_batch,
        "served / bare, one by one": single / bare_single,
    }


def main() -> int:
    """Print the table, or with --json the same as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.predictions", description=main.__doc__)
    parser.add_argument("--system", default="qi2019", help="served system, or fake (default: %(default)s)")
    parser.add_argument("--weights", type=Path, help="folder of weights (default: those shipped)")
    parser.add_argument("--seconds", type=float, default=6.0, help="for each way (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of torch (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    rates = benchmark(options.system, options.weights, options.seconds)
    if options.json:
        print(json.dumps({"system": options.system, "rates": [*map(asdict, rates)], "ratios": ratios(rates)}))
        return 0
    print(f"{options.system}, {options.threads} CPU thread(s), {len(os.sched_getaffinity(0))} cores\n")
    print(f"{'way of asking':<36} {'predictions/s':>13} {'median ms':>10}")
    for rate in rates:
        print(f"{rate.way:<36} {rate.per_second:>13.1f} {rate.median_ms:>10.1f}")
    print()
    for what, ratio in ratios(rates).items():
        print(f"{what:<36} {ratio:>13.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measure predictions a second and latency of the model server.

The bare forward pass is measured beside it.

``python -m benchmarks.models.predictions`` starts a real server process on a free port and asks it over HTTP.
The bare forward is the same work in this process, planned into batches as the server plans them, on as many
threads as the server has model processes. These are all cores but one by default, which is left for clients
and HTTP.

Bars: 32 clients get at least 0.85 of the throughput of the bare batched forward, and one client waits for the
median answer at most 1.3 times as long as for the bare single forward, plus 3 ms. The ways take turns, and a
bar is judged by the median over the turns. On a busy machine a ratio by the clock says little; the processor
time of a prediction, in the server and in this process, stands beside it. ``--device cuda --half`` measures
both on a GPU, in mixed precision.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path

from modelserver.inputs.packing import BatchLimits, plan_batches
from modelserver.serving.fake_server import FakeSystem
from modelserver.wire.client import ModelClient
from modelserver.wire.errors import Unavailable
from modelserver.wire.schema import ItemError, QAItem
from modelserver.wire.system_protocol import Predictor

ROOT = Path(__file__).resolve().parents[2]
PER_REQUEST = 32
CLIENTS = 32
THROUGHPUT = 0.85  # of the bare batched forward
TURN_SECONDS = 4.0
RAMP_SECONDS = 0.7
FIGURES = ("per_second", "median_ms", "server", "here")  # of a turn
LATENCY, MORE_MS = 1.3, 3.0  # times the bare single forward, and milliseconds on top


@dataclass(frozen=True)
class Running:
    """A server process, where it listens, and the file of its log lines."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path


@contextlib.contextmanager
def run_server(*command: str, **environment: str) -> Iterator[Running]:
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
            url = _wait_for_server(process, log)
            yield Running(process, url, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_server(process: subprocess.Popen[bytes], log: Path) -> str:
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


def make_questions(count: int, seed: int = 0) -> list[QAItem]:
    """Return questions with 8 articles of 2 or 3 short sentences."""
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
class Way:
    """A way of asking: ``callers`` threads with ``size`` items each."""

    name: str
    ask: Callable[[Sequence[QAItem]], None]
    size: int
    callers: int = 1


@dataclass(frozen=True)
class Turn:
    """Some seconds of one way of asking: its rate, and times in milliseconds.

    ``here`` and ``server`` are the processor time of a prediction in this process and in the server's: other
    work on the machine changes them less than what the clock says.
    """

    per_second: float
    median_ms: float
    here: float
    server: float


@dataclass(frozen=True)
class Rate:
    """One way of asking, turn by turn; its figures are the medians."""

    way: str
    predictions: int
    turns: tuple[Turn, ...]

    def median(self, figure: Callable[[Turn], float]) -> float:
        """Return the median of a figure over the turns."""
        return statistics.median(map(figure, self.turns))


def measure(
    ways: Sequence[Way], items: Sequence[QAItem], *, seconds: float, server: Callable[[], float]
) -> list[Rate]:
    """Ask in each way for about ``seconds``.

    The ways take turns, some seconds at a time: other work on the machine then slows all of them alike, and
    their ratios hold.
    """
    count = max(1, round(seconds / TURN_SECONDS))
    turns: dict[str, list[Turn]] = {way.name: [] for way in ways}
    answered = dict.fromkeys(turns, 0)
    for way in ways:
        way.ask(items[: way.size])
    for number in range(count):
        for way in ways:
            here, there = time.process_time(), server()
            latencies, asked = _measure_turn(
                way, _split_into_requests(items, way.size), number, seconds / count
            )
            answered[way.name] += way.size * len(latencies)
            turns[way.name].append(
                Turn(
                    per_second=way.size * len(latencies) * count / seconds,
                    median_ms=1000 * statistics.median(latencies),
                    here=1000 * (time.process_time() - here) / (way.size * asked),
                    server=1000 * (server() - there) / (way.size * asked),
                )
            )
    return [Rate(way.name, answered[way.name], tuple(turns[way.name])) for way in ways]


def read_processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process and its children (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    started = [first.read_text(encoding="ascii") for first in Path(f"/proc/{pid}/task").glob("*/children")]
    return own + sum(read_processor_seconds(int(child)) for line in started for child in line.split())


def _measure_turn(
    way: Way, requests: list[list[QAItem]], turn: int, seconds: float
) -> tuple[list[float], int]:
    """Ask for some seconds; return the latency of each request.

    Connections and a queue build up before, and the last answers, which no further request keeps company,
    come after: both are left out. The number beside the latencies is of all requests.
    """
    begin = time.perf_counter() + RAMP_SECONDS
    end = begin + seconds

    def caller(number: int) -> tuple[list[float], int]:
        figures: list[float] = []
        count = 0
        for request in itertools.islice(itertools.cycle(requests), 7 * turn + number, None):
            asked = time.perf_counter()
            if asked >= end:
                break
            way.ask(request)
            answered = time.perf_counter()
            count += 1
            if begin <= answered < end:
                figures.append(answered - asked)
        return figures, count

    with ThreadPoolExecutor(way.callers) as pool:
        latencies, counts = zip(*pool.map(caller, range(way.callers)), strict=True)
    return list(itertools.chain.from_iterable(latencies)), sum(counts)


def _split_into_requests(items: Sequence[QAItem], size: int) -> list[list[QAItem]]:
    """Cut into requests of exactly ``size`` items."""
    return [list(items[start : start + size]) for start in range(0, len(items) - size + 1, size)]


def predict_here(system: Predictor, items: Sequence[QAItem]) -> None:
    """Predict the same batches in this process."""
    for positions in plan_batches([system.cost(item) for item in items], BatchLimits()):
        system.predict([items[position] for position in positions])


def predict_over_http(client: ModelClient, system: str, items: Sequence[QAItem]) -> None:
    """Ask the server, and fail on any item that it did not predict."""
    for outcome in client.predict(system, items).predictions:
        if isinstance(outcome, ItemError):
            raise RuntimeError(outcome.message)


def benchmark(
    name: str,
    weights: Path | None,
    *,
    processes: int,
    seconds: float,
    device: str = "cpu",
    half: bool = False,
) -> list[Rate]:
    """Measure every way of asking for ``seconds`` each."""
    items = make_questions(512)
    fake = name == "fake"
    chosen = f"{name}={weights}" if weights else name
    hardware = ["--device", device, *(["--half"] if half else [])]
    served = ["modelserver", "serve", "--systems", chosen, "--processes", str(processes), *hardware]
    command = ["modelserver.serving.fake_server"] if fake else served
    without = (
        partial(predict_here, FakeSystem()) if fake else _load_bare_predictor(name, weights, device, half)
    )
    with run_server(*command, "--port", "0") as server, ModelClient(server.url) as client:
        ask = partial(predict_over_http, client, name)
        ways = (
            Way("one by one", ask, size=1),
            Way(f"{PER_REQUEST} items a request", ask, size=PER_REQUEST),
            Way(f"{CLIENTS} clients, one item a request", ask, size=1, callers=CLIENTS),
            Way("without a server, one by one", without, size=1),
            Way(f"without a server, batches of {PER_REQUEST}", without, size=PER_REQUEST, callers=processes),
        )
        used = partial(read_processor_seconds, server.process.pid)
        return measure(ways, items, seconds=seconds, server=used)


def _load_bare_predictor(
    name: str, weights: Path | None, device: str, half: bool
) -> Callable[[Sequence[QAItem]], None]:
    # These import torch, which reads OMP_NUM_THREADS only then.
    from modelserver.registry import load_system
    from modelserver.serving.loading import use_half_precision

    system = load_system(name, weights=weights, device=device)

    def ask(items: Sequence[QAItem]) -> None:
        with use_half_precision(device) if half else contextlib.nullcontext():
            predict_here(system, items)

    return ask


def _describe_hardware(device: str) -> str:
    if not device.startswith("cuda"):
        return f"{len(os.sched_getaffinity(0))} cores"
    import torch

    return torch.cuda.get_device_name(device)


def compute_ratios(rates: Sequence[Rate]) -> dict[str, float]:
    """Return the gain of batching and the cost of serving (medians)."""
    single, request, clients, bare_single, bare_batch = rates
    return {
        "32 items a request / one by one": _ratio(request, single),
        f"{CLIENTS} clients / one by one": _ratio(clients, single),
        "served / bare, 32 items a request": _ratio(request, bare_batch),
        "served / bare, one by one": _ratio(single, bare_single),
        f"served / bare batched, {CLIENTS} clients": _ratio(clients, bare_batch),
    }


def _ratio(first: Rate, other: Rate) -> float:
    pairs = zip(first.turns, other.turns, strict=True)
    return statistics.median(turn.per_second / beside.per_second for turn, beside in pairs)


def check_bars(rates: Sequence[Rate]) -> dict[str, bool]:
    """Return messages on the bars, and if all were met."""
    single, _, clients, bare_single, bare_batch = rates
    share = _ratio(clients, bare_batch)
    pairs = zip(single.turns, bare_single.turns, strict=True)
    more = statistics.median(served.median_ms - LATENCY * bare.median_ms for served, bare in pairs)
    return {
        f"{CLIENTS} clients get {share:.2f} of the bare batched throughput, bar {THROUGHPUT:g}": share
        >= THROUGHPUT,
        f"one client: {LATENCY:g} times the bare median {more:+.1f} ms, bar {MORE_MS:+g} ms": more <= MORE_MS,
    }


def main() -> int:
    """Print the table, or JSON with --json; return 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.predictions", description=main.__doc__)
    parser.add_argument("--system", default="qi2019", help="served system, or fake (default: %(default)s)")
    parser.add_argument("--weights", type=Path, help="folder of weights (default: those shipped)")
    parser.add_argument("--seconds", type=float, default=12.0, help="for each way (default: %(default)s)")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--processes", type=int, default=max(1, cores - 1), help="model processes (default: %(default)s)"
    )
    parser.add_argument("--device", default="cpu", help="of the models (default: %(default)s)")
    parser.add_argument("--half", action="store_true", help="mixed precision, on a GPU only")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    rates = benchmark(
        options.system,
        options.weights,
        processes=options.processes,
        seconds=options.seconds,
        device=options.device,
        half=options.half,
    )
    met = check_bars(rates)
    if options.json:
        figures = [asdict(rate) | {name: rate.median(attrgetter(name)) for name in FIGURES} for rate in rates]
        print(
            json.dumps(
                {
                    "system": options.system,
                    "hardware": _describe_hardware(options.device),
                    "rates": figures,
                    "ratios": compute_ratios(rates),
                    "bars": met,
                }
            )
        )
        return 0 if all(met.values()) else 1
    print(
        f"{options.system}, {_describe_hardware(options.device)}, {options.processes} model process(es), "
        "and as many threads without a server\n"
    )
    print(f"{'':<36} {'':>13} {'':>10} processor ms a prediction")
    print(f"{'way of asking':<36} {'predictions/s':>13} {'median ms':>10} {'server':>10} {'here':>10}")
    for rate in rates:
        rounded = (f"{rate.median(attrgetter(name)):.2f}" for name in FIGURES)
        print("{:<36} {:>13} {:>10} {:>10} {:>10}".format(rate.way, *rounded))
    print()
    for what, ratio in compute_ratios(rates).items():
        print(f"{what:<36} {ratio:>13.2f}")
    print()
    for sentence, reached in met.items():
        print(f"{sentence}: {'met' if reached else 'missed'}")
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

"""A caller sees a typed error for each failure of a server.

All servers here are real processes.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.models.predictions import ROOT, run_server
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import LoadFailed, Unavailable, UnreadableWeights
from modelserver.wire.schema import ItemError, QAPrediction
from tests.modelserver.gates import item, waiting
from tests.waiting import eventually

WEIGHTS = ROOT / "modelserver/weights/qi2019"
NO_RETRY = Retry(total=0)

# Memory runs out of batches of more than two, and with one question however small the batch is.
HUNGRY = """
import torch

class Hungry:
    def predict(self, items):
        if len(items) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        for item in items:
            if item.question == "torch?":
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB")
            if item.question == "python?":
                raise MemoryError
            if item.question == "cpu?":
                torch.empty(2**60)
        return [{"answer": item.id} for item in items]

class Huge:
    def __init__(self):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 80.00 GiB")

    def predict(self, items): ...
"""


@dataclass(frozen=True)
class Served:
    client: ModelClient
    folder: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    """A server of hungry classes and of three equal trained systems.

    Its memory holds one of the trained systems.
    """
    folder = tmp_path_factory.mktemp("failures")
    (folder / "hungry.py").write_text(HUNGRY)
    for twin in "abc":
        shutil.copytree(WEIGHTS, folder / twin)
    systems = ",".join(
        (
            *(f"{twin}=qi2019:{folder / twin}" for twin in "abc"),
            f"hungry={folder / 'hungry.py'}:Hungry",
            f"huge={folder / 'hungry.py'}:Huge",
        )
    )
    options = ("--port", "0", "--load", "first-use", "--max-memory", "2M", "--processes", "1")
    with (
        run_server("modelserver", "serve", "--systems", systems, *options) as process,
        ModelClient(process.url, retry=NO_RETRY) as client,
    ):
        yield Served(client, folder)


def answered(client: ModelClient, system: str) -> str:
    (outcome,) = client.predict(system, [item("x")]).predictions
    assert isinstance(outcome, QAPrediction), outcome
    return outcome.answer


class TestOutOfMemory:
    def test_a_batch_that_is_too_big_is_halved_until_it_fits(self, served):
        outcomes = served.client.predict("hungry", [item(str(n)) for n in range(9)]).predictions
        assert [prediction.answer for prediction in outcomes] == [str(n) for n in range(9)]

    @pytest.mark.parametrize(
        ("question", "reason"),
        [
            ("torch?", "OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB"),
            ("python?", "MemoryError"),
            ("cpu?", "RuntimeError: "),
        ],
    )
    def test_an_item_that_does_not_fit_alone_is_told_so_and_the_others_are_predicted(
        self, served, question, reason
    ):
        items = [item(str(n), question=question if n == 3 else "Who?") for n in range(6)]
        outcomes = served.client.predict("hungry", items).predictions
        failed = [outcome for outcome in outcomes if isinstance(outcome, ItemError)]
        assert [(failure.id, failure.error) for failure in failed] == [("3", "out_of_memory")]
        assert failed[0].message.startswith(f"hungry ran out of memory on this item alone: {reason}")

    def test_a_system_that_does_not_fit_is_told_so_and_the_others_go_on(self, served):
        with pytest.raises(LoadFailed, match="class Huge: it cannot be created: out of memory"):
            served.client.predict("huge", [item("x")])
        assert answered(served.client, "hungry") == "x"


class TestDamagedCheckpoint:
    @pytest.mark.parametrize(("system", "file"), [("a", "model.safetensors"), ("b", "config.json")])
    def test_damage_between_two_loads_is_told_and_the_others_go_on(self, served, system, file):
        path = served.folder / system / file
        content = path.read_bytes()
        assert answered(served.client, system) == answered(served.client, "c")  # which takes its room
        path.write_bytes(content[: len(content) // 2])
        for _ in "12":
            with pytest.raises(UnreadableWeights, match=file):
                served.client.predict(system, [item("x")])
        answered(served.client, "c")
        loaded = {info.name: info.loaded for info in served.client.systems().systems}
        assert (loaded[system], loaded["c"]) == (False, True)


# Ends with kill -9 in the middle of the first batch that holds the question, and does not do so again.
MORTAL = """
import os, pathlib, signal, sys
from modelserver.serving.fake_server import FakeSystem
from modelserver.serving.service import Service
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.lifecycle import bind, run

class Mortal(FakeSystem):
    def predict(self, items):
        killed = pathlib.Path(sys.argv[2])
        if items[0].question == "kill?" and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict(items)

log_to_stderr("info")
sys.exit(run(Service({"fake": Mortal}), bind("127.0.0.1", int(sys.argv[1])), drain_seconds=5))
"""


class TestKilledInMidBatch:
    @pytest.fixture
    def mortal(self, tmp_path):
        (tmp_path / "mortal_server.py").write_text(MORTAL)
        path = f"{tmp_path}{os.pathsep}{ROOT}"
        return lambda port: run_server("mortal_server", str(port), str(tmp_path / "killed"), PYTHONPATH=path)

    def test_when_it_stays_away_every_caller_gets_unavailable(self, mortal):
        with mortal(0) as server, ModelClient(server.url, retry=Retry(total=0.3)) as client:
            with ThreadPoolExecutor(4) as pool:
                futures = [
                    pool.submit(client.predict, "fake", [item(str(n), question="kill?")]) for n in range(4)
                ]
                for future in futures:
                    with pytest.raises(Unavailable, match="cannot be reached"):
                        future.result()
            assert server.process.wait(10) == -signal.SIGKILL

    def test_when_it_comes_back_the_same_call_is_answered(self, mortal):
        with (
            mortal(0) as first,
            ModelClient(first.url, retry=Retry(total=60)) as client,
            ThreadPoolExecutor(1) as pool,
        ):
            future = pool.submit(client.predict, "fake", [item(n, question="kill?") for n in "abc"])
            assert first.process.wait(10) == -signal.SIGKILL
            with mortal(first.url.rpartition(":")[2]):
                response = future.result()
        assert [prediction.id for prediction in response.predictions] == list("abc")
        assert all(isinstance(prediction, QAPrediction) for prediction in response.predictions)


# Its system takes a minute to load.
SLOW_LOAD = """
import sys, time
from modelserver.serving.service import Service
from modelserver.serving.logs import log_to_stderr
from modelserver.serving.lifecycle import bind, run

log_to_stderr("info")
service = Service({"slow": lambda: time.sleep(60)}, preload=sys.argv[1] == "start")
sys.exit(run(service, bind("127.0.0.1", 0), drain_seconds=20))
"""


class TestEndDuringALoad:
    @pytest.mark.parametrize("load", ["start", "first-use"])
    def test_it_ends_at_once_with_0_and_tells_who_waits(self, load):
        with subprocess.Popen(
            [sys.executable, "-c", SLOW_LOAD, load], stderr=subprocess.PIPE, cwd=ROOT, text=True
        ) as process:
            assert process.stderr is not None
            url = json.loads(process.stderr.readline())["url"]
            with ModelClient(url, retry=NO_RETRY) as client, ThreadPoolExecutor(1) as pool:
                if load == "first-use":
                    client.wait_ready(10)
                future = pool.submit(client.predict, "slow", [item("a")])
                # Refused at the start, and waiting for the system where it loads on first use.
                eventually(lambda: future.done() or waiting(url) == 1)
                process.send_signal(signal.SIGTERM)
                words = {"start": "is loading its systems", "first-use": "is shutting down"}[load]
                with pytest.raises(Unavailable, match=words) as caught:
                    future.result()
                assert caught.value.retry_after is not None
            assert process.wait(10) == 0  # and not after the 20 s that there are for what is under way

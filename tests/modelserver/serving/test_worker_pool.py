"""Systems in real processes of their own.

Their classes say where they are and how they end.
"""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.models.predictions import run_server
from modelserver.registry import load_system
from modelserver.serving import worker_pool as module
from modelserver.serving.batching import ModelThreads, check_each
from modelserver.serving.devices import Hardware
from modelserver.serving.system_spec import parse
from modelserver.serving.worker import LoadedSystem, _send
from modelserver.serving.worker_pool import PooledSystem, WorkerPool, WorkerProcess
from modelserver.systems.predict_each import predict_each
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import (
    DeadlineExceeded,
    LoadFailed,
    ModelServerError,
    UnknownSystem,
    UnusableSystem,
)
from modelserver.wire.schema import ItemError, QAItem, QAPrediction
from tests.modelserver.gates import item
from tests.waiting import eventually

CLASSES = """
import os, pathlib, signal, sys, time

HERE = pathlib.Path(__file__).parent

class Place:
    "Answers with its process; some questions end it, and one waits for a file."

    def __init__(self, device):
        self.device = device

    def check(self, item):
        if item.question == "invalid?":
            raise ValueError("it is invalid")
        if item.question == "look once?" and not (HERE / "looked").exists():
            (HERE / "looked").touch()
            os._exit(5)
        if item.question == "deadly look?":
            os._exit(6)
        if item.question == "long look?":
            time.sleep(600)

    def predict(self, items):
        for item in items:
            if item.question == "kill?":
                os.kill(os.getpid(), signal.SIGKILL)
            if item.question == "once?" and not (HERE / "once").exists():
                (HERE / "once").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if item.question == "hang?":
                time.sleep(600)
            if item.question == "models?":
                return [{"answer": str("transformers.modeling_utils" in sys.modules)}]
            if item.question == "wait?":
                (HERE / f"waits-{os.getpid()}").touch()
                while not (HERE / "go").exists():
                    time.sleep(0.01)
        return [
            {"answer": self.device if item.question == "device?" else str(os.getpid())} for item in items
        ]

class Torn:
    "Cannot be made in the second process."

    def __init__(self):
        (HERE / f"torn-{os.getpid()}").touch()
        if list(HERE.glob("torn-*"))[1:]:
            raise ValueError("one is enough")

    def predict(self, items):
        return [{"answer": "torn"} for item in items]

class Late:
    "Ends the process that makes it first."

    def __init__(self):
        if not (HERE / "late").exists():
            (HERE / "late").touch()
            os._exit(4)

    def predict(self, items):
        return [{"answer": "late"} for item in items]

class Deadly:
    "Ends the process that makes it."

    def __init__(self):
        os._exit(4)

    def predict(self, items): ...

class Counted:
    "Answers with how often it has been made, and has the revision that a file says."

    weight_bytes = 1000

    def __init__(self):
        self.made = len(list(HERE.glob("made-*"))) + 1
        (HERE / f"made-{os.getpid()}-{self.made}").touch()
        self.revision = (HERE / "revision").read_text() if (HERE / "revision").exists() else "r1"

    def predict(self, items):
        return [{"answer": str(self.made)} for item in items]
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("classes") / "classes.py"
    path.write_text(CLASSES, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def processes(file: Path) -> Iterator[WorkerPool]:
    names = ("Place", "Torn", "Late", "Deadly", "Counted")
    chosen = parse(",".join(f"{name.lower()}={file}:{name}" for name in names))
    with WorkerPool([Hardware("cpu:0"), Hardware("cpu:1")], chosen) as processes:
        processes.sources()
        yield processes


@pytest.fixture(scope="module")
def system(processes: WorkerPool) -> Any:
    return processes.load("place")


def answers(system: Any, *items: QAItem) -> list[str]:
    predictions = system.predict(items)
    assert all(isinstance(prediction, QAPrediction) for prediction in predictions), predictions
    return [prediction.answer for prediction in predictions]


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Return what the calls do, each in a model thread of its own."""
    together = threading.Barrier(len(calls))

    def begun(call: Callable[[], Any]) -> Any:
        together.wait(10)  # no thread can take two
        return call()

    async def run() -> list[Any]:
        threads = ModelThreads(len(calls))
        outputs = await asyncio.gather(*(threads.call(partial(begun, call)) for call in calls))
        assert threads.stop(within=5)
        return outputs

    return asyncio.run(run())


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_it_works(processes, system):
    assert set(processes.sources()) == {"place", "torn", "late", "deadly", "counted"}
    assert (system.name, system.description) == (
        "place",
        "Answers with its process; some questions end it, and one waits for a file.",
    )
    (pid,) = answers(system, item("a"))
    assert int(pid) != os.getpid()
    assert answers(system, item("b"), item("c")) == [pid, pid]


def test_each_model_thread_has_a_process_of_its_own(system):
    first, second = at_once(*[lambda: answers(system, item("a"))] * 2)
    assert first != second


def test_each_process_computes_on_its_own_device(system):
    devices = at_once(*[lambda: answers(system, item("a", question="device?"))] * 2)
    assert sorted(devices) == [["cpu:0"], ["cpu:1"]]


def test_models_of_transformers_are_imported_for_systems_that_have_one(system):
    """They take a process longer than torch does."""
    assert answers(system, item("a", question="models?")) == ["False"]


def test_where_words_are_all_that_a_system_reads_items_are_looked_at_here():
    reader: Any = load_system("qi2019")
    housed = LoadedSystem("", "r", 0, frozenset({"predict"}), reader.examiner)
    system: Any = PooledSystem("qi2019", [], [housed])
    (fine, cost), (error, _) = check_each(system, [item("a"), QAItem(id="b", question="?!", context=[])], 100)
    assert (fine, cost) == (None, reader.cost(item("a")))
    assert error is not None
    assert error.error == "invalid_item"
    assert not hasattr(system, "check_each")


def test_what_is_wrong_with_the_choice_is_said():
    unknown = WorkerPool([Hardware()], parse("nobody"))
    with unknown, pytest.raises(UnknownSystem, match="no system 'nobody'; known systems: "):
        unknown.sources()


def test_no_process_is_started_for_a_server_elsewhere():
    with WorkerPool([Hardware()], parse("far=http://127.0.0.1:1/")) as processes:
        (source,) = processes.sources().values()
        assert source.is_remote
        assert not processes.processes


class TestLoading:
    def test_weights_are_those_of_all_copies(self, processes):
        counted = processes.load("counted")
        assert counted.weight_bytes == 2 * 1000
        counted.unload()

    def test_unloaded_it_is_made_again(self, processes):
        counted = processes.load("counted")
        before = int(answers(counted, item("a"))[0])
        assert answers(counted, item("a")) == [str(before)]
        counted.unload()
        again = processes.load("counted")
        assert int(answers(again, item("a"))[0]) > before
        again.unload()

    def test_what_one_process_cannot_load_is_loaded_into_none(self, processes, system):
        with pytest.raises(
            UnusableSystem, match="class Torn: it cannot be created: ValueError: one is enough"
        ):
            processes.load("torn")
        assert not any("torn" in process.start().loaded for process in processes.processes)
        answers(system, item("a"))

    def test_files_that_change_between_two_loads_are_loaded_into_none(self):
        class Loading(WorkerProcess):
            def __init__(self, revision: str) -> None:
                self.revision, self.unloaded = revision, ""

            def load(self, name: str) -> LoadedSystem:
                return LoadedSystem("", self.revision, 0, frozenset({"predict"}), None)

            def unload(self, name: str) -> None:
                self.unloaded = name

        processes = WorkerPool([], [])
        workers = [Loading("r1"), Loading("r2")]
        processes.processes = list(workers)
        with pytest.raises(LoadFailed, match="one was changed while it was loaded"):
            processes.load("one")
        assert [worker.unloaded for worker in workers] == ["one", "one"]

    def test_what_ends_the_process_that_loads_it_is_said(self, processes, monkeypatch):
        monkeypatch.setattr(module, "LOAD_ATTEMPTS", 1)
        with pytest.raises(LoadFailed, match="deadly could not be loaded: the process ended with status 4"):
            processes.load("deadly")

    def test_whoever_loads_does_not_notice_that_the_process_ended(self, processes):
        assert processes.processes[0].load("late").description == "Ends the process that makes it first."
        processes.processes[0].unload("late")

    def test_copies_of_two_revisions_are_never_mixed(self, processes, file):
        counted = processes.load("counted")
        assert counted.revision == "r1"
        (file.parent / "revision").write_text("r2")
        os.kill(processes.processes[0].start().process.pid, signal.SIGKILL)
        with pytest.raises(LoadFailed, match="counted is revision r1 in one process and r2 in another"):
            counted.predict([item("a")])
        counted.unload()
        again = processes.load("counted")
        assert again.revision == "r2"
        answers(again, item("a"))
        again.unload()


class TestLanes:
    def test_items_are_looked_at_and_systems_loaded_while_a_batch_computes(self, processes, system, file):
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(answers, system, item("a", question="wait?"))
            try:
                eventually(lambda: bool(list(file.parent.glob("waits-*"))))
                looked = system.check_each([item("b", question="invalid?"), item("c")], 100)
                counted = processes.load("counted")
                assert not future.done()
            finally:
                (file.parent / "go").touch()
            assert len(future.result()) == 1
        (error, _), (none, cost) = looked
        assert (error.error, error.message) == ("invalid_item", "it is invalid")
        assert (none, cost) == (None, 8)
        counted.unload()


def test_an_answer_that_cannot_be_handed_on_is_an_error_and_no_silence():
    here, there = Pipe()
    _send(there, lambda: 1)
    answer = here.recv()
    assert isinstance(answer, ModelServerError)
    assert "the answer cannot be handed on: " in str(answer)


class TestEnds:
    def test_one_that_ended_while_it_did_nothing_is_not_missed(self, processes, system):
        (pid,) = answers(system, item("a"))
        process = processes.processes[0].start().process
        process.kill()
        eventually(lambda: process.poll() is not None)
        assert answers(system, item("a"), item("b"))[0] != pid

    def test_whoever_has_items_looked_at_does_not_notice_either(self, system):
        assert system.check_each([item("a", question="look once?")], 100) == [(None, 6)]

    def test_an_item_that_ends_it_at_each_look_costs_the_others_nothing(self, system, monkeypatch):
        monkeypatch.setattr(module, "CHECK_ATTEMPTS", 1)
        (none, _), (error, _) = system.check_each([item("a"), item("b", question="deadly look?")], 100)
        assert none is None
        assert error.error == "prediction_failed"
        assert error.message == (
            "place could not check the item: the process ended with status 6, 1 times in a row"
        )

    def test_a_signal_for_all_processes_leaves_it_to_the_server(self, system):
        (pid,) = answers(system, item("a"))
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(int(pid), number)
        assert answers(system, item("a")) == [pid]

    def test_an_item_that_ends_it_again_and_again_costs_the_others_nothing(self, system):
        outcomes = predict_each(system, [item("a"), item("b", question="kill?")])
        assert isinstance(outcomes[0], QAPrediction)
        assert isinstance(outcomes[1], ItemError)
        assert outcomes[1].error == "prediction_failed"
        assert outcomes[1].message.endswith("the process ended by SIGKILL, twice in a row")

    def test_one_that_hangs_is_ended_and_the_item_named(self, processes, system, monkeypatch):
        answers(system, item("a"))  # so that it is running and loaded
        monkeypatch.setattr(processes.processes[0], "batch_seconds", 3.0)
        started = time.monotonic()
        (outcome,) = predict_each(system, [item("a", question="hang?")])
        assert isinstance(outcome, ItemError)
        assert outcome.error == "prediction_failed"
        assert outcome.message.endswith("was ended after 3 s without an answer, twice in a row")
        assert time.monotonic() - started < 60
        monkeypatch.undo()
        assert answers(system, item("a"))

    def test_behind_a_server_nobody_notices_that_one_was_killed_in_mid_batch(self, file):
        serve = ("modelserver", "serve", "--port", "0", "--processes", "1", "--threads", "2", "--systems")
        with (
            run_server(*serve, f"place={file}:Place") as server,
            ModelClient(server.url, retry=Retry(total=0)) as client,
        ):
            response = client.predict("place", [item("a"), item("b", question="once?"), item("c")])
            assert all(isinstance(prediction, QAPrediction) for prediction in response.predictions)
            lines = [json.loads(line) for line in server.log.read_text("utf-8").splitlines()]
            assert [entry["reason"] for entry in lines if entry["event"] == "process_ended"] == [
                "the process ended by SIGKILL"
            ]
            metrics = httpx.get(f"{server.url}/metrics", trust_env=False).text
            assert "# TYPE modelserver_process_restarts_total counter" in metrics
            assert "modelserver_process_restarts_total 1.0\n" in metrics
            # Torch is where systems are computed, and nowhere else.
            (answer,) = client.predict("place", [item("a")]).predictions
            assert isinstance(answer, QAPrediction)
            assert "torch" in Path(f"/proc/{answer.answer}/maps").read_text("utf-8")
            assert b"OMP_NUM_THREADS=2\0" in Path(f"/proc/{answer.answer}/environ").read_bytes()
            assert "torch" not in Path(f"/proc/{server.process.pid}/maps").read_text("utf-8")
            # However the server ends, what it started ends with it.
            server.process.kill()
            eventually(lambda: not alive(int(answer.answer)))

    def test_an_item_that_is_looked_at_does_not_keep_the_server_from_ending(self, file):
        serve = ("modelserver", "serve", "--port", "0", "--processes", "1", "--drain-seconds", "1")
        with (
            run_server(*serve, "--systems", f"place={file}:Place") as server,
            ModelClient(server.url, retry=Retry(total=0)) as client,
        ):
            with pytest.raises(DeadlineExceeded):
                client.predict("place", [item("a", question="long look?")], timeout=0.5)
            server.process.terminate()
            assert server.process.wait(20) == 0

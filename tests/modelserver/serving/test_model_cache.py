"""Tests of the systems in memory, with toy systems of declared sizes."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch

from modelserver.inputs.packing import BatchLimits
from modelserver.serving import model_cache as module
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.serving.model_cache import AvailableSystem, Change, ModelCache, Source
from modelserver.serving.service import ServerLimits, Service
from modelserver.systems.base import count_weight_bytes
from modelserver.wire.errors import LoadFailed, Overloaded, Unavailable, UnreadableWeights
from modelserver.wire.schema import PredictRequest, QAItem, QAPrediction
from tests.modelserver.gates import GatedSystem, item


class Heavy(FakeSystem):
    """A toy system that says how much it weighs, and answers with its name."""

    def __init__(self, name: str, size: int = 10) -> None:
        super().__init__(name)
        self.weight_bytes = size

    def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
        return [
            QAPrediction(id=question.id, answer=f"{self.name} {question.id}", facts=[]) for question in items
        ]


class TestWeightBytes:
    def test_it_works(self):
        model = torch.nn.Linear(3, 2)  # 6 weights and 2 biases of 4 bytes
        model.register_buffer("scale", torch.ones(5, dtype=torch.float64))
        assert count_weight_bytes(SimpleNamespace(model=model, again=model, threshold=0.5)) == 8 * 4 + 5 * 8

    def test_what_only_looks_like_a_module_weighs_nothing(self):
        signature = SimpleNamespace(parameters={}, buffers={})
        assert count_weight_bytes(SimpleNamespace(kind=torch.nn.Linear, signature=signature)) == 0
        assert count_weight_bytes(object()) == 0

    def test_a_number_of_its_own_wins_and_rules_weigh_nothing(self):
        assert count_weight_bytes(Heavy("a", 7)) == 7
        assert count_weight_bytes(FakeSystem()) == 0


def with_cache(
    scenario: Callable[[ModelCache, list[Change]], Awaitable[None]],
    sizes: dict[str, int],
    max_bytes: int | None = None,
    computing: Callable[[str], bool] = lambda _: False,
) -> None:
    """Run a scenario with a cache of Heavy systems.

    The scenario gets the cache and the changes that it reports.
    """

    async def run() -> None:
        changes: list[Change] = []
        sources = {
            name: Source(lambda name=name, size=size: Heavy(name, size), AvailableSystem(expected_bytes=size))
            for name, size in sizes.items()
        }
        cache = ModelCache(sources, max_bytes=max_bytes, computing=computing, report=changes.append)
        working = asyncio.create_task(cache.run())
        try:
            await asyncio.wait_for(scenario(cache, changes), 20)
        finally:
            working.cancel()

    asyncio.run(run())


async def used(cache: ModelCache, *names: str) -> None:
    for name in names:
        assert (await cache.acquire(name)).name == name
        cache.release(name)


def describe_changes(changes: Sequence[Change]) -> list[str]:
    return [f"{change.kind} {change.system}" for change in changes]


class TestModelCache:
    def test_it_works(self):
        async def scenario(cache, changes):
            assert [info.loaded for info in cache.infos()] == [False, False]
            await used(cache, "b", "b", "a")
            assert describe_changes(changes) == ["loaded b", "loaded a"]
            assert (cache.loaded_count, cache.used_bytes) == (2, 3)
            assert cache.info("a").revision == Heavy("a").revision

        with_cache(scenario, {"a": 1, "b": 2})

    def test_the_least_recently_used_makes_room(self):
        async def scenario(cache, changes):
            await used(cache, "a", "b", "a", "c")
            assert describe_changes(changes)[2:] == ["unloaded b", "loaded c"]
            assert cache.info("b").revision == Heavy("b").revision
            assert not cache.info("b").loaded
            assert cache.used_bytes == 20

        with_cache(scenario, {"a": 10, "b": 10, "c": 10}, max_bytes=25)

    def test_as_many_as_needed_make_room(self):
        async def scenario(cache, changes):
            await used(cache, "a", "b", "big")
            assert describe_changes(changes)[2:] == ["unloaded a", "unloaded b", "loaded big"]

        with_cache(scenario, {"a": 10, "b": 10, "big": 25}, max_bytes=25)

    def test_one_in_use_stays_and_its_room_is_waited_for(self):
        async def scenario(cache, changes):
            await cache.acquire("a")
            waiting = asyncio.create_task(used(cache, "b"))
            await asyncio.sleep(0.05)
            assert describe_changes(changes) == ["loaded a"]
            later = asyncio.create_task(used(cache, "a"))  # comes after those who wait for the room
            await asyncio.sleep(0.05)
            assert not later.done()
            cache.release("a")
            await asyncio.gather(waiting, later)
            assert describe_changes(changes)[1:] == ["unloaded a", "loaded b", "unloaded b", "loaded a"]

        with_cache(scenario, {"a": 10, "b": 10}, max_bytes=10)

    def test_who_comes_while_one_that_nobody_wanted_is_put_away_gets_it(self):
        unloading, go = threading.Event(), threading.Event()

        class Slow(Heavy):
            def unload(self) -> None:
                if self.name == "b":
                    unloading.set()
                    assert go.wait(10)

        async def run() -> None:
            # The bytes that they take are known only once they are loaded.
            cache = ModelCache({name: Source(lambda name=name: Slow(name)) for name in "ab"}, max_bytes=10)
            working = asyncio.create_task(cache.run())
            await cache.acquire("a")
            first = asyncio.create_task(cache.acquire("b"))
            while not cache._entries["a"].is_leaving:
                await asyncio.sleep(0.01)
            first.cancel()
            assert await asyncio.to_thread(unloading.wait, 10)
            again = asyncio.create_task(cache.acquire("b"))
            await asyncio.sleep(0)
            go.set()
            cache.release("a")
            assert (await asyncio.wait_for(again, 10)).name == "b"
            cache.release("b")
            await asyncio.wait_for(used(cache, "a"), 10)
            working.cancel()

        asyncio.run(run())

    def test_another_that_falls_idle_goes_in_the_place_of_one_that_does_not(self):
        async def scenario(cache, changes):
            await cache.acquire("a")
            await cache.acquire("b")
            waiting = asyncio.create_task(used(cache, "c"))
            await asyncio.sleep(0.05)
            cache.release("b")
            await waiting
            assert describe_changes(changes)[2:] == ["unloaded b", "loaded c"]
            await used(cache, "a")  # it was never put down

        with_cache(scenario, {"a": 10, "b": 10, "c": 10}, max_bytes=20)

    def test_one_that_computes_for_nobody_stays_until_it_has_done(self):
        busy = {"a"}

        async def scenario(cache, changes):
            await used(cache, "a")
            waiting = asyncio.create_task(used(cache, "b"))
            await asyncio.sleep(0.05)
            assert describe_changes(changes) == ["loaded a"]
            busy.clear()
            cache.notify()
            await waiting

        with_cache(scenario, {"a": 10, "b": 10}, max_bytes=10, computing=busy.__contains__)

    def test_who_gives_up_waiting_leaves_all_as_it_was(self):
        async def scenario(cache, changes):
            await cache.acquire("a")
            waiting = asyncio.create_task(used(cache, "b"))
            await asyncio.sleep(0.05)
            waiting.cancel()
            await used(cache, "a")
            cache.release("a")
            await asyncio.sleep(0.05)
            assert describe_changes(changes) == ["loaded a"]
            await used(cache, "b")

        with_cache(scenario, {"a": 10, "b": 10}, max_bytes=10)

    def test_one_too_big_is_refused_and_costs_the_others_nothing(self):
        async def scenario(cache, changes):
            await used(cache, "a")
            with pytest.raises(LoadFailed, match="big takes 30 bytes, more than the 25 that are allowed"):
                await cache.acquire("big")
            assert describe_changes(changes) == ["loaded a"]

        with_cache(scenario, {"a": 10, "big": 30}, max_bytes=25)

    def test_filling_loads_each_once_and_keeps_what_has_room(self):
        async def scenario(cache, changes):
            await cache.load_all()
            assert describe_changes(changes) == ["loaded a", "loaded b", "unloaded a", "loaded c"]
            assert all(info.revision for info in cache.infos())

        with_cache(scenario, {"a": 10, "b": 10, "c": 10}, max_bytes=20)

    def test_whoever_waits_is_told_when_it_closes(self):
        async def scenario(cache, changes):
            await cache.acquire("a")
            waiting = asyncio.create_task(used(cache, "b"))
            await asyncio.sleep(0.05)
            cache.close(Unavailable("closing"))
            for attempt in (waiting, used(cache, "b")):
                with pytest.raises(Unavailable, match="closing"):
                    await attempt
            await used(cache, "a")

        with_cache(scenario, {"a": 10, "b": 10}, max_bytes=10)

    def test_what_is_put_down_leaves_the_memory(self):
        async def scenario(cache, changes):
            gone = weakref.ref(await cache.acquire("a"))
            cache.release("a")
            await used(cache, "b")
            gc.collect()
            assert gone() is None

        with_cache(scenario, {"a": 10, "b": 10}, max_bytes=10)

    def test_a_size_that_was_not_foreseen_is_made_room_for_afterwards(self):
        async def run() -> None:
            sources = {name: Source(lambda name=name: Heavy(name, 10)) for name in ("a", "b")}
            cache = ModelCache(sources, max_bytes=15)
            working = asyncio.create_task(cache.run())
            await used(cache, "a", "b")
            assert (cache.loaded_count, cache.used_bytes) == (1, 10)
            working.cancel()

        asyncio.run(run())


class TestFailures:
    def test_a_failed_load_is_told_and_tried_again_later(self, monkeypatch):
        tries: list[str] = []

        def damaged() -> Heavy:
            tries.append("once")
            if len(tries) == 1:
                raise UnreadableWeights("model.safetensors: damaged")
            return Heavy("bad")

        async def run() -> None:
            cache = ModelCache({"bad": Source(damaged), "good": Source(lambda: Heavy("good"))})
            working = asyncio.create_task(cache.run())
            for _ in "123":
                with pytest.raises(UnreadableWeights, match="damaged"):
                    await cache.acquire("bad")
            assert len(tries) == 1
            await used(cache, "good")
            monkeypatch.setattr(module, "RETRY_LOAD_SECONDS", 0.0)
            await used(cache, "bad")
            working.cancel()

        asyncio.run(run())

    def test_a_load_that_breaks_costs_only_itself(self):
        def report(change: Change) -> None:
            if change.system == "broken":
                raise ZeroDivisionError

        async def run() -> None:
            sources = {name: Source(lambda name=name: Heavy(name)) for name in ("broken", "good")}
            cache = ModelCache(sources, max_bytes=100, report=report)
            working = asyncio.create_task(cache.run())
            with pytest.raises(LoadFailed, match="broken could not be loaded: ZeroDivisionError"):
                await cache.acquire("broken")
            await used(cache, "good")
            working.cancel()

        asyncio.run(run())

    def test_memory_that_does_not_suffice_is_said(self):
        def huge() -> Heavy:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")

        async def run() -> None:
            cache = ModelCache({"huge": Source(huge)})
            working = asyncio.create_task(cache.run())
            with pytest.raises(LoadFailed, match="huge could not be loaded: out of memory"):
                await cache.acquire("huge")
            working.cancel()

        asyncio.run(run())


class TestService:
    def test_many_callers_of_three_systems_with_room_for_one_all_get_their_answers(self):
        systems = [Heavy(name) for name in ("one", "two", "three")]
        with (
            FakeModelServer(*systems, memory=15, preload=False) as server,
            server.client() as client,
            ThreadPoolExecutor(16) as pool,
        ):

            def ask(number: int) -> bool:
                name = systems[number % 3].name
                items = [item(f"{number}-{part}") for part in range(3)]
                response = client.predict(name, items)
                assert response.system == name
                return [prediction.answer for prediction in response.predictions] == [
                    f"{name} {question.id}" for question in items
                ]

            assert all(pool.map(ask, range(60)))
            assert server.service.cache.loaded_count == 1
            assert client.systems().systems[0].revision
            metrics = server.service.metrics.page().decode()
        assert "modelserver_loaded_systems 1" in metrics
        assert "modelserver_loaded_bytes 10" in metrics
        assert 'modelserver_unloads_total{system="one"}' in metrics
        assert 'modelserver_load_seconds_count{system="two"}' in metrics

    def test_others_go_on_while_one_is_loaded(self):
        gate = threading.Event()

        def slow() -> FakeSystem:
            assert gate.wait(20)
            return FakeSystem("slow")

        server = FakeModelServer(FakeSystem("quick"), sources={"slow": Source(slow)}, preload=False)
        with server, server.client() as client, ThreadPoolExecutor(2) as pool:
            client.predict("quick", [item("a")])
            waiting = pool.submit(client.predict, "slow", [item("a")])
            hurried = pool.submit(client.predict, "slow", [item("a")], timeout=0.2)
            for n in range(5):
                client.predict("quick", [item(str(n))])
            with pytest.raises(Unavailable, match="deadline"):
                hurried.result()
            assert not waiting.done()
            assert {info.name: info.loaded for info in client.systems().systems} == {
                "quick": True, "slow": False,
            }  # fmt: skip
            gate.set()
            assert waiting.result().system == "slow"

    def test_a_server_elsewhere_that_is_long_in_coming_holds_up_no_loading(self):
        gate = threading.Event()

        def far() -> FakeSystem:
            assert gate.wait(20)
            return FakeSystem("far")

        sources = {"far": Source(far, is_remote=True)}
        server = FakeModelServer(FakeSystem("a"), FakeSystem("b"), sources=sources, preload=False)
        with server, server.client() as client, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.predict, "far", [item("x")])
            for name in ("a", "b"):
                assert client.predict(name, [item("x")]).system == name
            assert not waiting.done()
            gate.set()
            assert waiting.result().system == "far"

    def test_a_system_at_work_is_never_put_down(self):
        class HeavyGated(GatedSystem):
            weight_bytes = 10

        gated, other = HeavyGated(), Heavy("other")
        with (
            FakeModelServer(gated, other, memory=10, preload=False) as server,
            server.client() as client,
            ThreadPoolExecutor(2) as pool,
        ):
            with pytest.raises(Unavailable):  # it goes on computing for nobody
                client.predict("gated", [item("a")], timeout=0.3)
            future = pool.submit(client.predict, "other", [item("b")])
            time.sleep(0.1)
            assert client.systems().systems[0].loaded
            gated.gate.set()
            assert future.result().system == "other"
            assert not client.systems().systems[0].loaded

    def test_loading_on_request(self):
        with FakeModelServer(Heavy("a"), preload=False) as server, server.client() as client:
            assert client.systems().systems[0].revision == ""
            info = client.load("a")
            assert (info.name, info.loaded, info.revision) == ("a", True, Heavy("a").revision)
            assert client.systems().systems == [info]

    def test_what_waits_for_a_load_counts_against_the_queue(self):
        gate = threading.Event()

        def slow() -> FakeSystem:
            assert gate.wait(20)
            return FakeSystem("slow")

        async def run() -> None:
            service = Service({"slow": slow}, preload=False, limits=ServerLimits(batch=BatchLimits(queue=2)))
            working = asyncio.create_task(service.work())
            await service.load()
            loading = asyncio.create_task(service.load_and_describe("slow"))
            await asyncio.sleep(0.05)
            assert service.waiting == 1
            more = PredictRequest(system="slow", items=[item("a"), item("b")])
            with pytest.raises(Overloaded, match="1 items wait, and slow is not loaded"):
                await service.answer(more, "request")
            gate.set()
            await loading
            assert service.waiting == 0
            working.cancel()

        asyncio.run(run())

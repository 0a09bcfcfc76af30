import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelserver.inputs.packing import BatchLimits, find_companions, plan_batches
from modelserver.serving import batching as batching_module
from modelserver.serving.batching import Batcher, BatchReport, ModelThreads, QueuedRequest
from modelserver.serving.fake_server import FAILS, FakeSystem
from modelserver.systems.predict_each import predict_each
from modelserver.wire.errors import Overloaded, TooLarge, Unavailable
from modelserver.wire.schema import ItemError, QAItem, QAPrediction
from tests.modelserver.gates import GatedSystem, item

COSTS = st.lists(st.integers(0, 500), min_size=1, max_size=60)
LIMITS = st.builds(
    BatchLimits, tokens=st.integers(1, 1_000), items=st.integers(1, 10), fill=st.floats(0.0, 1.0)
)


class TestCompanions:
    def test_it_works(self):
        assert find_companions([10, 100, 11, 9, 95], BatchLimits(fill=0.75)) == [0, 2, 3]

    @given(COSTS, LIMITS)
    def test_the_first_is_always_taken_and_limits_hold(self, costs, limits):
        chosen = find_companions(costs, limits)
        taken = [costs[position] for position in chosen]
        assert chosen[0] == 0
        assert len(set(chosen)) == len(chosen)
        assert len(chosen) == 1 or limits.allow(count=len(taken), longest=max(taken), total=sum(taken))

    def test_equal_costs_keep_their_order(self):
        assert find_companions([7] * 5, BatchLimits(items=3)) == [0, 1, 2]


class TestPlan:
    @given(COSTS, LIMITS)
    def test_every_position_runs_once_within_the_limits(self, costs, limits):
        batches = plan_batches(costs, limits)
        assert sorted(position for batch in batches for position in batch) == list(range(len(costs)))
        for batch in batches:
            taken = [costs[position] for position in batch]
            assert len(taken) == 1 or limits.allow(count=len(taken), longest=max(taken), total=sum(taken))

    def test_nothing_makes_no_batch(self):
        assert plan_batches([], BatchLimits()) == []

    def test_the_costliest_comes_first(self):
        assert plan_batches([1, 50, 2], BatchLimits(fill=0.9)) == [[1], [2], [0]]


class TestPredictEach:
    def test_it_works(self):
        outcomes = predict_each(FakeSystem(), [item("a"), item("b")])
        assert [outcome.id for outcome in outcomes] == ["a", "b"]
        assert all(isinstance(outcome, QAPrediction) for outcome in outcomes)

    @pytest.mark.parametrize("bad", [0, 3, 6])
    def test_a_failing_item_fails_alone_and_in_its_place(self, bad):
        items = [item(str(n), question=f"Who? {FAILS}" if n == bad else "Who?") for n in range(7)]
        outcomes = predict_each(FakeSystem(), items)
        assert [outcome.id for outcome in outcomes] == [str(n) for n in range(7)]
        assert [n for n, outcome in enumerate(outcomes) if isinstance(outcome, ItemError)] == [bad]

    def test_an_item_that_fails_only_in_company_is_predicted(self):
        class Small(FakeSystem):
            def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
                if len(items) > 2:
                    raise MemoryError
                return super().predict(items)

        outcomes = predict_each(Small(), [item(str(n)) for n in range(9)])
        assert all(isinstance(outcome, QAPrediction) for outcome in outcomes)

    @pytest.mark.parametrize("wrong", [lambda items: items[:-1], lambda items: items[::-1]])
    def test_answers_to_other_items_are_not_passed_on(self, wrong):
        class Wrong(FakeSystem):
            def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
                return super().predict(wrong(list(items)) if len(items) > 1 else [])

        outcomes = predict_each(Wrong(), [item("a"), item("b")])
        assert [(outcome.id, isinstance(outcome, ItemError)) for outcome in outcomes] == [
            ("a", True),
            ("b", True),
        ]

    def test_the_log_has_type_and_place_but_no_text(self, caplog):
        class Quoting(FakeSystem):
            def predict(self, items: Sequence[QAItem]) -> list[QAPrediction]:
                raise KeyError(items[0].question)

        with caplog.at_level(logging.ERROR):
            (outcome,) = predict_each(Quoting("q"), [item("a", question="a secret question")])
        assert isinstance(outcome, ItemError)
        assert outcome.message.startswith("q failed: KeyError")
        (record,) = caplog.records
        assert record.fields["error"] == "KeyError"
        assert "test_batching.py" in record.fields["at"]
        assert "secret" not in str(record.__dict__)


def batching(
    scenario: Callable[[Batcher], Awaitable[None]],
    limits: BatchLimits | None = None,
    report: Callable[[BatchReport], None] = lambda _: None,
    threads: int = 1,
) -> None:
    """Run a scenario against a working batcher."""

    async def run() -> None:
        model = ModelThreads(threads)
        batcher = Batcher(model, limits or BatchLimits(), report)
        working = asyncio.create_task(batcher.run())
        try:
            await asyncio.wait_for(scenario(batcher), 20)
        finally:
            working.cancel()
            model.stop()

    asyncio.run(run())


def _note(finished: list[str], name: str, _: object) -> None:
    finished.append(name)


def submit(batcher: Batcher, system: FakeSystem, *items: QAItem) -> QueuedRequest:
    request = QueuedRequest(system, [None] * len(items), "request")
    batcher.submit(
        request, [(position, question, system.cost(question)) for position, question in enumerate(items)]
    )
    return request


async def occupied(batcher: Batcher, system: GatedSystem) -> QueuedRequest:
    """Make the model thread busy with one item and return its ticket."""
    request = submit(batcher, system, item("busy"))
    await asyncio.to_thread(system.entered.wait, 10)
    return request


class TestBatcher:
    def test_it_works(self):
        async def scenario(batcher):
            request = submit(batcher, FakeSystem(), item("a"), item("b"))
            await request.done
            assert [outcome.id for outcome in request.outcomes()] == ["a", "b"]
            await batcher.wait_until_drained()
            assert batcher.waiting == 0

        batching(scenario)

    def test_requests_that_gather_share_a_batch(self):
        async def scenario(batcher):
            system = GatedSystem()
            requests = [await occupied(batcher, system)]
            requests += [submit(batcher, system, item(str(n))) for n in range(6)]
            assert batcher.waiting == 6
            system.gate.set()
            await asyncio.gather(*(request.done for request in requests))
            assert system.batches == [["busy"], ["0", "1", "2", "3", "4", "5"]]

        batching(scenario)

    def test_like_costs_share_and_the_oldest_goes_first(self):
        async def scenario(batcher):
            system = GatedSystem()
            await occupied(batcher, system)
            sizes = {"short1": 4, "long1": 200, "short2": 5, "long2": 190}
            requests = [submit(batcher, system, item(name, words=words)) for name, words in sizes.items()]
            system.gate.set()
            await asyncio.gather(*(request.done for request in requests))
            assert system.batches[1:] == [["short1", "short2"], ["long1", "long2"]]

        batching(scenario)

    def test_systems_take_turns_by_age(self):
        async def scenario(batcher):
            first, second = GatedSystem("first"), GatedSystem("second")
            await occupied(batcher, first)
            requests = [submit(batcher, second, item("s")), submit(batcher, first, item("f"))]
            finished: list[str] = []
            for request, name in zip(requests, ("second", "first"), strict=True):
                request.done.add_done_callback(partial(_note, finished, name))
            first.gate.set()
            second.gate.set()
            await asyncio.gather(*(request.done for request in requests))
            await asyncio.sleep(0)
            assert finished == ["second", "first"]

        batching(scenario)

    def test_a_full_queue_takes_all_of_a_request_or_nothing(self):
        async def scenario(batcher):
            system = GatedSystem()
            await occupied(batcher, system)
            submit(batcher, system, item("a"), item("b"))
            with pytest.raises(Overloaded) as caught:
                submit(batcher, system, item("c"), item("d"))
            assert caught.value.retry_after == 1
            assert batcher.waiting == 2
            last = submit(batcher, system, item("e"))
            with pytest.raises(TooLarge):
                submit(batcher, system, *(item(str(n)) for n in range(4)))
            system.gate.set()
            await last.done
            await batcher.wait_until_drained()

        batching(scenario, BatchLimits(queue=3))

    def test_withdrawn_items_are_never_computed_and_free_their_place(self):
        async def scenario(batcher):
            system = GatedSystem()
            busy = await occupied(batcher, system)
            withdrawn = submit(batcher, system, item("x"), item("y"))
            remaining = submit(batcher, system, item("z"))
            batcher.withdraw(withdrawn)
            assert batcher.waiting == 1
            system.gate.set()
            await asyncio.gather(busy.done, remaining.done)
            assert system.batches == [["busy"], ["z"]]

        batching(scenario)

    def test_withdrawing_while_computing_lets_the_result_fall(self):
        async def scenario(batcher):
            system = GatedSystem()
            busy = await occupied(batcher, system)
            batcher.withdraw(busy)
            system.gate.set()
            await batcher.wait_until_drained()
            assert [outcome.id for outcome in busy.outcomes()] == ["busy"]

        batching(scenario)

    def test_what_is_abandoned_is_told_so(self):
        async def scenario(batcher):
            system = GatedSystem()
            requests = [await occupied(batcher, system), submit(batcher, system, item("a"))]
            batcher.abandon()
            for request in requests:
                with pytest.raises(Unavailable):
                    await request.done
            assert batcher.waiting == 0
            system.gate.set()

        batching(scenario)

    def test_a_ticket_of_errors_alone_is_done_at_once(self):
        async def scenario(batcher):
            error = ItemError(id="a", error="invalid_item", message="no")
            request = QueuedRequest(FakeSystem(), [error], "request")
            batcher.submit(request, [])
            assert request.done.done()
            assert request.outcomes() == [error]

        batching(scenario)

    def test_what_waits_is_spread_over_the_free_threads(self):
        async def scenario(batcher):
            system = GatedSystem()
            system.gate.set()
            await submit(batcher, system, *(item(f"{n:02}") for n in range(20))).done
            await submit(batcher, system, item("a"), item("b")).done
            assert sorted(system.batches) == [
                [f"{n:02}" for n in range(10)],
                [f"{n:02}" for n in range(10, 20)],
                ["a", "b"],
            ]

        batching(scenario, threads=2)

    def test_a_busy_thread_does_not_hold_up_the_other(self):
        async def scenario(batcher):
            slow, quick = GatedSystem("slow"), FakeSystem("quick")
            held = await occupied(batcher, slow)
            for n in range(3):
                await submit(batcher, quick, item(str(n))).done
            assert not held.done.done()
            assert batcher.waiting == 0
            drained = asyncio.ensure_future(batcher.wait_until_drained())
            await asyncio.sleep(0.01)
            assert not drained.done()
            slow.gate.set()
            await drained
            assert held.done.done()

        batching(scenario, threads=2)

    @pytest.mark.parametrize("kind", [RuntimeError, SystemExit])
    def test_a_batch_that_fails_as_a_whole_ends_no_other(self, monkeypatch, kind):
        async def scenario(batcher):
            with monkeypatch.context() as patch:
                patch.setattr(batching_module, "predict_each", broken)
                failed = submit(batcher, FakeSystem(), item("a"), item("b"))
                await failed.done
            assert [outcome.error for outcome in failed.outcomes()] == ["prediction_failed"] * 2
            after = submit(batcher, FakeSystem(), item("c"))
            await after.done
            assert [type(outcome) for outcome in after.outcomes()] == [QAPrediction]

        def broken(*_: object) -> None:
            raise kind("broken")

        batching(scenario)

    def test_a_batch_is_reported(self):
        reports: list[BatchReport] = []

        async def scenario(batcher):
            await submit(batcher, FakeSystem("s"), item("a"), item("b", question=FAILS)).done
            await batcher.wait_until_drained()

        batching(scenario, report=reports.append)
        assert [(report.system, report.items, report.failed) for report in reports] == [("s", 2, 1)]
        assert reports[0].padded_tokens >= reports[0].tokens > 0
        assert reports[0].request_ids == ("request",)


class TestModelThreads:
    def test_an_error_reaches_the_caller_and_the_thread_goes_on(self):
        async def scenario() -> None:
            thread = ModelThreads()
            with pytest.raises(ZeroDivisionError):
                await thread.call(lambda: 1 // 0)
            assert await thread.call(lambda: 5) == 5
            assert thread.alive
            assert thread.stop(within=5)

        asyncio.run(scenario())

    def test_what_would_end_it_does_not(self):
        async def scenario() -> None:
            thread = ModelThreads()
            with pytest.raises(RuntimeError, match="SystemExit: 3"):
                await thread.call(lambda: sys.exit(3))
            assert thread.alive
            assert thread.stop(within=5)

        asyncio.run(scenario())

    def test_a_caller_that_gives_up_does_not_stop_it(self):
        async def scenario() -> None:
            thread = ModelThreads()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(thread.call(lambda: time.sleep(0.1)), 0.01)
            assert await thread.call(lambda: 1) == 1
            assert thread.stop(within=5)

        asyncio.run(scenario())

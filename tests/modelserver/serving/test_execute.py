"""The server executes programs of modular networks.

The tests check the outputs at every node, and the systems that answer each kind of request.
"""

import base64
import threading

import httpx
import pytest
import torch

from analysis.programs import parse
from modelserver.inputs.packing import BatchLimits
from modelserver.registry import SYSTEMS, SystemSpec, load_modular_system, load_system
from modelserver.serving.devices import Hardware
from modelserver.serving.fake_modular_system import FAILS
from modelserver.serving.fake_server import FakeModelServer, FakeModularSystem, FakeSystem
from modelserver.serving.loading import ServedNetwork, list_sources
from modelserver.serving.model_cache import AvailableSystem, Source
from modelserver.serving.service import ServerLimits
from modelserver.serving.system_spec import ShippedSpec
from modelserver.wire.client import Retry
from modelserver.wire.errors import (
    BadResponse,
    DeadlineExceeded,
    InvalidRequest,
    LoadFailed,
    TooLarge,
    UnknownSystem,
)
from modelserver.wire.schema import (
    ExecuteRequest,
    Execution,
    ItemError,
    ModuleImage,
    ModuleItem,
    find_text_problem,
)
from tests.modelserver.gates import item as question

PROGRAM = "equal(count(filter[black](find[dogs])), count(find[cats]))"
PASSAGE = "Ann ran 3 yards. Bo ran 12 yards."
WORDS = PASSAGE.replace(".", " .").split(" ")


def pictures(name: str = "a", *, program: str | None = PROGRAM, text: str = "As many black dogs as cats."):
    images = [
        ModuleImage(name=f"{name}-left.png"),
        ModuleImage(name=f"{name}-right.png", data=base64.b64encode(b"x")),
    ]
    return ModuleItem(id=name, text=text, program=program, images=images)


def passage(name: str = "a", *, program: str = "find-num(find[Bo])") -> ModuleItem:
    places, at = [], 0
    for word in WORDS:
        start = PASSAGE.index(word, at)
        at = start + len(word)
        places.append((start, at))
    return ModuleItem(id=name, text="How far did Bo run?", program=program, passage=PASSAGE, tokens=places)


class Gated(FakeModularSystem):
    """Executes once the gate is open, and notes what ran together."""

    def __init__(self) -> None:
        super().__init__("gated")
        self.gate = threading.Event()
        self.batches: list[list[str]] = []

    def execute(self, items):
        if items[0].id != "warm-up":
            self.batches.append([item.id for item in items])
            assert self.gate.wait(20)
        return super().execute(items)


class Both(FakeSystem):
    """Answers questions, and executes programs too."""

    def __init__(self) -> None:
        super().__init__("both")
        self.warm_up, self.execute = FakeModularSystem.warm_up, FakeModularSystem().execute

    def check(self, item):
        pass

    def cost(self, item):
        return 1


@pytest.fixture(scope="module")
def server():
    limits = ServerLimits(items=5, body_bytes=100_000, batch=BatchLimits(item_tokens=40))
    with FakeModelServer(FakeSystem(), FakeModularSystem(), limits=limits) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as client:
        yield client


class TestFakeModularSystem:
    def test_it_works(self):
        (execution,) = FakeModularSystem().execute([pictures()])
        assert execution.program == PROGRAM
        assert [output.module for output in execution.modules] == [
            node.module for node in parse(PROGRAM, kind="boxes").nodes
        ]
        assert [len(placed) for placed in execution.proposals] == [6, 6]
        equal, count, black_dogs, _dogs, cat_count, _cats = execution.modules
        assert count.value == sum(p > 0.5 for p in black_dogs.probabilities)
        assert execution.answer is equal.value is (count.value == cat_count.value)

    def test_a_filter_is_never_surer_of_a_box_than_what_it_filters(self):
        (execution,) = FakeModularSystem().execute([pictures()])
        filtered, whole = execution.modules[2].probabilities, execution.modules[3].probabilities
        assert filtered != whole
        assert all(probability <= bound for probability, bound in zip(filtered, whole, strict=True))

    def test_spans(self):
        (execution,) = FakeModularSystem().execute([passage()])
        numbers, events = execution.modules
        assert execution.answer == numbers.value == 12
        assert events.attention == [float(word == "Bo") for word in WORDS]
        assert sum(numbers.attention) == pytest.approx(1)

    def test_an_item_is_executed_by_itself(self):
        system, items = FakeModularSystem(), [pictures("a"), pictures("b"), passage("c")]
        together = system.execute(items)
        assert [system.execute([item])[0] for item in reversed(items)] == list(reversed(together))
        assert together[0].modules != together[1].modules

    @pytest.mark.parametrize("item, field", [
        (pictures(program=None), "program"), (pictures(program="find(("), "program"),
        (ModuleItem(id="a", text="x", program="find"), "images"),
    ])  # fmt: skip
    def test_what_it_cannot_take(self, item, field):
        with pytest.raises(InvalidRequest) as refused:
            FakeModularSystem().check(item)
        assert refused.value.field == field


class TestExecute:
    def test_it_works(self, server, client):
        items = [pictures("a"), passage("b")]
        response = client.execute("fake-modular", items, request_id="r9")
        assert list(response.executions) == FakeModularSystem().execute(items)
        assert response.revision == FakeModularSystem().revision
        page = httpx.get(f"{server.url}/metrics", trust_env=False).text
        assert 'modelserver_items_total{outcome="executed",system="fake-modular"} 2' in page
        assert 'path="/v1/execute",status="200"' in page

    def test_one_bad_item_costs_the_others_nothing(self, client):
        items = [
            pictures("a"),
            pictures("b", text=FAILS),
            pictures("c", program="exist(exist(find))"),
            passage("d"),
        ]
        a, b, c, d = client.execute("fake-modular", items).executions
        assert isinstance(a, Execution)
        assert isinstance(d, Execution)
        assert (b.error, c.error) == ("prediction_failed", "invalid_item")
        assert c.message.startswith("program: ")

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"text": ""}, "text: it is empty"),
            ({"text": "x" * 10_001}, "text: 10001 characters; at most 10000 are read"),
            ({"program": "x" * 10_001}, "program: 10001 characters; at most 10000 are read"),
        ],
    )
    def test_a_text_out_of_bounds_is_an_error_of_its_item(self, client, bad, message):
        refused = passage("a").model_copy(update=bad)
        first, second = client.execute("fake-modular", [refused, passage("b")]).executions
        assert (first.id, first.error, first.message) == ("a", "invalid_item", message)
        assert isinstance(second, Execution)

    def test_a_passage_out_of_bounds_is_a_problem(self):
        item = passage("a").model_copy(update={"passage": "x" * 1_000_001})
        assert find_text_problem(item) == "passage: 1000001 characters; at most 1000000 are read"

    def test_each_kind_is_asked_for_its_own(self, client):
        with pytest.raises(InvalidRequest, match="fake is a reader") as refused:
            client.execute("fake", [pictures()])
        assert refused.value.field == "system"
        for ask in (client.predict, client.explain):
            with pytest.raises(InvalidRequest, match="fake-modular is a modular network"):
                ask("fake-modular", [question("a")])
        with pytest.raises(UnknownSystem):
            client.execute("other", [pictures()])

    def test_systems_say_their_kind(self, client):
        kinds = {info.name: info.kind for info in client.systems().systems}
        assert kinds == {"fake": "reader", "fake-modular": "modular"}

    def test_limits(self, client):
        with pytest.raises(TooLarge, match="6 items in one request"):
            client.execute("fake-modular", [pictures(str(number)) for number in range(6)])
        big = ModuleImage(name="big.png", data=base64.b64encode(bytes(100_000)))
        with pytest.raises(TooLarge, match="more than 100000 bytes"):
            client.execute("fake-modular", [pictures().model_copy(update={"images": [big]})])
        long = passage().model_copy(update={"tokens": [(0, 3)] * 41})
        (refused,) = client.execute("fake-modular", [long]).executions
        assert refused == ItemError(
            id="a", error="invalid_item", message="passage: the item has 41 tokens; at most 40 are taken"
        )

    def test_the_client_refuses_what_is_no_request(self, client):
        with pytest.raises(InvalidRequest, match="two items have the id 'a'"):
            client.execute("fake-modular", [pictures("a"), passage("a")])

    def test_what_is_no_image_names_its_field(self, server):
        body = {"system": "fake-modular", "items": [
            {"id": "a", "text": "x", "images": [{"name": "a.png", "data": "abc"}]}
        ]}  # fmt: skip
        answer = httpx.post(f"{server.url}/v1/execute", json=body, trust_env=False)
        assert answer.status_code == 422
        assert answer.json()["field"] == "items.0.images.0.data"

    def test_an_answer_to_other_items_is_none(self, monkeypatch, client, server):
        async def other(request: ExecuteRequest, request_id: str):
            return await original(request.model_copy(update={"items": request.items[::-1]}), request_id)

        original = server.service.answer
        monkeypatch.setattr(server.service, "answer", other)
        with pytest.raises(BadResponse, match="'b' in the place of 'a'"):
            client.execute("fake-modular", [pictures("a"), pictures("b")])


class TestBatches:
    def test_requests_that_wait_run_together_and_apart_from_predictions(self):
        system = Gated()
        with FakeModelServer(system) as running, running.client() as client:
            first = threading.Thread(target=client.execute, args=("gated", [pictures("a")]))
            first.start()
            while not system.batches:
                first.join(0.01)
            rest = [
                threading.Thread(target=client.execute, args=("gated", [pictures(name)])) for name in "bc"
            ]
            for thread in rest:
                thread.start()
            while running.service.waiting < 2:
                first.join(0.01)
            system.gate.set()
            for thread in (first, *rest):
                thread.join()
        assert system.batches[0] == ["a"]
        assert sorted(system.batches[1]) == ["b", "c"]

    def test_the_deadline(self):
        system = Gated()
        with FakeModelServer(system) as running:
            with running.client(retry=Retry(total=0)) as client, pytest.raises(DeadlineExceeded):
                client.execute("gated", [pictures()], timeout=0.2)
            system.gate.set()

    def test_a_system_may_be_both(self):
        with FakeModelServer(Both()) as running, running.client() as client:
            assert client.execute("both", [pictures()]).executions[0].id == "a"
            assert client.predict("both", [question("q")]).predictions[0].id == "q"


class TestLoading:
    def test_it_is_warmed_up_with_its_own_item(self):
        class Broken(FakeModularSystem):
            warm_up = FakeModularSystem.warm_up.model_copy(update={"program": "nonsense"})

        sources_ = {"broken": Source(Broken, AvailableSystem(kind="modular"))}
        with FakeModelServer(sources=sources_, preload=False) as running, running.client() as client:
            kinds = {info.name: info.kind for info in client.systems().systems}
            assert kinds["broken"] == "modular"  # before it was ever loaded
            with pytest.raises(LoadFailed, match="program"):
                client.execute("broken", [pictures()])

    def test_served_under_another_name_it_executes_as_it_does(self):
        network = ServedNetwork("served", FakeModularSystem(), Hardware())
        assert network.name == "served"
        assert network.warm_up == FakeModularSystem.warm_up
        assert network.execute([pictures()]) == FakeModularSystem().execute([pictures()])

    def test_each_kind_is_loaded_by_its_own_function(self, monkeypatch, tmp_path):
        def load(weights, device):
            assert device == torch.device("cpu")
            return FakeModularSystem("toy")

        monkeypatch.setitem(SYSTEMS, "toy", SystemSpec("toy", "A toy", load, kind="modular"))
        assert load_modular_system("toy").execute([pictures()])
        with pytest.raises(InvalidRequest, match="toy is a modular network"):
            load_system("toy")
        with pytest.raises(InvalidRequest, match="qi2019 is a reader"):
            load_modular_system("qi2019")
        (source,) = list_sources([ShippedSpec("mine", "toy", tmp_path)], Hardware()).values()
        assert source.about.kind == "modular"
        assert source.load().execute([pictures()])

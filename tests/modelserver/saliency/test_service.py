"""Saliency over HTTP.

The tests check explanations, systems without saliency, own classes, errors of items, limits and deadlines.
"""

import threading

import httpx
import pytest

from modelserver.inputs.packing import BatchLimits
from modelserver.saliency.attribution import explain
from modelserver.serving.devices import Hardware
from modelserver.serving.fake_server import FAILS, INVALID, FakeModelServer, FakeSystem
from modelserver.serving.loading import ServedReader
from modelserver.serving.service import ServerLimits
from modelserver.systems import own
from modelserver.wire.client import ModelClient, Retry
from modelserver.wire.errors import DeadlineExceeded, InvalidRequest, TooLarge, UnknownSystem
from modelserver.wire.schema import ExplainResponse, Explanation, ItemError, SaliencyOptions
from tests.modelserver.saliency.toys import ITEM, Toy

DOT = SaliencyOptions(summary="dot", steps=4)
MINE = '''
import torch
from tests.modelserver.saliency.toys import Toy

class Mine(Toy):
    """A toy in a file."""

    def __init__(self):
        super().__init__(lambda x: x.square().sum(), [[3.0], [5.0]])

    def predict(self, items):
        return [{"answer": "Mira"} for item in items]

class Closed:
    """Says nothing of its inside."""

    def predict(self, items):
        return [{"answer": "Mira"} for item in items]
'''


class Open(FakeSystem):
    """A fake with the saliency of a formula.

    It records its batches and may be held up.
    """

    def __init__(self) -> None:
        super().__init__("open")
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def explain(self, items, options):
        self.batches.append([item.id for item in items])
        assert self.gate.wait(20)
        if any(FAILS in item.question for item in items):
            raise RuntimeError("broken")
        toy = Toy(lambda x: x.square().sum(), [[3.0], [5.0]])
        return explain(toy, items, options, revision=self.revision)


@pytest.fixture
def system():
    return Open()


def client(server):
    return ModelClient(server.url, retry=Retry(total=0))


def named(name, question="Who sang?"):
    return ITEM.model_copy(update={"id": name, "question": question})


def test_it_works(system):
    with FakeModelServer(system, FakeSystem()) as server, client(server) as model_client:
        response = model_client.explain("open", [named("a"), named("b")], DOT, request_id="r7")
        assert isinstance(response, ExplainResponse)
        assert (response.system, response.revision) == ("open", system.revision)
        for explanation, name in zip(response.explanations, "ab", strict=True):
            assert isinstance(explanation, Explanation)
            assert (explanation.id, explanation.revision, explanation.options) == (name, system.revision, DOT)
            assert [s.score for s in explanation.scores] == pytest.approx([9.0, 25.0])
            assert explanation.delta == pytest.approx(0.0, abs=1e-9)
        assert model_client.predict("open", [named("a")]).predictions[0].answer  # predictions go on beside it
        page = httpx.get(f"{server.url}/metrics", trust_env=False).text
        assert 'modelserver_items_total{outcome="explained",system="open"} 2' in page


def test_who_has_none(system):
    with FakeModelServer(system, FakeSystem()) as server, client(server) as model_client:
        with pytest.raises(InvalidRequest, match="fake has no saliency") as refused:
            model_client.explain("fake", [named("a")])
        assert refused.value.field == "system"
        with pytest.raises(UnknownSystem):
            model_client.explain("other", [named("a")])


def test_an_item_that_fails_costs_the_others_nothing(system):
    items = [named("a"), named("b", f"Who {FAILS}?"), named("c", f"Who {INVALID}?"), named("d")]
    with FakeModelServer(system) as server, client(server) as model_client:
        a, b, c, d = model_client.explain("open", items, DOT).explanations
    assert isinstance(a, Explanation)
    assert isinstance(d, Explanation)
    assert isinstance(b, ItemError)
    assert isinstance(c, ItemError)
    assert (b.error, c.error) == ("prediction_failed", "invalid_item")


def test_only_what_is_asked_alike_runs_together(system):
    system.gate.clear()
    with FakeModelServer(system) as server, client(server) as model_client:
        ways = [DOT, SaliencyOptions(method="occlusion"), DOT]
        explanations = {}

        def ask(number):
            explanations[number] = model_client.explain(
                "open", [named(str(number))], ways[number]
            ).explanations[0]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        system.gate.set()
        for thread in threads:
            thread.join()
    assert [explanations[number].options for number in range(3)] == ways
    assert all(not {"1"} < set(batch) for batch in system.batches)


def test_limits_and_deadlines_are_those_of_predictions(system):
    system.gate.clear()
    limits = ServerLimits(items=2, batch=BatchLimits(item_tokens=8))
    with FakeModelServer(system, limits=limits) as server, client(server) as model_client:
        with pytest.raises(TooLarge):
            model_client.explain("open", [named(name) for name in "abc"])
        long = named("a", "Who sang " + "and sang " * 9)
        (refused,) = model_client.explain("open", [long]).explanations
        assert refused.error == "invalid_item"
        with pytest.raises(DeadlineExceeded):
            model_client.explain("open", [named("a")], timeout=0.2)
        system.gate.set()
        assert isinstance(model_client.explain("open", [named("a")]).explanations[0], Explanation)


@pytest.mark.parametrize(
    ("options", "field"), [({"method": "guess"}, "options.method"), ({"steps": 0}, "options.steps")]
)
def test_malformed_options_name_the_field(system, options, field):
    body = {"system": "open", "items": [ITEM.model_dump()], "options": options}
    with FakeModelServer(system) as server:
        answer = httpx.post(f"{server.url}/v1/explain", json=body, trust_env=False)
    assert answer.status_code == 422
    assert answer.json()["field"] == field


class TestOwnClasses:
    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "mine.py"
        path.write_text(MINE, encoding="utf-8")
        return path

    def test_one_that_is_explainable(self, file):
        own_system = own.load(file, "Mine", "cpu", name="mine")
        (explanation,) = own_system.explain([ITEM], DOT)
        assert [s.score for s in explanation.scores] == pytest.approx([9.0, 25.0])
        assert explanation.revision == own_system.revision

    def test_one_that_is_not(self, file):
        assert own.load(file, "Closed", "cpu", name="mine").explain is None

    def test_in_half_precision_the_revision_says_so(self, file):
        own_system = own.load(file, "Mine", "cpu", name="mine")
        served = ServedReader("served", own_system, Hardware(half=True))
        assert served.explain is not None
        (explanation,) = served.explain([ITEM], DOT)
        assert explanation.revision == served.revision == f"{own_system.revision}-bf16"
        closed = own.load(file, "Closed", "cpu", name="mine")
        assert ServedReader("served", closed, Hardware()).explain is None

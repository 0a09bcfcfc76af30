"""Every server does what these tests ask of two of them.

One is the fake, the other a real server process with trained systems.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import modelserver
from benchmarks.models.predictions import make_questions, run_server
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.wire.client import ModelClient
from modelserver.wire.errors import InvalidRequest, UnknownSystem
from modelserver.wire.schema import QAItem, QAPrediction

WEIGHTS = Path(modelserver.__file__).parent / "weights"


@pytest.fixture(scope="module", params=["fake", "real"])
def client(request: pytest.FixtureRequest) -> Iterator[ModelClient]:
    if request.param == "fake":
        with FakeModelServer(FakeSystem("one"), FakeSystem("two")) as server, server.client() as client:
            yield client
        return
    if not WEIGHTS.is_dir():
        pytest.skip("no trained weights are shipped, so there is no real system to serve")
    command = ("modelserver", "serve", "--port", "0", "--processes", "1")
    with run_server(*command) as process, ModelClient(process.url) as client:
        yield client


@pytest.fixture(params=[0, 1], ids=["first", "second"])
def system(client: ModelClient, request: pytest.FixtureRequest) -> str:
    """The name of a served system."""
    names = [info.name for info in client.systems().systems]
    if request.param >= len(names):
        pytest.skip("only one system is served")
    return names[request.param]


def predicted(client: ModelClient, system: str, items: list[QAItem]) -> list[QAPrediction]:
    outcomes = client.predict(system, items).predictions
    predictions = [outcome for outcome in outcomes if isinstance(outcome, QAPrediction)]
    assert len(predictions) == len(items), outcomes
    return predictions


def test_systems_are_described(client):
    for info in client.systems().systems:
        assert info.loaded
        assert info.description
        assert len(info.revision) == 12
        assert int(info.revision, 16) >= 0


def test_predictions_are_consistent_with_their_items(client, system):
    items = make_questions(6)
    for item, prediction in zip(items, predicted(client, system, items), strict=True):
        sentences = {(title, i): text for title, texts in item.context for i, text in enumerate(texts)}
        assert prediction.fact_probabilities is not None
        assert [fact.fact for fact in prediction.fact_probabilities] == list(sentences)
        probability = {fact.fact: fact.probability for fact in prediction.fact_probabilities}
        assert prediction.threshold is not None
        assert set(prediction.facts) == {fact for fact, p in probability.items() if p > prediction.threshold}
        assert prediction.facts == sorted(prediction.facts, key=lambda fact: -probability[fact])
        assert (prediction.answer in {"yes", "no"}) or prediction.type == "span"
        if prediction.location is not None and prediction.location.start is not None:
            assert prediction.location.first is not None
            sentence = sentences[prediction.location.first]
            assert sentence[prediction.location.start : prediction.location.end] == prediction.answer


def test_a_prediction_does_not_depend_on_its_batch(client, system):
    items = make_questions(9, seed=3)
    together = predicted(client, system, items)
    backwards = predicted(client, system, items[::-1])[::-1]
    alone = [predicted(client, system, [item])[0] for item in items]
    for others in (backwards, alone):
        for prediction, repeated in zip(together, others, strict=True):
            assert (prediction.answer, prediction.type, prediction.facts, prediction.location) == (
                repeated.answer,
                repeated.type,
                repeated.facts,
                repeated.location,
            )
            assert [fact.probability for fact in prediction.fact_probabilities or []] == pytest.approx(
                [fact.probability for fact in repeated.fact_probabilities or []], abs=1e-4
            )


def test_many_callers_at_once_each_get_their_own_answers(client, system):
    items = make_questions(24, seed=5)
    with ThreadPoolExecutor(8) as pool:
        predictions = list(pool.map(lambda item: predicted(client, system, [item])[0], items))
    assert [prediction.id for prediction in predictions] == [item.id for item in items]
    expected = predicted(client, system, items)
    assert [prediction.answer for prediction in predictions] == [prediction.answer for prediction in expected]


@pytest.mark.parametrize(
    "context",
    [
        [],
        [("Title", [])],
        [("Title", [""])],
        [("Title", ["One sentence."])],
        [("Ünïcode 名前", ["e\u0301 combining, 😀 beyond the first plane, \u00a0 and \u200b spaces."])],
    ],
    ids=["no-article", "no-sentence", "empty-sentence", "one-sentence", "unicode"],
)
def test_an_odd_context_is_predicted_or_refused_and_costs_the_others_nothing(client, system, context):
    odd = QAItem(id="odd", question="Who is it?", context=context)
    usual = make_questions(2, seed=7)
    outcomes = client.predict(system, [usual[0], odd, usual[1]]).predictions
    assert [outcome.id for outcome in outcomes] == [usual[0].id, "odd", usual[1].id]
    assert isinstance(outcomes[0], QAPrediction)
    assert isinstance(outcomes[2], QAPrediction)
    assert isinstance(outcomes[1], QAPrediction) or outcomes[1].error == "invalid_item"


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"question": ""}, "question: it is empty"),
        ({"question": "a" * 10_001}, "question: 10001 characters; at most 10000 are read"),
        ({"context": [("T", ["", "a" * 1_000_001])]}, "context.0.1.1: 1000001 characters; at most 1000000"),
        ({"context": [("a" * 1_000_001, [])]}, "context.0.0: 1000001 characters; at most 1000000"),
    ],
)
def test_an_empty_or_huge_text_is_an_error_of_its_item(client, system, odd, message):
    first, second = make_questions(2, seed=8)
    outcomes = client.predict(
        system, [first, first.model_copy(update={"id": "odd"} | odd), second]
    ).predictions
    assert [isinstance(outcome, QAPrediction) for outcome in outcomes] == [True, False, True]
    assert (outcomes[1].error, outcomes[1].message[: len(message)]) == ("invalid_item", message)


def test_an_unknown_system_is_named_with_those_served(client):
    with pytest.raises(UnknownSystem, match="no system 'nobody' is served; served: "):
        client.predict("nobody", make_questions(1))


def test_a_deadline_that_is_none_names_its_header(client, system):
    with pytest.raises(InvalidRequest) as caught:
        client.predict(system, make_questions(1), timeout=-1)
    assert caught.value.field == "X-Timeout-Seconds"

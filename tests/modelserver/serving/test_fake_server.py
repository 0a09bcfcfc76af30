import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.models.predictions import run_server
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.wire.client import ModelClient
from modelserver.wire.errors import Unavailable
from modelserver.wire.schema import ItemError, QAItem, QAPrediction
from tests.modelserver.gates import item

CONTEXT = [
    ("Velvet Harbour", ["Velvet Harbour is a band from Ostmark.", " It was founded by Mira Tolland."]),
    ("Mira Tolland", ["Mira Tolland is a singer.", " She was born in Kessel in 1971."]),
    ("Lower Kessel", ["Lower Kessel is a village."]),
]
TEXT = st.text("aA bB1.é\n", max_size=12)
ITEMS = st.builds(
    QAItem,
    id=st.just("a"),
    question=st.text("aA isW?", min_size=1, max_size=20),
    context=st.lists(
        st.tuples(TEXT, st.lists(TEXT, max_size=3)), max_size=3, unique_by=lambda article: article[0]
    ),
)


def predicted(question: str, system: FakeSystem | None = None) -> QAPrediction:
    qa_item = QAItem(id="a", question=question, context=CONTEXT)
    (prediction,) = (system or FakeSystem()).predict([qa_item])
    return prediction


class TestFakeSystem:
    def test_it_works(self):
        prediction = predicted("Who founded the band Velvet Harbour?")
        assert prediction.answer == "Ostmark"
        assert prediction.type == "span"
        assert prediction.facts == [("Velvet Harbour", 0), ("Velvet Harbour", 1)]

    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("Is Mira Tolland of Velvet Harbour?", "yes"),
            ("Did Velvet Harbour split?", "no"),
            ("Was the moon full?", "no"),
        ],
    )
    def test_questions_with_a_verb_in_front(self, question, answer):
        prediction = predicted(question)
        assert (prediction.answer, prediction.type, prediction.location) == (answer, answer, None)

    def test_the_answer_may_lie_outside_the_explanation(self):
        """LocA needs both cases."""
        prediction = predicted(
            "In what place is it known when she painted oceans?", FakeSystem(threshold=0.9)
        )
        assert prediction.location is not None
        assert prediction.location.first not in prediction.facts

    @given(ITEMS)
    def test_predictions_are_consistent(self, qa_item):
        (prediction,) = FakeSystem().predict([qa_item])
        sentences = {(title, i): text for title, texts in qa_item.context for i, text in enumerate(texts)}
        assert prediction.fact_probabilities is not None
        assert [fact.fact for fact in prediction.fact_probabilities] == list(sentences)
        probability = {fact.fact: fact.probability for fact in prediction.fact_probabilities}
        assert prediction.threshold is not None
        assert set(prediction.facts) == {fact for fact, p in probability.items() if p > prediction.threshold}
        assert prediction.facts == sorted(prediction.facts, key=lambda fact: -probability[fact])
        if prediction.location is not None:
            assert prediction.location.first is not None
            sentence = sentences[prediction.location.first]
            assert sentence[prediction.location.start : prediction.location.end] == prediction.answer

    def test_removing_the_answer_changes_it(self):
        """FaRM needs answers that depend on the context."""
        qa_item = QAItem(id="a", question="Who founded the band Velvet Harbour?", context=CONTEXT[1:])
        assert FakeSystem().predict([qa_item])[0].answer != predicted(qa_item.question).answer

    def test_the_revision_tells_settings_apart(self):
        revisions = {FakeSystem(name, threshold=t).revision for name in "ab" for t in (0.1, 0.2)}
        assert len(revisions) == 4
        assert all(len(revision) == 12 and int(revision, 16) >= 0 for revision in revisions)


class TestFakeModelServer:
    def test_several_systems(self):
        strict = FakeSystem("b", threshold=0.9)
        with FakeModelServer(FakeSystem("a"), strict) as server, server.client() as client:
            assert [info.name for info in client.systems().systems] == ["a", "b"]
            assert client.predict("b", [item("x")]).revision == strict.revision

    def test_an_outage_lasts_as_long_as_its_block(self):
        with FakeModelServer() as server, server.client() as client:
            with server.outage(), pytest.raises(Unavailable):
                client.predict("fake", [item("a")])
            assert not isinstance(client.predict("fake", [item("a")]).predictions[0], ItemError)

    def test_closing_twice_is_harmless(self):
        server = FakeModelServer()
        server.close()
        server.close()

    def test_as_a_process(self):
        with run_server("modelserver.serving.fake_server", "--port", "0", "--systems", "a,b") as server:
            with ModelClient(server.url) as client:
                assert client.predict("b", [item("x")]).predictions[0].id == "x"
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(timeout=10) == 0

"""Tests of a researcher's own class behind the server."""

import textwrap
import threading
from pathlib import Path

import pytest

from modelserver.serving.fake_server import FakeModelServer
from modelserver.systems import own
from modelserver.systems.base import complete_prediction
from modelserver.wire.errors import InvalidRequest, UnusableSystem
from modelserver.wire.schema import ItemError, QAItem, QAPrediction
from tests.modelserver.gates import item

ITEM = QAItem(id="a", question="Who sang?", context=[("Band", ["Mira sang.", " It rained."])])


PREDICT = "def predict(self, items): ..."


@pytest.fixture
def written(tmp_path):
    """Write a file of Python and return its path."""

    def write(text: str, name: str = "mine.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def loaded(path: Path, device: str = "cpu") -> own.OwnSystem:
    return own.load(path, "Mine", device, name="mine")


def test_it_works(written):
    path = written(
        '''
        class Mine:
            """Says the first title.

            More about it.
            """
            def predict(self, items):
                return [{"answer": item.context[0][0], "facts": [["Band", 1]]} for item in items]
        '''
    )
    system = loaded(path)
    assert (system.name, system.description) == ("mine", "Says the first title.")
    assert len(system.revision) == 12
    assert system.cost(ITEM) == 6
    assert system.predict([ITEM]) == [QAPrediction(id="a", answer="Band", facts=[("Band", 1)])]
    path.write_text(path.read_text() + "\n# changed\n")
    assert loaded(path).revision != system.revision


def test_what_it_may_say_of_itself(written):
    system = loaded(
        written(
            """
            from neighbour import WORDS
            from modelserver.wire.schema import QAPrediction

            class Mine:
                description = "A test"
                revision = "v7"
                weight_bytes = 123

                def __init__(self, device):
                    self.device = device

                def cost(self, item):
                    return 3

                def check(self, item):
                    if not item.context:
                        raise ValueError(WORDS)

                def predict(self, items):
                    return [QAPrediction(id=item.id, answer=self.device, facts=[]) for item in items]
            """
        )
        if written("WORDS = 'no context'", "neighbour.py")
        else None,
        device="cuda:1",
    )
    assert (system.description, system.revision, system.weight_bytes) == ("A test", "v7", 123)
    assert system.cost(ITEM) == 3
    with pytest.raises(InvalidRequest, match="no context"):
        system.check(QAItem(id="b", question="Who?", context=[]))
    assert system.predict([ITEM])[0].answer == "cuda:1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class Mine\n    pass", "line 1: expected ':'"),
        ("import no_such_module", "it cannot be imported: ModuleNotFoundError: No module named"),
        ("1 / 0", "it cannot be imported: ZeroDivisionError"),
        ("class Other: pass", "class Mine: the file defines no such class"),
        ("Mine = 5", "class Mine: the file defines no such class"),
        ("class Mine: pass", r"class Mine: it has no method predict\(items\)"),
        ("class Mine:\n predict = 5", "class Mine: predict is not a method"),
        ("class Mine:\n cost = 5\n def predict(self, items): ...", "class Mine: cost is not a method"),
        ("class Mine:\n def __init__(self, model): ...\n def predict(self, items): ...",
         "class Mine: it cannot be created: TypeError"),
        ("class Mine:\n revision = 5\n def predict(self, items): ...",
         "class Mine: revision is 5, and not a text"),
        (f"class Mine:\n revision = 'v' * 51\n {PREDICT}", "class Mine: revision has 51 characters"),
        (f"class Mine:\n description = ' '\n {PREDICT}", "class Mine: description is ' ', and not a text"),
        (f"class Mine:\n weight_bytes = '1G'\n {PREDICT}", "class Mine: weight_bytes is '1G'"),
        ("class Mine:\n async def predict(self, items): ...", "class Mine: predict is asynchronous"),
        ("import sys; sys.exit(3)", "it cannot be imported: RuntimeError: SystemExit: 3"),
        (f"import sys\nclass Mine:\n def __init__(self): sys.exit(3)\n {PREDICT}",
         "class Mine: it cannot be created: RuntimeError: SystemExit: 3"),
    ],
)  # fmt: skip
def test_what_breaks_the_interface_names_file_class_and_place(written, text, words):
    path = written(text)
    with pytest.raises(UnusableSystem, match=words) as caught:
        loaded(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnusableSystem, match="no such file"):
        loaded(tmp_path / "no.py")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("[]", "predict returned 0 answers to 1 items"),
        ("None", "predict returned NoneType, not a list of answers"),
        ("{'a': 'x'}", "predict returned dict, not a list of answers"),
        ("[{'answer': None}]", "answer: Input should be a valid string"),
        ("[{'answer': 'x' + chr(0)}]", "answer: it holds the character 0"),
        ("[{'answer': 'x' + chr(0xd800)}]", "answer: "),
        ("[{'answer': 'x', 'facts': [['Band', 0], ['Band', 0]]}]", "facts: one is named twice"),
        ("[{'answer': 'x', 'threshold': float('nan')}]", "threshold: Input should be less"),
        ("[{'answer': 'x', 'location': {'first': ['Band', 7], 'last': None}}]",
         "location: the context holds no sentence 7 of an article 'Band'"),
        ("[{'answer': 'x', 'location': {'first': ['Band', 0], 'last': ['Band', 0], 'start': 0, 'end': 99}}]",
         "location.end: the sentence has 10 characters"),
        ("['text']", "the answer to an item is a mapping or a QAPrediction, not str"),
        ("[{}]", "answer: is missing"),
        ("[{'answer': 'x', 'confidence': 1}]", "confidence: there is no such field"),
        ("[{'answer': 'x', 'id': 'b'}]", "id: the answer to 'a' has the id 'b'"),
        ("[{'answer': 'x', 'facts': [['Band', 2]]}]",
         "facts: the context holds no sentence 2 of an article 'Band'"),
        ("[{'answer': 'x', 'fact_probabilities': [{'title': 'Band', 'index': 0, 'probability': 0.5}]}]",
         "fact_probabilities: they must be those of all sentences, in their order"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_names_its_field(written, answer, words):
    system = loaded(written(f"class Mine:\n def predict(self, items):\n  return {answer}"))
    with pytest.raises(ValueError, match=words):
        system.predict([ITEM])


def test_it_is_asked_by_one_thread_at_a_time_unless_it_is_safe(written):
    text = """
        import threading
        class Mine:
            thread_safe = {safe}
            def __init__(self):
                self.at_once, self.most, self.met = 0, 0, threading.Event()
            def predict(self, items):
                self.at_once += 1
                self.most = max(self.most, self.at_once)
                if self.at_once > 1:
                    self.met.set()
                self.met.wait({patience})
                self.at_once -= 1
                return [{{"answer": str(self.most)}} for item in items]
        """
    for safe, patience, most in ((False, 0.05, {1}), (True, 20, {2, 3})):
        system = loaded(written(text.format(safe=safe, patience=patience)))
        threads = [threading.Thread(target=system.predict, args=([ITEM],)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert int(system.predict([ITEM])[0].answer) in most


def test_behind_the_server_one_bad_item_costs_only_itself(written):
    system = loaded(
        written(
            """
            class Mine:
                def predict(self, items):
                    return [{"answer": str(1 // (item.id != "b")), "facts": []} for item in items]
            """
        )
    )
    with FakeModelServer(system) as server, server.client() as client:
        outcomes = client.predict("mine", [item(name) for name in "abc"]).predictions
    assert [type(outcome) for outcome in outcomes] == [QAPrediction, ItemError, QAPrediction]
    assert "ZeroDivisionError" in outcomes[1].message


def test_numbers_of_numpy_and_torch_are_numbers(written):
    system = loaded(
        written(
            """
            import numpy, torch
            class Mine:
                def predict(self, items):
                    half = torch.tensor(0.5)
                    p = [{"title": "Band", "index": numpy.int64(n), "probability": half} for n in (0, 1)]
                    return [{"answer": "x", "fact_probabilities": p, "threshold": numpy.float32(0.25)}]
            """
        )
    )
    (prediction,) = system.predict([ITEM])
    assert [(fact.index, fact.probability) for fact in prediction.fact_probabilities] == [(0, 0.5), (1, 0.5)]


def test_a_prediction_that_was_made_unchecked_is_checked(written):
    system = loaded(
        written(
            """
            from modelserver.wire.schema import QAPrediction
            class Mine:
                def predict(self, items):
                    return [QAPrediction.model_construct(id="a", answer=5, facts=[])]
            """
        )
    )
    with pytest.raises(ValueError, match="answer: Input should be a valid string"):
        system.predict([ITEM])


def test_facts_of_articles_with_one_title_are_told_once_each():
    band = [("Band", ["It comes from the coast.", "Mira sang."]), ("Band", ["Short.", "x", "z"])]
    question = QAItem(id="a", question="Who sang?", context=band)
    probabilities = [{"title": "Band", "index": index, "probability": 0.5} for index in range(3)]
    location = {"first": ["Band", 0], "last": ["Band", 0], "start": 18, "end": 23}
    prediction = complete_prediction(
        question, {"answer": "coast", "fact_probabilities": probabilities, "location": location}
    )
    assert prediction.location is not None
    assert prediction.location.end == 23
    assert prediction.fact_probabilities is not None
    complete_prediction(
        question, {"answer": "coast", "fact_probabilities": [*probabilities[:2], *probabilities]}
    )


@pytest.mark.parametrize(
    ("cost", "words"), [("-1", "cost returned -1, which is below 0"), ("'x'", "invalid")]
)
def test_a_cost_that_is_none(written, cost, words):
    system = loaded(written(f"class Mine:\n {PREDICT}\n def cost(self, item): return {cost}"))
    with pytest.raises(ValueError, match=words):
        system.cost(ITEM)


def test_what_a_class_does_wrong_on_purpose_costs_only_its_item(written):
    """Among good items are errors that would end a thread or have no text."""
    system = loaded(
        written(
            """
            import sys
            class Mute(Exception):
                def __str__(self):
                    raise ValueError
            class Mine:
                __slots__ = ()
                def predict(self, items):
                    for item in items:
                        if item.id == "exit":
                            sys.exit(3)
                        if item.id == "mute":
                            raise Mute
                        if item.id == "no text":
                            raise ValueError(chr(0xd800))
                    return [{"answer": item.id} for item in items]
            """
        )
    )
    with FakeModelServer(system) as server, server.client() as client:
        outcomes = client.predict("mine", [item(name) for name in ("a", "exit", "b", "mute", "no text", "c")])
        messages = {error.id: error.message for error in outcomes.predictions if isinstance(error, ItemError)}
        assert messages == {
            "exit": "mine failed: RuntimeError: SystemExit: 3",
            "mute": "mine failed: Mute",
            "no text": "mine failed: ValueError: \\ud800",
        }
        assert server.service.threads.alive
        assert client.predict("mine", [item("d")]).predictions[0].answer == "d"

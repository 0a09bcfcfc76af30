"""Tests of a researcher's own class behind the server."""

import textwrap
import threading
from pathlib import Path

import pytest

from modelserver.errors import InvalidRequest, UnusableSystem
from modelserver.fake import FakeModelServer
from modelserver.schema import ItemError, QAItem, QAPrediction
from modelserver.systems import own
from tests.modelserver.gates import item

ITEM = QAItem(id="a", question="Who sang?", context=[("Band", ["Mira sang.", " It rained."])])


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
            from modelserver.schema import QAPrediction

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
        ("class Mine:\n predict = 5", "class Mine: predict is no method"),
        ("class Mine:\n cost = 5\n def predict(self, items): ...", "class Mine: cost is no method"),
        ("class Mine:\n def __init__(self, model): ...\n def predict(self, items): ...",
         "class Mine: it cannot be made: TypeError"),
        ("class Mine:\n revision = 5\n def predict(self, items): ...",
         "class Mine: revision is 5, and not a text"),
    ],
)  # fmt: skip
def test_what_breaks_the_interface_names_file_class_and_place(written, text, words):
    path = written(text)
    with pytest.raises(UnusableSystem, match=words) as caught:
        loaded(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnusableSystem, match="there is no such file"):
        loaded(tmp_path / "no.py")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("[]", "predict returned 0 answers to 1 items"),
        ("['text']", "the answer to an item is a mapping or a QAPrediction, not str"),
        ("[{}]", "answer: Field required"),
        ("[{'answer': 'x', 'confidence': 1}]", "confidence: Extra inputs are not permitted"),
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
        import threading, time
        class Mine:
            thread_safe = {safe}
            def __init__(self):
                self.at_once, self.most = 0, 0
            def predict(self, items):
                self.at_once += 1
                self.most = max(self.most, self.at_once)
                time.sleep(0.05)
                self.at_once -= 1
                return [{{"answer": str(self.most)}} for item in items]
        """
    for safe, most in ((False, {1}), (True, {2, 3})):
        system = loaded(written(text.format(safe=safe)))
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
    assert [type(one) for one in outcomes] == [QAPrediction, ItemError, QAPrediction]
    assert "ZeroDivisionError" in outcomes[1].message

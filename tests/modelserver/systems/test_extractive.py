"""`extractive-qa`: scores of spans, facts, long contexts, and folders.

The scores come from logits made by hand, and the folders are used as they come.
"""

import json
import math
import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from modelserver.__main__ import main
from modelserver.inputs.encoders import READ_FILES
from modelserver.inputs.packing import WINDOW_LIMITS, plan_batches
from modelserver.inputs.windows import WindowSettings
from modelserver.registry import load_system
from modelserver.serving.devices import Hardware
from modelserver.serving.loading import list_sources
from modelserver.serving.system_spec import parse, select_local_specs
from modelserver.systems.extractive import ExtractiveSystem, answer_item, compute_relevance, load, merge
from modelserver.wire.errors import InvalidRequest, PredictionFailed, UnreadableWeights
from modelserver.wire.schema import QAItem, QAPrediction
from tests.modelserver.inputs.test_windows import WORDS, item, word_reader
from tests.paths import ROOT

CPU = torch.device("cpu")
THRESHOLD = 0.33
ANOTHER_PROCESS = """
import json, sys
from pathlib import Path
from modelserver.wire.schema import QAItem
from modelserver.registry import load_system

items = [QAItem.model_validate(one) for one in json.loads(Path(sys.argv[1]).read_text())]
for folder in sys.argv[2:]:
    system = load_system("extractive-qa", weights=folder)
    print(system.revision, json.dumps([p.model_dump() for p in system.predict(items)]))
"""


@pytest.fixture
def items(gold):
    return [example.item for example in gold]


@pytest.fixture
def system(encoder_folder):
    return opened(encoder_folder)


@pytest.fixture
def folder(bert_folder, tmp_path):
    """A copy to damage."""
    return shutil.copytree(bert_folder, tmp_path / "copy")


def opened(folder):
    return load(folder, CPU, name="extractive-qa", description="tiny")


def alike(actual, expected):
    """Assert that two predictions differ by rounding at most."""
    assert (actual.answer, actual.location, actual.facts) == (
        expected.answer,
        expected.location,
        expected.facts,
    )
    for a, b in zip(actual.fact_probabilities, expected.fact_probabilities, strict=True):
        assert a.fact == b.fact
        assert a.probability == pytest.approx(b.probability, rel=1e-4, abs=1e-7)


class TestItWorks:
    def test_predictions_are_well_formed(self, system, items):
        for question, p in zip(items, system.predict(items), strict=True):
            assert p.id == question.id
            assert p.type == "span"
            assert [fact.fact for fact in p.fact_probabilities] == [
                (title, i) for title, sentences in question.context for i in range(len(sentences))
            ]
            chosen = {fact.fact for fact in p.fact_probabilities if fact.probability > p.threshold}
            assert set(p.facts) == chosen
            where = p.location
            for fact in (where.first, where.last):
                assert fact is None or fact in chosen
            if where.start is not None:
                title, index = where.first
                assert dict(question.context)[title][index][where.start : where.end] == p.answer

    def test_the_own_answer_as_target_has_the_probability_of_the_answer(self, system, items):
        for question, prediction in zip(items, system.predict(items), strict=True):
            (same,) = system.predict([question.model_copy(update={"target": prediction.answer})])
            assert prediction.target_logprob is None
            assert (
                same.target_logprob
                == same.answer_logprob
                == pytest.approx(prediction.answer_logprob, abs=1e-4)
            )
            assert prediction.answer_logprob < 0

    def test_every_item_has_several_windows(self, system, items):
        for question in items:
            assert len(system.reader.windows(system.reader.encode(question))) > 3
            assert system.cost(question) > len(system.reader.encode(question))

    def test_what_it_refuses(self, system):
        with pytest.raises(InvalidRequest, match="no words"):
            system.check(item(("T", ["x"]), question=" "))

    def test_a_context_without_words(self, system):
        (p,) = system.predict([item(("", ["", " "]))])
        assert (p.answer, p.location, p.facts) == ("", None, [])
        assert [fact.probability for fact in p.fact_probabilities] == [0.0, 0.0]


def hand_made(context, windows, starts, ends, *, longest=3):
    """Return the span scores of a context of single letters.

    They are computed from logits by window.
    """
    reader = word_reader()
    encoded = reader.encode(item(*context))
    cut = [SimpleNamespace(start=a, end=b) for a, b in windows]
    logits = [np.array([s, e], dtype=float) for s, e in zip(starts, ends, strict=True)]
    return encoded, merge([(encoded, w.start, w.end) for w in cut], logits, encoded, longest)


class TestDecoding:
    def test_overlapping_windows_give_the_highest_score_of_those_that_hold_the_span(self):
        # Tokens a b c d in one sentence; the windows are a b c and b c d.
        _, scores = hand_made(
            [("", ["a b c d"])],
            [(0, 3), (1, 4)],
            starts=[[1, 2, 3], [9, 0, 1]],
            ends=[[1, 0, 5], [2, 4, 3]],
            longest=2,
        )
        inf = math.inf
        assert scores.tolist() == [
            [2, 1, 6],  # a, ab, abc of the first window alone
            [11, 13, 12],  # b: max(2+0, 9+2), bc: max(2+5, 9+4), bcd: 9+3
            [8, 3, -inf],  # c: max(3+5, 0+4), cd: 0+3; it ends there
            [4, -inf, -inf],  # d
        ]

    def test_a_span_stays_in_one_article_and_out_of_half_a_title(self):
        # Title c, sentences d and e; title f, sentence g.
        flat = [[0.0] * 5]
        _, scores = hand_made([("c", ["d", "e"]), ("f", ["g"])], [(0, 5)], flat, flat)
        allowed = {(int(a), int(a + b)) for a, b in np.argwhere(np.isfinite(scores))}
        assert allowed == {(0, 0), (1, 1), (1, 2), (2, 2), (3, 3), (4, 4)}

    def test_a_span_has_its_longest(self):
        flat = [[0.0] * 6]
        _, scores = hand_made([("", ["a b c d e f"])], [(0, 6)], flat, flat, longest=1)
        assert scores.shape == (6, 2)
        assert np.isfinite(scores).sum() == 11

    def test_the_first_of_equals_is_the_answer(self):
        flat = [[0.0] * 3]
        encoded, scores = hand_made([("", ["a b c"])], [(0, 3)], flat, flat)
        p = answer_item(item(("", ["a b c"])), encoded, scores, THRESHOLD)
        assert p.answer == "a"

    def test_relevance_is_the_odds_of_the_best_span_that_touches_the_sentence(self):
        # Sentences: a b | c | d; the best span is b with 4, of c it is bc with 3, of d it is d with 1.
        encoded, scores = hand_made(
            [("", ["a b", "c", "d"])], [(0, 4)], starts=[[0, 2, 0, 0]], ends=[[0, 2, 1, 1]], longest=1
        )
        assert compute_relevance(scores - scores.max(), encoded) == pytest.approx(
            [1, math.exp(-1), math.exp(-3)]
        )
        question = item(("", ["a b", "c", "d"]))
        p = answer_item(question, encoded, scores, THRESHOLD)
        assert p.answer == "b"
        assert p.facts == [("", 0), ("", 1)]  # exp(-1) = 0.37 exceeds 0.33
        assert p.threshold == THRESHOLD

    def test_an_answer_in_a_title_needs_no_fact(self):
        encoded, scores = hand_made([("a", ["b"])], [(0, 2)], starts=[[5, 0]], ends=[[5, 0]])
        p = answer_item(item(("a", ["b"])), encoded, scores, THRESHOLD)
        assert (p.answer, p.facts, p.location.first) == ("a", [], None)
        assert p.fact_probabilities[0].probability == pytest.approx(math.exp(-10))

    def test_an_answer_across_sentences_makes_both_facts(self):
        context = ("", ["a b", " c d"])
        encoded, scores = hand_made([context], [(0, 4)], [[0, 9, 0, 0]], [[0, 0, 9, 0]])
        p = answer_item(item(context), encoded, scores, THRESHOLD)
        assert p.answer == "b c"
        assert set(p.facts) == {("", 0), ("", 1)}
        assert (p.location.first, p.location.last, p.location.start) == (("", 0), ("", 1), None)


class PositionFree(torch.nn.Module):
    """Scores a token by itself alone, wherever it stands.

    It records the shapes of its inputs.
    """

    device = CPU

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(5)
        self.table = torch.randn(len(WORDS), 2, generator=generator)
        self.calls = []

    def forward(self, input_ids, token_type_ids, attention_mask):
        self.calls.append(tuple(input_ids.shape))
        start, end = self.table[input_ids].unbind(-1)
        return SimpleNamespace(start_logits=start, end_logits=end)


def positionless(window, overlap, longest=3):
    reader = word_reader(WindowSettings(window, overlap, longest))
    return ExtractiveSystem(PositionFree(), reader, name="toy", description="", revision="0" * 12)


def random_items(count):
    rng = np.random.default_rng(7)
    letters = WORDS[4:]

    def text(most):
        return " ".join(rng.choice(letters, rng.integers(0, most)))

    return [
        QAItem(
            id=str(number),
            question=" ".join(rng.choice(letters, rng.integers(1, 5))),
            context=[
                (text(4), [text(25) for _ in range(rng.integers(0, 5))]) for _ in range(rng.integers(1, 6))
            ],
        )
        for number in range(count)
    ]


class TestWindows:
    @pytest.mark.parametrize("window, overlap", [(16, 4), (16, 7), (30, 5)])
    def test_they_give_what_one_window_over_everything_gives(self, window, overlap):
        short, huge = positionless(window, overlap), positionless(5000, 100)
        questions = random_items(40)
        assert any(len(short.reader.windows(short.reader.encode(question))) > 5 for question in questions)
        assert short.predict(questions) == huge.predict(questions)

    def test_those_of_several_items_run_together(self):
        system = positionless(16, 4)
        questions = random_items(40)
        count = sum(len(system.reader.windows(system.reader.encode(question))) for question in questions)
        system.predict(questions)
        assert len(system.model.calls) == 1
        assert system.model.calls[0][0] == count > 40

    def test_batches_hold_the_bound_and_everything_once(self):
        lengths = np.random.default_rng(1).integers(1, 50, 200).tolist()
        batches = plan_batches([*lengths, 900], replace(WINDOW_LIMITS, tokens=400))
        assert sorted(i for batch in batches for i in batch) == list(range(201))
        assert batches[0] == [200]
        for batch in batches[1:]:
            assert len(batch) * max(lengths[i] for i in batch) <= 400
        rows = sum(len(b) * max(lengths[i] for i in b) for b in batches[1:])
        assert rows < 1.2 * sum(lengths)  # little of it is padding


class TestMetamorphic:
    def test_batch_mates_and_order_change_nothing(self, system, items):
        together = system.predict(items)
        for question, expected in zip(items[:8], together, strict=False):
            alike(system.predict([question])[0], expected)
        for p, expected in zip(system.predict(items[::-1]), together[::-1], strict=True):
            alike(p, expected)

    def test_padding_changes_nothing(self, system, items):
        long = items[0].model_copy(update={"id": "long", "context": items[1].context * 3})
        short = QAItem(id="short", question="Who?", context=[("Mira", ["Mira left."])])
        alike(system.predict([long, short])[1], system.predict([short])[0])

    def test_the_same_input_gives_the_same_output(self, system, items):
        assert system.predict(items[:4]) == system.predict(items[:4])

    def test_in_several_threads_at_once(self, encoder_folder, items):
        expected = opened(encoder_folder).predict(items)
        system = opened(encoder_folder)  # that nobody has asked yet
        with ThreadPoolExecutor(4) as pool:
            for predictions in pool.map(system.predict, [items] * 8):
                for p, q in zip(predictions, expected, strict=True):
                    alike(p, q)


class TestFolder:
    def test_loaded_in_another_process_it_predicts_the_same(
        self, bert_folder, roberta_folder, items, tmp_path
    ):
        (tmp_path / "items.json").write_text(json.dumps([question.model_dump() for question in items[:4]]))
        folders = [bert_folder, roberta_folder]
        process = subprocess.run(
            [sys.executable, "-c", ANOTHER_PROCESS, tmp_path / "items.json", *folders],
            capture_output=True, text=True, cwd=ROOT, check=True, timeout=120,
        )  # fmt: skip
        for folder, line in zip(folders, process.stdout.splitlines(), strict=True):
            revision, _, predictions = line.partition(" ")
            system = opened(folder)
            assert revision == system.revision
            for p, q in zip(json.loads(predictions), system.predict(items[:4]), strict=True):
                alike(QAPrediction.model_validate(p), q)

    def test_under_a_name_of_one_s_own(self, bert_folder, items):
        sources = list_sources(select_local_specs(parse(f"bert=extractive-qa:{bert_folder}")), Hardware())
        served = sources["bert"].load()
        assert served.name == "bert"
        assert served.predict(items[:1]) == opened(bert_folder).predict(items[:1])

    def test_the_revision_names_all_that_is_read_and_nothing_else(self, folder):
        revision = opened(folder).revision
        assert len(revision) == 12
        (folder / "README.md").write_text("A model.")
        assert opened(folder).revision == revision
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "reading.json"):
            assert name in READ_FILES
            text = (folder / name).read_text()
            (folder / name).write_text(text + "\n")
            changed = opened(folder).revision
            assert changed != revision, name
            revision = changed
        weights = load_file(folder / "model.safetensors")
        save_file({k: v * 1.001 for k, v in weights.items()}, folder / "model.safetensors", {"format": "pt"})
        assert opened(folder).revision != revision

    def test_without_reading_json_the_model_s_own_length_is_read(self, folder):
        (folder / "reading.json").unlink()
        assert opened(folder).reader.reading == WindowSettings()  # the encoder reads 512

    def test_none_is_shipped(self):
        with pytest.raises(UnreadableWeights, match="--weights FOLDER"):
            load_system("extractive-qa")


class TestRefused:
    """Every refusal names the file or the folder, and says what is wrong."""

    def test_a_folder_with_a_pickle_alone(self, folder):
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
        with pytest.raises(UnreadableWeights, match=r"pytorch_model\.bin may be a pickle"):
            opened(folder)

    def test_a_pickle_beside_is_not_looked_at(self, folder):
        (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 3'\ntR.")
        opened(folder)

    @pytest.mark.parametrize(
        "name", ["config.json", "tokenizer.json", "tokenizer_config.json", "reading.json"]
    )
    @pytest.mark.parametrize("content", [b"", b"\xff{", b'{"a": 1', b"[1]", b"null", b'"x"'])
    def test_a_damaged_text_file(self, folder, name, content):
        (folder / name).write_bytes(content)
        with pytest.raises(UnreadableWeights, match=f"{folder}/{name}: "):
            opened(folder)

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
    def test_an_empty_object(self, folder, name):
        (folder / name).write_text("{}")
        with pytest.raises(UnreadableWeights, match=f"{folder}"):
            opened(folder)

    def test_damaged_weights(self, folder):
        whole = (folder / "model.safetensors").read_bytes()
        for part in (b"", whole[: len(whole) // 2], whole[:-1], b"\0" * 100):
            (folder / "model.safetensors").write_bytes(part)
            with pytest.raises(UnreadableWeights, match=r"model\.safetensors: "):
                opened(folder)

    @pytest.mark.parametrize(
        "name, message",
        [("config.json", "config.json: there is no such file"), ("tokenizer.json", "it has no words")],
    )
    def test_a_missing_file(self, folder, name, message):
        (folder / name).unlink()
        with pytest.raises(UnreadableWeights, match=message):
            opened(folder)

    def test_a_model_without_its_answer_head(self, folder):
        weights = load_file(folder / "model.safetensors")
        encoder_weights = {
            name: tensor for name, tensor in weights.items() if not name.startswith("qa_outputs")
        }
        save_file(encoder_weights, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(UnreadableWeights, match=r"qa_outputs.*fine-tune it first"):
            opened(folder)

    def test_weights_of_another_size(self, folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 64}))
        with pytest.raises(UnreadableWeights, match=f"{folder}: model: "):
            opened(folder)

    def test_a_tokenizer_with_more_pieces_than_the_model_knows(self, folder):
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["model"]["vocab"] |= {f"new{n}": 800 + n for n in range(9)}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        with pytest.raises(UnreadableWeights, match="809 tokens, but the model knows 800"):
            opened(folder)

    @pytest.mark.parametrize(
        "values, message",
        [
            ({"window": 600, "overlap": 64}, "window: 600, but the model reads 512"),
            ({"windows": 96}, "windows: no such field"),
            ({"window": "many"}, "window: "),
            ({"window": 64, "overlap": 60}, "must hold"),
            ({"threshold": 1}, "threshold must lie"),
        ],
    )
    def test_a_reading_that_cannot_be(self, folder, values, message):
        (folder / "reading.json").write_text(json.dumps(values))
        with pytest.raises(UnreadableWeights, match=f"reading.json: .*{message}"):
            opened(folder)

    def test_weights_that_are_no_numbers(self, folder):
        weights = load_file(folder / "model.safetensors")
        weights["qa_outputs.bias"][0] = float("nan")
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(UnreadableWeights, match=r"qa_outputs\.bias: 1 of its numbers are not finite"):
            opened(folder)

    @pytest.mark.parametrize("logit", [float("nan"), float("inf")])
    def test_logits_that_are_no_numbers(self, folder, items, logit):
        system = opened(folder)
        with torch.no_grad():
            system.model.qa_outputs.bias[0] = logit
        with pytest.raises(PredictionFailed, match="logits are not finite"):
            system.predict(items[:1])

    def test_the_hub_unless_allowed_and_the_network_is_left_alone(self, monkeypatch, capsys, tmp_path):
        monkeypatch.delenv("MODELSERVER_ALLOW_HUB", raising=False)

        def refuse(*arguments):
            raise AssertionError("the network was asked")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        monkeypatch.setattr("modelserver.inputs.encoders.snapshot_download", refuse)
        with pytest.raises(UnreadableWeights, match=r"--allow-hub, .*MODELSERVER_ALLOW_HUB=1"):
            opened("some/encoder")
        (tmp_path / "data.json").write_text("[]")
        arguments = ("predict", "extractive-qa", str(tmp_path / "data.json"), "--weights", "some/encoder")
        assert main([*arguments, "--out", str(tmp_path / "out.json")]) == 1
        assert "some/encoder: there is no such folder" in capsys.readouterr().err

    def test_no_network_to_open_a_folder(self, encoder_folder, monkeypatch):
        def refuse(*arguments):
            raise AssertionError("the network was asked")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        opened(encoder_folder)


class TestHub:
    def test_where_it_is_allowed_no_pickle_and_no_code_is_asked_for(self, bert_folder, monkeypatch):
        patterns_by_name = {}

        def download(name, allow_patterns):
            patterns_by_name[name] = allow_patterns
            return str(bert_folder)

        monkeypatch.setattr("modelserver.inputs.encoders.snapshot_download", download)
        monkeypatch.setenv("MODELSERVER_ALLOW_HUB", "1")
        assert opened("some/encoder").revision == opened(bert_folder).revision
        patterns = patterns_by_name["some/encoder"]
        assert "model.safetensors" in patterns
        assert not [
            pattern
            for pattern in patterns
            if pattern.endswith((".bin", ".py", ".pt", ".pkl")) or pattern == "*"
        ]

    def test_a_model_of_pickles_alone_is_to_be_converted(self, monkeypatch, tmp_path):
        (tmp_path / "config.json").write_text("{}")
        monkeypatch.setattr(
            "modelserver.inputs.encoders.snapshot_download", lambda name, allow_patterns: tmp_path
        )
        monkeypatch.setenv("MODELSERVER_ALLOW_HUB", "1")
        with pytest.raises(UnreadableWeights, match="convert some/encoder --allow-hub --out FOLDER"):
            opened("some/encoder")

    def test_a_failure_is_ours(self, monkeypatch):
        def download(name, allow_patterns):
            raise OSError("no route")

        monkeypatch.setattr("modelserver.inputs.encoders.snapshot_download", download)
        monkeypatch.setitem(os.environ, "MODELSERVER_ALLOW_HUB", "1")
        with pytest.raises(UnreadableWeights, match="some/encoder: not to be had from the hub: no route"):
            opened("some/encoder")

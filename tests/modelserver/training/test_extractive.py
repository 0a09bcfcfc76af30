"""Fine-tuning for `extractive-qa`.

Labels, loss and schedule are compared with values by hand; trainings end or are killed.
"""

import json
import math
import shutil
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from modelserver.__main__ import main
from modelserver.evaluation.predict_file import read_items
from modelserver.inputs.encoders import create_encoder, open_encoder
from modelserver.inputs.features import IN_TITLE
from modelserver.inputs.span_qa import FORMATS, GoldSpan, ReadingExample, read_hotpotqa
from modelserver.inputs.windows import Window, WindowSettings
from modelserver.systems.extractive import load, make_window_reader
from modelserver.training.extractive import FineTuner, Recipe, compute_dev_scores, compute_pace
from modelserver.training.loop import STATE, Row, checkpoint, train
from modelserver.training.span_loss import (
    Labelled,
    compute_loss,
    find_token_span,
    group_by_length,
    is_readable,
    label,
    select_learnable,
)
from modelserver.wire.errors import UnreadableData
from modelserver.wire.schema import QAPrediction
from modelserver.world import write_split
from tests.analysis.data import real_data
from tests.modelserver.inputs.test_span_qa import SAMPLES, squad
from tests.modelserver.inputs.test_windows import item, word_reader

CPU = torch.device("cpu")
SHORT = WindowSettings(96, 24, 8)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A file of 60 questions of the generated world in the HotpotQA form."""
    path = tmp_path_factory.mktemp("world") / "train.json"
    write_split(path, "train", 60, 5)
    return path


def tuner(examples, *, steps=4, seed=1, **changed):
    """Return a tiny new encoder about to learn from the examples."""
    torch.manual_seed(seed)
    texts = [text for e in examples for title, s in e.item.context for text in (e.item.question, title, *s)]
    model, tokenizer = create_encoder(texts, CPU, hidden=32, layers=1, heads=2, pieces=1500)
    reader = make_window_reader(tokenizer, SHORT)
    recipe = Recipe(
        **{"steps": steps, "batch": 4, "windows": 2, "rate": 3e-3, "check_every": 2, "seed": seed} | changed
    )
    return FineTuner(model, tokenizer, reader, recipe, select_learnable(examples, reader))


def without_dropout(model):
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


def example(text, *spans, question="a b", title=""):
    return ReadingExample(item((title, [text]), question=question), ("x",), spans)


def at(start, end, sentence=0):
    return GoldSpan(0, sentence, start, sentence, end)


class TestLabels:
    @pytest.mark.parametrize(
        "span, tokens",
        [
            (at(0, 2), (1, 1)),
            (at(3, 8), (2, 3)),
            (at(4, 7), (2, 3)),  # parts of words are whole tokens
            (at(2, 3), None),  # white space alone
            (at(0, 2, IN_TITLE), (0, 0)),
            (GoldSpan(1, 0, 0, 0, 2), None),
        ],
    )
    def test_the_tokens_that_touch_a_span(self, span, tokens):
        encoded = word_reader().encode(item(("jj", ["aa bb cc"])))
        assert find_token_span(encoded, span) == tokens

    def test_a_span_across_sentences(self):
        encoded = word_reader().encode(item(("", ["a b", "c d"])))
        assert find_token_span(encoded, GoldSpan(0, 0, 2, 1, 1)) == (1, 2)

    def test_each_window_has_the_spans_that_it_holds_whole(self):
        reader = word_reader()  # windows of 11 tokens, 5 of them shared
        text = " ".join("a" * 20)
        spans = (at(2 * 7, 2 * 7 + 1), at(2 * 10, 2 * 12 + 1))  # tokens 7, and 10 to 12
        labelled = label(example(text, *spans), reader, 9, np.random.default_rng(1))
        assert [(w.start, w.end) for w in labelled.windows] == [(0, 11), (6, 17), (12, 20)]
        assert labelled.gold == [[(7, 7)], [(1, 1), (4, 6)], []]

    def test_one_window_with_an_answer_is_always_kept(self):
        reader = word_reader()
        long_example = example(" ".join("a" * 60), at(2 * 58, 2 * 59 + 1))
        for seed in range(20):
            labelled = label(long_example, reader, 2, np.random.default_rng(seed))
            assert len(labelled.windows) == 2
            assert labelled.gold[0] == []
            assert labelled.gold[1] == [(58 - labelled.windows[1].start, 59 - labelled.windows[1].start)]

    def test_what_cannot_be_learned_is_left_out(self):
        reader = word_reader()
        learnable = example("a b", at(0, 1))
        without, long = example("a b"), example("a b", at(0, 1), question="a " * 9)
        whole = example(" ".join("a" * 20), at(0, 39))  # longer than any window
        assert select_learnable([without, learnable, long, whole], reader) == [learnable]


class TestLoss:
    def test_it_is_the_formula_by_hand(self):
        windows = [Window(None, 0, 2), Window(None, 1, 3)]
        labelled = Labelled(windows, [[(0, 1)], [(0, 0), (0, 1)]])
        start = torch.tensor(
            [[9.0, 1.0, 2.0, 9.0], [9.0, 3.0, 4.0, 9.0]]
        )  # the first and last are not context
        end = torch.tensor([[9.0, 0.0, 1.0, 9.0], [9.0, 2.0, 5.0, 9.0]])
        every_start = math.log(sum(map(math.exp, (1, 2, 3, 4))))
        every_end = math.log(sum(map(math.exp, (0, 1, 2, 5))))
        gold_start = math.log(math.exp(1) + math.exp(3))  # of both spans of the second, one start
        gold_end = math.log(math.exp(1) + math.exp(2) + math.exp(5))
        expected = (every_start - gold_start + every_end - gold_end) / 2
        assert compute_loss(start, end, [1, 1], [labelled]).item() == pytest.approx(expected)

    def test_examples_add_up_and_do_not_mix(self):
        rng = torch.Generator().manual_seed(1)
        start, end = torch.randn(2, 3, 5, generator=rng)
        first = Labelled([Window(None, 0, 3)], [[(1, 2)]])
        second = Labelled([Window(None, 0, 4), Window(None, 2, 4)], [[], [(0, 0)]])
        together = compute_loss(start, end, [1, 1, 2], [first, second])
        apart = compute_loss(start[:1], end[:1], [1], [first]) + compute_loss(
            start[1:], end[1:], [1, 2], [second]
        )
        torch.testing.assert_close(together, apart)

    def test_groups_hold_the_bound_and_every_example_once(self):
        reader = word_reader()
        examples = [
            label(example(" ".join("a" * n), at(0, 1)), reader, 4, np.random.default_rng(1))
            for n in (3, 40, 5, 12, 30, 4, 60, 9)
        ]
        grouped = list(group_by_length(examples, reader, 60))
        assert sorted(id(e) for group in grouped for e in group) == sorted(map(id, examples))
        for group in grouped:
            rows = [reader.length(window) for e in group for window in e.windows]
            assert len(group) == 1 or len(rows) * max(rows) <= 60

    def test_how_a_step_is_cut_into_groups_changes_nothing(self, world):
        examples = read_hotpotqa(world).examples
        losses = []
        for tokens in (200, 100_000):
            trainer = tuner(examples, tokens=tokens, batch=6)
            without_dropout(trainer.model)
            losses.append([trainer.step() for _ in range(2)])
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_the_rate_rises_and_falls_in_lines():
    recipe = Recipe(steps=20, warm_up=0.25)
    shares = [compute_pace(step, recipe) for step in range(20)]
    assert shares[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert shares[5] == 1.0
    steps = [b - a for a, b in pairwise(shares[5:])]
    assert steps == pytest.approx([-1 / 15] * 14)
    assert shares[-1] == pytest.approx(1 / 15)
    assert compute_pace(0, Recipe(steps=1)) == 1.0


def rates_of(trainer):
    """Return the groups' learning rates in each step to a training's end."""
    rates = []
    while trainer.steps < trainer.total_steps:
        trainer.step()
        rates.append([group["lr"] for group in trainer.optimiser.param_groups])
    return rates


def test_by_default_encoder_and_head_have_one_rate_that_rises_for_a_tenth(world):
    rates = rates_of(tuner(read_hotpotqa(world).examples, steps=20, batch=1, windows=1))
    shares = [0.5, 1, 1] + [left / 18 for left in range(17, 0, -1)]
    assert rates == [pytest.approx([3e-3 * share] * 2) for share in shares]


def test_encoder_and_head_have_rates_of_their_own(world):
    changed = {"encoder_rate": 1e-3, "warm_up_steps": 2, "schedule": "constant"}
    trainer = tuner(read_hotpotqa(world).examples, steps=3, batch=1, windows=1, **changed)
    inside = set(trainer.model.base_model.parameters())
    head, encoder = trainer.optimiser.param_groups[:2], trainer.optimiser.param_groups[2:]
    assert {parameter for group in encoder for parameter in group["params"]} == inside
    assert {parameter for group in head for parameter in group["params"]} == set(
        trainer.model.parameters()
    ) - inside
    for groups_of_one in (head, encoder):
        assert [group["weight_decay"] for group in groups_of_one] == [trainer.recipe.decay, 0]
    assert rates_of(trainer) == [
        pytest.approx([3e-3 * share] * 2 + [1e-3 * share] * 2) for share in (0.5, 1, 1)
    ]


class Parrot:
    """Answers each question with the text after its colon.

    It refuses the questions that its reader refuses.
    """

    name, description, revision = "parrot", "", "0" * 12
    reader = word_reader()

    def cost(self, question):
        return 1

    def check(self, question):
        self.reader.encode(question)

    def predict(self, items):
        return [QAPrediction(id=i.id, answer=i.question.partition(": ")[2], facts=[]) for i in items]


class TestDevScores:
    def scored(self, *rows):
        dev = [
            ReadingExample(
                item(("", ["a"]), question=f"a: {reply}").model_copy(update={"id": str(n)}),
                answers,
                (),
                together,
            )
            for n, (reply, answers, together) in enumerate(rows)
        ]
        scores = compute_dev_scores(Parrot(), dev)
        return scores["em"], scores["f1"]

    def test_the_best_of_several_right_answers_counts(self):
        assert self.scored(("b c", ("d", "b c"), False)) == (1, 1)
        assert self.scored(("b", ("d", "b c"), False)) == (0, pytest.approx(2 / 3))

    def test_one_of_n_that_belong_together_is_one_nth(self):
        assert self.scored(("b", ("b", "d"), True)) == (0, 0.5)

    def test_a_question_that_is_too_long_counts_0(self):
        assert self.scored(("b", ("b",), False), ("b " * 9, ("b " * 9,), False)) == (0.5, 0.5)


class TestTraining:
    def test_it_works(self, world, tmp_path):
        examples = read_hotpotqa(world).examples
        reported: list[Row] = []
        trainer = tuner(examples, steps=5)
        best = train(trainer, examples[:10], tmp_path / "new", report=reported.append)
        assert [row["step"] for row in reported] == [2, 4, 5]
        assert best in reported
        log = [json.loads(line) for line in (tmp_path / "new" / "log.jsonl").read_text().splitlines()]
        assert log == reported
        assert log[0].keys() == {"step", "loss", "seconds", "processor_seconds", "em", "f1"}
        files = {path.name for path in (tmp_path / "new").iterdir()}
        assert files == {
            *("config.json", "model.safetensors", "reading.json", "tokenizer.json", "tokenizer_config.json"),
            *("settings.json", "log.jsonl", "curves.svg"),
        }
        system = load(tmp_path / "new", CPU, name="extractive-qa", description="")
        assert system.reader.reading == SHORT
        assert compute_dev_scores(system, examples[:10])["f1"] == best["f1"]

    def test_the_best_checkpoint_on_dev_is_kept_and_patience_ends_it(self, world, tmp_path, monkeypatch):
        f1 = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.9])
        monkeypatch.setattr(
            "modelserver.training.extractive.compute_dev_scores",
            lambda system, dev, device: {"em": 0, "f1": next(f1)},
        )
        trainer = tuner(read_hotpotqa(world).examples, steps=6, check_every=1, patience=3, batch=2)
        monkeypatch.setattr("modelserver.training.loop.curves.draw", lambda *drawn: None)
        saved = []
        monkeypatch.setattr(trainer, "save", lambda folder: saved.append(trainer.steps))
        best = train(trainer, [], tmp_path)
        assert saved == [1, 2]
        assert (best["step"], trainer.steps) == (2, 5)

    def test_an_epoch_shows_each_example_once(self, world):
        trainer = tuner(read_hotpotqa(world).examples, batch=7)
        count = len(trainer.examples)
        shown = []
        for trainer.steps in range(-(-3 * count // 7)):
            shown += [labelled.windows[0].encoded for labelled in trainer._batch(np.random.default_rng(0))]
        assert len({id(encoded) for encoded in shown[:count]}) == count
        assert [id(e) for e in shown[:count]] != [id(e) for e in shown[count : 2 * count]]
        assert {id(e) for e in shown[:count]} == {id(e) for e in shown[count : 2 * count]}

    def test_it_learns_a_few_questions_of_the_generated_world_by_heart(self, world):
        """Labels, windows, loss and decoding agree.

        The reader answers what it has learned.
        """
        examples = [e for e in read_hotpotqa(world).examples if e.spans][:12]
        trainer = tuner(examples, steps=150, batch=8, windows=4, rate=2e-3, decay=0.0)
        without_dropout(trainer.model)
        losses = [trainer.step() for _ in range(100)]
        assert losses[-1] < 0.5 < 4 < losses[0]
        assert compute_dev_scores(trainer.system(), trainer.examples)["em"] == 1

    @pytest.mark.parametrize("form", FORMATS)
    def test_the_loss_falls_on_the_real_samples(self, form, tmp_path):
        content = json.loads(real_data(SAMPLES[form]).read_text("utf-8"))
        part = content[:30] if form == "hotpotqa" else content | {"data": content["data"][:6]}
        (tmp_path / "part.json").write_text(json.dumps(part))
        examples = FORMATS[form](tmp_path / "part.json").examples[:24]
        trainer = tuner(examples, steps=16, warm_up=0.0, batch=8)
        losses = [trainer.step() for _ in range(16)]
        assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.2

    def test_the_real_hotpotqa_sample_is_answered(self, world, tmp_path):
        trainer = tuner(read_hotpotqa(world).examples, steps=2)
        train(trainer, trainer.examples[:2], tmp_path)
        system = load(tmp_path, CPU, name="extractive-qa", description="")
        items = read_items(real_data("hotpot/hotpot_sample.json"))[:40]
        usable = [
            question for question in items if is_readable(ReadingExample(question, (), ()), system.reader)
        ]
        assert len(usable) >= 30  # some questions are longer than half of these short windows
        for question, p in zip(usable, system.predict(usable), strict=True):
            texts = {t: (t, *sentences) for t, sentences in question.context}
            assert p.answer
            assert len(p.fact_probabilities) == sum(len(s) for _, s in question.context)
            assert set(p.facts) <= {(t, i) for t, s in question.context for i in range(len(s))}
            assert any(p.answer in "".join(parts[1:]) or p.answer in parts[0] for parts in texts.values())


class Killed(Exception):
    pass


class TestKilled:
    def test_it_goes_on_as_if_nothing_had_happened(self, world, tmp_path):
        examples = read_hotpotqa(world).examples
        rows: list[Row] = []
        again: list[Row] = []
        train(tuner(examples, steps=6), examples[:6], tmp_path / "whole", report=rows.append)
        first = tuner(examples, steps=6)
        step = first.step

        def killed():
            if first.steps == 5:
                raise Killed
            return step()

        first.step = killed
        with pytest.raises(Killed):
            train(first, examples[:6], tmp_path / "half")
        with pytest.raises(UnreadableData, match="add --resume, or --overwrite"):
            train(tuner(examples, steps=6), examples[:6], tmp_path / "half")
        moved: list[int] = []
        resumed = tuner(examples, steps=6)
        train(
            resumed, examples[:6], tmp_path / "half", resume=True, report=again.append, advance=moved.append
        )
        assert moved == [4, 1, 1]
        clock = ("seconds", "processor_seconds")
        for row in (*rows, *again):
            for name in clock:
                row.pop(name)
        assert again == rows[2:]
        assert not (tmp_path / "half" / STATE).exists()
        best = train(tuner(examples, steps=6), examples[:6], tmp_path / "half", resume=True)
        assert best["step"] in {2, 4, 6}  # it has ended, and is left alone
        weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "half")]
        assert weights[0] == weights[1]

    def test_before_its_first_check_it_begins_again(self, world, tmp_path):
        trainer = tuner(read_hotpotqa(world).examples, steps=2)
        (tmp_path / ".part-x").mkdir()
        best = train(trainer, trainer.examples[:2], tmp_path, resume=True)
        assert best["step"] == 2

    @pytest.mark.parametrize(
        "changed, named", [({"rate": 1e-3}, "rate"), ({"seed": 2}, "seed"), ({"examples": 50}, "data")]
    )
    def test_not_under_other_settings(self, world, tmp_path, changed, named):
        examples = read_hotpotqa(world).examples
        trainer = tuner(examples, steps=4)
        trainer.step()
        row: dict[str, float | None] = {
            "step": 1,
            "loss": 1.0,
            "seconds": 0.0,
            "processor_seconds": 0.0,
            "f1": 0.0,
        }
        checkpoint.write(tmp_path / STATE, trainer.model, trainer.optimiser, [row], trainer.settings())
        changed = dict(changed)
        other = tuner(examples[: changed.pop("examples", None)], steps=4, **changed)
        with pytest.raises(UnreadableData, match=f"{STATE}: .*{named}"):
            train(other, examples[:2], tmp_path, resume=True)

    def test_a_damaged_state_is_named(self, world, tmp_path):
        (tmp_path / STATE).write_bytes(b"junk")
        trainer = tuner(read_hotpotqa(world).examples)
        with pytest.raises(UnreadableData, match=STATE):
            train(trainer, trainer.examples[:2], tmp_path, resume=True)


def command(*arguments):
    return main(["train", "extractive-qa", *map(str, arguments)])


class TestCommand:
    def arguments(self, world, out, **changed):
        options = {
            "encoder": "new:16x1",
            "train_file": world,
            "format": "hotpotqa",
            "out": out,
            "steps": 2,
            "batch_size": 2,
            "vocabulary_size": 300,
            "window": 128,
            "threads": 1,
        } | changed
        return [
            part for name, setting in options.items() for part in (f"--{name.replace('_', '-')}", setting)
        ]

    def test_new_then_further_then_evaluated(self, world, tmp_path, capsys):
        first, second = tmp_path / "first", tmp_path / "second"
        assert command(*self.arguments(world, first)) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["step"] == 2
        assert "of 57 questions can be learned from" in err
        assert f"{first}: the weights of step 2" in err
        base = (first / "model.safetensors").read_bytes()
        assert command(*self.arguments(world, second, encoder=first)) == 0
        assert (second / "model.safetensors").read_bytes() != base
        assert open_encoder(second, CPU)[1].get_vocab() == open_encoder(first, CPU)[1].get_vocab()
        capsys.readouterr()
        assert main(["evaluate", "extractive-qa", str(world), "--weights", str(second)]) == 0
        assert json.loads(capsys.readouterr().out)["questions"] == 60

    @pytest.mark.parametrize("command", ["extractive-qa", "masked-lm"])
    def test_rates_warm_up_and_schedule_are_options(self, command, world, tmp_path):
        changed = {"encoder_learning_rate": 1e-4, "learning_rate": 1e-3, "warm_up": 2, "schedule": "cosine"}
        arguments = map(str, self.arguments(world, tmp_path, **changed))
        assert main(["train", command, *arguments]) == 0
        settings = json.loads((tmp_path / "settings.json").read_text())
        names = ("encoder_rate", "rate", "warm_up_steps", "schedule")
        assert [settings[name] for name in names] == [1e-4, 1e-3, 2, "cosine"]

    def test_the_same_twice_is_the_same(self, world, tmp_path):
        for name in ("one", "two"):
            assert command(*self.arguments(world, tmp_path / name, steps=3)) == 0
        first, second = (load(tmp_path / name, CPU, name="x", description="") for name in ("one", "two"))
        assert first.revision == second.revision

    def test_a_folder_with_a_model_is_not_overwritten(self, world, bert_folder, tmp_path, capsys):
        folder = shutil.copytree(bert_folder, tmp_path / "folder")
        before = (folder / "model.safetensors").read_bytes()
        assert command(*self.arguments(world, folder, encoder=folder)) == 1
        assert f"{folder}: holds a model already" in capsys.readouterr().err
        assert (folder / "model.safetensors").read_bytes() == before

    @pytest.mark.parametrize(
        "changed, message",
        [
            ({"encoder": "new:16"}, "new:HIDDENxLAYERS"),
            ({"encoder": "new:0x1"}, "new:HIDDENxLAYERS"),
            ({"encoder": "new:16x1-square"}, "new:HIDDENxLAYERS"),
            ({"steps": 0}, "--steps. Must be >= 1"),
            ({"epochs": 0}, "--epochs. must be above 0"),
            ({"learning_rate": -1}, "--learning-rate. must be above 0"),
            ({"learning_rate": "nan"}, "--learning-rate. must be above 0"),
            ({"epochs": "inf"}, "--epochs. must be above 0"),
            ({"window": 8}, "--window. Must be >= 16"),
            ({"max_batch_tokens": 0}, "--max-batch-tokens. Must be >= 1"),
        ],
    )
    def test_bad_values_exit_2(self, world, tmp_path, capsys, changed, message):
        assert command(*self.arguments(world, tmp_path / "out", **changed)) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        "changed", [{"format": "csv"}, {"device": "abacus"}, {"device": "cuda:99"}, {"steps": "x"}]
    )
    def test_bad_usage_exits_2(self, world, tmp_path, capsys, changed):
        assert command(*self.arguments(world, tmp_path / "out", **changed)) == 2
        assert capsys.readouterr().err.startswith("error: ")

    def test_failures_exit_1_with_one_sentence(self, world, tmp_path, capsys):
        empty = tmp_path / "squad.json"
        empty.write_text(json.dumps(squad(*[[("Nobody", 0)]] * 25)))
        (tmp_path / "file").touch()
        for changed, message in (
            ({"train_file": tmp_path / "gone.json"}, "gone.json: there is no such file"),
            ({"encoder": "some/encoder"}, "some/encoder: there is no such folder"),
            ({"encoder": tmp_path}, "config.json: there is no such file"),
            ({"window": 600}, "--window 600: the encoder reads at most 512 tokens"),
            ({"train_file": empty, "format": "squad"}, f"{empty}: not one answer is found"),
            ({"out": tmp_path / "file"}, "file: cannot be written: File exists"),
            ({"encoder": "new:100x1"}, "hidden size"),
        ):
            assert command(*self.arguments(world, **{"out": tmp_path / "out"} | changed)) == 1
            assert message in capsys.readouterr().err

    def test_an_encoder_with_a_decoder_is_refused(self, world, tmp_path, capsys, bert_folder):
        folder = shutil.copytree(bert_folder, tmp_path / "bart")
        sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
        heads = {"encoder_attention_heads": 1, "decoder_attention_heads": 1, "d_model": 8}
        config = transformers.BartConfig(vocab_size=2000, max_position_embeddings=512, **sizes, **heads)
        transformers.BartForQuestionAnswering(config).save_pretrained(folder)
        assert command(*self.arguments(world, tmp_path / "out", encoder=folder)) == 1
        assert "config.json: bart is an encoder-decoder, or the encoder of one" in capsys.readouterr().err
        sizes = {"d_model": 8, "d_kv": 8, "d_ff": 8, "num_layers": 1, "num_heads": 1}
        t5 = transformers.T5EncoderModel(transformers.T5Config(vocab_size=2000, **sizes))
        t5.save_pretrained(folder)
        assert command(*self.arguments(world, tmp_path / "out", encoder=folder)) == 1
        assert "config.json: t5 is an encoder-decoder, or the encoder of one" in capsys.readouterr().err

    def test_few_examples_need_dev_data(self, tmp_path, capsys):
        few = tmp_path / "few.json"
        few.write_text(json.dumps(squad([("Mira", 26)], [("Joss", 35)])))
        options = {"format": "squad", "window": 32}
        assert command(*self.arguments(few, tmp_path / "out", **options)) == 1
        assert "2 examples; without --dev-file at least 20" in capsys.readouterr().err
        assert command(*self.arguments(few, tmp_path / "out", **options, dev_file=few)) == 0


def test_dropout_is_off_when_it_predicts(world):
    trainer = tuner(read_hotpotqa(world).examples)
    trainer.step()
    assert trainer.model.training
    items = [e.item for e in trainer.examples[:3]]
    assert trainer.system().predict(items) == trainer.system().predict(items)
    assert not trainer.model.training
    assert SimpleNamespace(**compute_dev_scores(trainer.system(), trainer.examples[:3])).f1 >= 0

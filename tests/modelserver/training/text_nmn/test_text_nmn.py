"""Learning: supervision, trainings, DROP's files, the table.

Trainings end or are killed, and the table has a split of its own.
"""

import json

import numpy as np
import pytest
import torch

from analysis.programs import parse
from modelserver.__main__ import main
from modelserver.modular.text.drop import read_drop
from modelserver.modular.text.examples import find_occurrences, parse_examples, read_items
from modelserver.modular.text.grammar import SORTING
from modelserver.modular.text.network import Config
from modelserver.modular.text.reduction import remove_sorting
from modelserver.modular.text.scoring import score, score_answer, score_faithfulness
from modelserver.training import loop
from modelserver.training.loop import STATE, train
from modelserver.training.text_nmn.loss import Supervision, compute_loss
from modelserver.training.text_nmn.table import is_for_testing, is_for_training
from modelserver.training.text_nmn.trainer import Recipe, Trainer, compute_pace
from modelserver.wire.errors import UnreadableData
from modelserver.world.games import generate, write_split
from tests.analysis.data import real_data
from tests.modelserver.modular.text.networks import WIDTH, encoder, games, network, system

EVERYTHING = Supervision()
ANSWERS = Supervision(programs=False, auxiliary=False, outputs="none", beam=4)


def trainer(supervision=EVERYTHING, *, examples=None, **recipe):
    settings = {"steps": 4, "batch": 3, "check_every": 2, "warm_up": 0.2} | recipe
    return Trainer(encoder(), Config(width=WIDTH), Recipe(**settings), supervision, examples or games(8))


def test_warm_up_and_schedule_can_be_chosen():
    assert compute_pace(0, Recipe(steps=120)) == pytest.approx(1 / 10)  # a twelfth of the steps
    chosen = Recipe(steps=120, warm_up_steps=2, schedule="constant")
    assert [compute_pace(step, chosen) for step in (0, 1, 119)] == [0.5, 1.0, 1.0]


def test_it_learns():
    examples = games(4)
    text_trainer = trainer(examples=examples, batch=4, steps=30, rate=1e-2)
    losses = [text_trainer.step() for _ in range(30)]
    assert np.mean(losses[-3:]) < 0.7 * np.mean(losses[:3])


@pytest.mark.parametrize(
    "supervision",
    [Supervision(), Supervision(auxiliary=False, outputs="none"), Supervision(outputs="arguments"), ANSWERS],
)
def test_each_kind_of_supervision_has_a_finite_loss(supervision):
    model = network().train()
    loss_count = 0
    for example in games(6):
        (text,) = model([model.read(example.item)])
        loss = compute_loss(model, text, example, supervision)
        if loss is not None:
            assert torch.isfinite(loss)
            loss.backward()
            loss_count += 1
    assert loss_count >= 2
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_more_supervision_is_a_larger_sum():
    model = network()
    example = next(e for e in games(30) if "find-max-num" in str(e.program))
    with torch.no_grad():
        (text,) = model([model.read(example.item)])
        least, near, arguments, everything = (
            float(compute_loss(model, text, example, Supervision(auxiliary=auxiliary, outputs=outputs)))
            for auxiliary, outputs in ((False, "none"), (True, "none"), (True, "arguments"), (True, "all"))
        )
    assert least < near < arguments < everything


def test_a_killed_training_goes_on_as_if_nothing_had_happened(tmp_path, monkeypatch):
    whole = train(trainer(), games(3), tmp_path / "whole")
    first = trainer()
    original = Trainer.step

    def dies(self):
        if self.steps == 3:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(Trainer, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        train(first, games(3), tmp_path / "killed")
    monkeypatch.undo()
    assert (tmp_path / "killed" / STATE).exists()
    with pytest.raises(UnreadableData, match="--resume"):
        train(trainer(), games(3), tmp_path / "killed")
    with pytest.raises(UnreadableData, match="another"):
        train(trainer(ANSWERS), games(3), tmp_path / "killed", resume=True)
    resumed = train(trainer(), games(3), tmp_path / "killed", resume=True)
    times = ("seconds", "processor_seconds")
    assert {k: v for k, v in resumed.items() if k not in times} == {
        k: v for k, v in whole.items() if k not in times
    }
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()
    again = train(trainer(), games(3), tmp_path / "whole", resume=True)
    assert again == whole


def test_killed_before_the_best_weights_were_written_it_writes_them_when_it_goes_on(tmp_path, monkeypatch):
    whole = train(trainer(), games(3), tmp_path / "whole")
    publish = loop._publish

    def dies(trained, rows, out):
        if rows[-1]["step"] == whole["step"]:
            raise KeyboardInterrupt
        publish(trained, rows, out)

    monkeypatch.setattr(loop, "_publish", dies)
    with pytest.raises(KeyboardInterrupt):
        train(trainer(), games(3), tmp_path / "killed")
    monkeypatch.undo()
    assert train(trainer(), games(3), tmp_path / "killed", resume=True)["step"] == whole["step"]
    weights = [tmp_path / name / "model.safetensors" for name in ("whole", "killed")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_the_commands(tmp_path, capsys):
    write_split(tmp_path, "train", 24, 4)
    small = ["--encoder", "new:32x1", "--steps", "2", "--check-every", "2"]
    small += ["--train-file", str(tmp_path / "train.jsonl")]
    out = tmp_path / "one"
    assert main(["train", "text-nmn", *small, "--batch", "2", "--out", str(out), "--no-sorting"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"step", "loss", "em", "f1", "parsed", "overall"} <= set(row)
    assert json.loads((out / "config.json").read_text())["sorting"] is False
    assert main(["train", "text-nmn", *small, "--out", str(out), "--width", "0"]) == 2
    table = ["text-table", *small, "--test", "5", "--out", str(tmp_path / "table")]
    assert main([*table, "--variants", "programs", "nothing"]) == 2
    assert main([*table, "--leave-out-smallest", "--variants", "answers"]) == 2
    assert "--leave-out-smallest has no variant 'answers'" in capsys.readouterr().err
    variants = ["--variants", "programs-without-sorting", "answers-without-extract", "--beam", "2"]
    assert main([*table, *variants]) == 0
    printed = capsys.readouterr().out
    rows = json.loads((tmp_path / "table" / "table.json").read_text())
    assert (tmp_path / "table" / "table.md").read_text() in printed
    assert set(rows) == {"programs-without-sorting", "answers-without-extract"}
    for row in rows.values():
        low, high = row["interval"]["overall"]
        assert low <= row["loss"]["overall"] <= high
        assert row["loss"]["find"] > 0
    weights = tmp_path / "table" / "programs-without-sorting" / "seed-1" / "model.safetensors"
    before = weights.stat().st_mtime_ns
    assert main([*table, *variants]) == 1
    assert "table.json: exists already; add --resume" in capsys.readouterr().err
    resumed = [*table, "--variants", "programs-without-sorting", "--beam", "2", "--seeds", "2", "--resume"]
    assert main([*resumed, "--encoder", "new:16x1", "--learning-rate", "0.1"]) == 1
    assert "begun with another encoder, rate;" in capsys.readouterr().err
    assert main(resumed) == 0
    assert weights.stat().st_mtime_ns == before
    row = json.loads((tmp_path / "table" / "table.json").read_text())["programs-without-sorting"]
    losses = [row["seeds"][seed]["loss"]["overall"] for seed in "12"]
    assert row["loss"]["overall"] == pytest.approx(sum(losses) / 2)
    assert row["sd"]["loss"]["overall"] == pytest.approx(abs(losses[0] - losses[1]) / 2**0.5)
    assert f"{row['loss']['overall']:.2f} ± {row['sd']['loss']['overall']:.2f}" in capsys.readouterr().out
    assert "interval" not in row
    assert "interval" in row["seeds"]["1"]
    scored = ["text-table", "--test", "5", "--out", str(tmp_path / "scored")]
    assert main([*scored, "--weights", str(weights.parent), "--seeds", "2"]) == 0
    assert json.loads((tmp_path / "scored" / "table.json").read_text())["weights"]["text"] == "seed-1"


def test_the_split_learns_on_the_largest_and_asks_about_the_smallest():
    examples = games(200)
    training, test = list(filter(is_for_training, examples)), list(filter(is_for_testing, examples))
    assert training
    assert test
    for example in training:
        assert not {"find-min-num"} & {n.module for n in example.program.nodes}
        assert "less" not in {n.argument for n in example.program.nodes}
    assert not {id(e) for e in training} & {id(e) for e in test}


def test_programs_without_sorting_keep_their_other_modules():
    for example in games(120):
        reduced = remove_sorting(example)
        modules = [node.module for node in reduced.program.nodes]
        assert not set(modules) & SORTING
        if not {node.module for node in example.program.nodes} & SORTING:
            assert reduced is example
        for gold_list in reduced.gold:
            assert [modules[node] for node in gold_list.nodes] == [gold_list.module] * len(gold_list.nodes)
    compared = next(e for e in games(120) if "num-compare" in str(e.program))
    (node,) = remove_sorting(compared).program.nodes
    assert node.module == "find"
    assert all(
        str(find_node.argument) in str(node.argument)
        for find_node in compared.program.nodes
        if find_node.module == "find"
    )


def test_faithfulness_is_perfect_where_attention_is_gold():
    examples = [e for e in games(12) if e.gold and "extract" not in str(e.program)]

    class Perfect:
        def execute(self, items):
            executions = system(network()).execute(items)
            for execution, item in zip(executions, items, strict=True):
                example = next(e for e in examples if e.item.id == item.id)
                for gold in example.gold:
                    for node in gold.nodes:
                        spread = [0.0] * len(item.tokens)
                        for start, _ in gold.spans:
                            spread[start] = 1 / len(gold.spans)
                        execution.modules[node].attention[:] = spread
            return executions

    scores = score_faithfulness(Perfect(), examples)
    floor = [sum(len(g.spans) * np.log(len(g.spans)) for g in e.gold) for e in examples]
    assert scores.table()["overall"].loss == pytest.approx(np.mean(floor))
    assert score_faithfulness(system(network()), examples).table()["overall"].loss > np.mean(floor) + 1


def test_scores_of_answers():
    record = {"external_id": "a", "text": "Who?", "answer": "Ann"}
    (example,) = parse_examples([record | {"passage": "Ann and Bo", "tokens": [(0, 3), (8, 10)]}], "x")
    assert score_answer(example, "ann") == (1.0, 1.0)
    assert score_answer(example, "Bo") == (0.0, 0.0)
    assert example.answer.spans == ((0, 1),)
    assert score(system(), [example]).parsed is None
    assert find_occurrences("bo", "Ann and Bo", [(0, 3), (8, 10)]) == [(1, 2)]
    assert find_occurrences("n", "Ann and Bo", [(0, 3), (8, 10)]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"program": "count("}, "line 1"),
        ({"tokens": "none"}, "tokens"),
        ({"gold": {"layers": {"9": {"objects": []}}}}, "gold.layers.9"),
        ({"gold": {"layers": {"0": {"objects": [{"id": "x", "ref": "y"}]}}}}, "refers to 'y'"),
        ({"gold": {"layers": {"0": {"objects": [{"id": "x", "ref": "x"}]}}}}, "ref leads back to 'x'"),
        ({"gold": {"layers": {"0": {"objects": [{"id": "x", "tokens": [5, 9]}]}}}}, "not in the passage"),
    ],
)
def test_a_malformed_item_is_refused_with_line_and_field(tmp_path, change, message):
    record = {"external_id": "a", "text": "Who?", "passage": "Ann", "tokens": [[0, 3]]}
    record |= {"program": "find", "answer": "Ann"}
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(record | change) + "\n")
    with pytest.raises(UnreadableData, match=message) as error:
        read_items(path)
    assert "items.jsonl" in str(error.value)


def test_examples_of_games_have_gold_for_their_nodes():
    for record, example in zip(generate("train", 20, 3), games(20), strict=True):
        assert str(example.program) == record["program"]
        assert example.item.program is None
        for gold_list in example.gold:
            objects = record["gold"]["layers"][str(gold_list.nodes[0])]["objects"]
            assert len(gold_list.spans) == len(objects)
            assert example.program.nodes[gold_list.nodes[0]].module == gold_list.module


DROP = {
    "p1": {
        "passage": "Ann ran 3 yards on 4 May 1990. Bo ran 12 yards.",
        "qa_pairs": [
            {"query_id": "a", "question": "Who ran 12 yards?", "answer": {"number": "", "spans": ["Bo"]}},
            {
                "query_id": "b",
                "question": "How many yards was the longest run?",
                "answer": {"number": "12", "spans": []},
                "validated_answers": [{"number": "12"}, {"spans": ["12 yards"]}],
                "qtype": "max_find_qtype",
                "tokenized_question": "How many yards was the longest run ?",
                "ques_attention_supervision": [[0, 0, 0, 0, 0, 0, 1, 0]],
                "module_output_annotations": [
                    ["find-events", [[0, 4], [9, 13]]],
                    ["find-nums", [[2, 3], [11, 12]]],
                    ["after-max-event", [[9, 13]]],
                ],
            },
            {
                "query_id": "c",
                "question": "When did Ann run?",
                "answer": {"number": "", "date": {"day": "4", "month": "May", "year": "1990"}, "spans": []},
                "qtype": "unheard_of",
            },
            {"query_id": "d", "question": "Why?", "answer": {"number": "", "spans": []}},
        ],
    }
}


def test_files_in_the_form_of_drop(tmp_path):
    path = tmp_path / "drop.json"
    path.write_text(json.dumps(DROP))
    who, longest, when = read_drop(path)
    assert who.answer_texts == ("Bo",)
    assert who.program is None
    assert who.answer.spans == ((9, 10),)
    assert longest.program == parse("find-max-num(find-num(find[run]))", kind="spans")
    assert longest.answer.number == 12
    assert longest.also == (("12 yards",),)
    assert [(gold_list.module, gold_list.nodes) for gold_list in longest.gold] == [
        ("find-events", (2,)),
        ("find-nums", (1,)),
        ("after-max-event", (0,)),
    ]
    assert when.program is None
    assert when.answer.date == "1990-05-04"
    assert score(system(), [who, longest, when]).faithfulness.table()["min-max"].n == 1


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("[]", "an object of passages"),
        ("{", "not JSON"),
        ('{"p1": {"passage": "x"}}', "p1: qa_pairs"),
        ('{"p1": {"passage": "x", "qa_pairs": [{"question": "Who?"}]}}', r"p1: qa_pairs\[0\].query_id"),
        ('{"p1": {"passage": "x", "qa_pairs": []}}', "holds no question"),
    ],
)
def test_a_malformed_drop_file_is_refused(tmp_path, broken, message):
    path = tmp_path / "drop.json"
    path.write_text(broken)
    with pytest.raises(UnreadableData, match=message):
        read_drop(path)
    with pytest.raises(UnreadableData, match="none"):
        read_drop(tmp_path / "none.json")


def test_real_drop_is_read_and_learned_from():
    released = real_data("faithful_nmn/drop_module_output_annotations.json")
    plain = real_data("drop/drop_dev_sample.json")
    examples = read_drop(released)
    assert len(examples) == 215
    assert sum(example.program is not None for example in examples) == 215
    assert sum(len(example.gold) for example in examples) > 500
    questions = read_drop(plain)
    assert len(questions) == 215
    reachable = [e for e in questions if e.answer.number is not None or e.answer.spans or e.answer.date]
    assert len(reachable) > 200
    text_trainer = trainer(examples=examples[:4], batch=2)
    assert all(np.isfinite(text_trainer.step()) for _ in range(2))

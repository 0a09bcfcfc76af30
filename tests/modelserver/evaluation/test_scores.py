"""Evaluation: the scores of known predictions, FaRM, and the command.

FaRM runs each reduced context once.
"""

import json

import pytest

from benchmarks.models.farm import nine_passes
from modelserver.__main__ import main
from modelserver.evaluation import predict_file
from modelserver.evaluation.scores import compute_farm_scores, compute_scores, predict_gold
from modelserver.inputs.hotpot import parse_gold, read_gold
from modelserver.registry import load_system
from modelserver.systems.recurrent import Config
from modelserver.training.recurrent import Recipe, Trainer
from modelserver.wire.schema import AnswerLocation, FactProbability, QAPrediction
from modelserver.world import generate, write_split

GOLD = parse_gold(
    [
        {
            "_id": name,
            "question": f"Where was {name} born?",
            "answer": "Elsk",
            "supporting_facts": [["Ada", 0]],
            "context": [["Ada", ["Ada was born in Elsk.", " Elsk is far."]], ["Bo", ["Bo was not."]]],
        }
        for name in ("one", "two")
    ],
    "test",
)


def _prediction(item, answer, facts=(("Ada", 0),)):
    sentence = next((s for t, ss in item.context for s in ss if answer and answer in s), None)
    where = next(
        (
            (t, i)
            for t, ss in item.context
            for i, s in enumerate(ss)
            if sentence is not None and s == sentence
        ),
        None,
    )
    location = None
    if where is not None:
        start = sentence.index(answer)
        location = AnswerLocation(first=where, last=where, start=start, end=start + len(answer))
    listed = [(t, i) for t, ss in item.context for i in range(len(ss))]
    return QAPrediction(
        id=item.id,
        answer=answer,
        type="span",
        location=location,
        facts=[f for f in facts if f in listed],
        fact_probabilities=[
            FactProbability(title=t, index=i, probability=0.9 if (t, i) in facts else 0.1) for t, i in listed
        ],
        threshold=0.33,
    )


class FirstWord:
    """Answers with the last word of the first sentence that is left.

    It records the questions and contexts that it is asked.
    """

    name, description, revision = "first", "d", "0" * 12

    def __init__(self):
        self.asked = []

    def cost(self, item):
        return 1

    def check(self, item):
        pass

    def predict(self, items):
        self.asked += [json.dumps([item.question, item.context]) for item in items]
        return [self._answer(item) for item in items]

    def _answer(self, item):
        sentences = [s for _, ss in item.context for s in ss]
        return _prediction(item, sentences[0].split()[-1].strip(".") if sentences else "")


def test_it_works():
    scores = compute_scores(GOLD, [_prediction(GOLD[0].item, "Elsk"), _prediction(GOLD[1].item, "far")])
    assert scores["em"] == 0.5
    assert scores["sp_em"] == 1.0
    assert scores["joint_em"] == 0.5
    # One answer lies inside the chosen fact and one outside: I / (A + O) = 1 / (2 + 1).
    assert scores["loca"] == pytest.approx(1 / 3)
    assert (scores["loca_inside"], scores["loca_outside"]) == (0.5, 0.5)
    assert (scores["em_all_facts"], scores["em_no_facts"]) == (0.5, None)


def test_an_answer_without_location_counts_in_a_alone():
    scores = compute_scores(GOLD, [_prediction(gold.item, "") for gold in GOLD])
    assert (scores["loca"], scores["loca_inside"], scores["loca_outside"]) == (0.0, 0.0, 0.0)


def test_farm_by_hand():
    system = FirstWord()
    items = [gold.item for gold in GOLD]
    scores = compute_farm_scores(system, items, predict_gold(system, GOLD))
    # Without the relevant fact the first sentence left is " Elsk is far."; without the irrelevant ones
    # the answer stays.
    assert [scores[f"c_rel_{k}"] for k in (1, 2, 3, 4)] == [1.0] * 4
    assert [scores[f"c_irr_{k}"] for k in (1, 2, 3, 4)] == [0.0] * 4
    assert scores["farm_4"] == 1.0


def test_each_distinct_reduced_context_is_run_once():
    system = FirstWord()
    predictions = predict_gold(system, GOLD)
    system.asked.clear()
    compute_farm_scores(system, [gold.item for gold in GOLD], predictions)
    # One context without the only relevant fact; without one and without both irrelevant ones.
    assert len(system.asked) == len(set(system.asked)) == 2 * 3


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("w")
    trainer = Trainer(
        Config("qi2019", hidden=8), Recipe(batch=4, rare=2), parse_gold(generate("train", 8, 1), "w")
    )
    trainer.step()
    trainer.save(folder)
    write_split(folder / "test.json", "test", 6, 1)
    return folder


def test_farm_is_what_nine_full_passes_give(trained):
    system = load_system("qi2019", weights=trained)
    items = [gold.item for gold in read_gold(trained / "test.json")]
    expected, full = nine_passes(system, items)
    assert compute_farm_scores(system, items, full) == expected
    assert any(expected.values())


def test_batches_on_several_threads_keep_order_and_leave_the_threads_as_they_were(trained, monkeypatch):
    monkeypatch.setattr(predict_file, "choose_batch_tokens", lambda device: 400)
    monkeypatch.setattr(predict_file.torch, "get_num_threads", lambda: 3)
    thread_counts: list[int] = []
    monkeypatch.setattr(predict_file.torch, "set_num_threads", thread_counts.append)
    system = load_system("qi2019", weights=trained)
    gold = read_gold(trained / "test.json")
    predictions = predict_gold(system, gold)
    assert [prediction.id for prediction in predictions] == [example.item.id for example in gold]
    assert [prediction.answer for prediction in predictions] == [
        expected.answer for example in gold for expected in system.predict([example.item])
    ]
    assert thread_counts == [1, 3]


def test_the_command_prints_json(trained, capsys):
    assert main(["evaluate", "qi2019", str(trained / "test.json"), "--weights", str(trained), "--farm"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["questions"] == 6
    assert len(scores["revision"]) == 12
    assert {"em", "f1", "sp_f1", "joint_f1", "loca", "farm_4", "c_rel_1", "c_irr_1"} <= set(scores)
    assert all(0 <= scores[key] <= 1 for key in ("em", "f1", "sp_prec", "farm_4"))


def test_the_command_writes_a_file(trained, tmp_path, capsys):
    out = tmp_path / "scores.json"
    arguments = [
        "evaluate",
        "qi2019",
        str(trained / "test.json"),
        "--weights",
        str(trained),
        "--out",
        str(out),
    ]
    assert main(arguments) == 0
    assert json.loads(out.read_text())["system"] == "qi2019"
    assert capsys.readouterr().out == ""


def test_a_file_without_gold_is_refused(trained, tmp_path, capsys):
    path = tmp_path / "data.json"
    path.write_text('[{"_id": "q", "question": "Who?", "context": []}]')
    assert main(["evaluate", "qi2019", str(path), "--weights", str(trained)]) == 1
    assert "entry 1: answer" in capsys.readouterr().err

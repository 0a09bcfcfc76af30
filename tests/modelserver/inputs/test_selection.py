"""Selection of questions by reasoning, with supporting facts alone.

Training and scores use it.
"""

import json

import pytest

from modelserver.__main__ import main
from modelserver.inputs.hotpot import parse_gold, read_gold
from modelserver.inputs.selection import Selection, is_comparison
from modelserver.wire.errors import UnreadableData
from modelserver.world import generate

CONTEXT = [
    ["Ada", ["Ada sings.", "Ada was born in 1901."]],
    ["Bo", ["Bo was born in 1902.", "Bo dances."]],
    ["Cy", ["Cy reads."]],
]
FACTS = [["Ada", 1], ["Bo", 0]]
OLDER = {
    "_id": "q1", "question": "Who is older, Ada or Bo?", "answer": "Ada", "type": "comparison",
    "supporting_facts": FACTS, "context": CONTEXT,
}  # fmt: skip


def gold(**changes):
    return parse_gold([{**OLDER, **changes}], "test")


@pytest.mark.parametrize(
    "context, expected",
    [
        ("whole", CONTEXT),
        ("paragraphs", CONTEXT[:2]),
        ("facts", [["Ada", ["Ada was born in 1901."]], ["Bo", ["Bo was born in 1902."]]]),
    ],
)
def test_contexts_become_shorter_and_facts_follow(context, expected):
    (short,) = Selection(context).of(gold(), "test")
    assert [[title, list(sentences)] for title, sentences in short.context] == expected
    texts = dict(short.context)
    assert [texts[title][index] for title, index in short.supporting_facts] == [
        "Ada was born in 1901.",
        "Bo was born in 1902.",
    ]
    assert (short.id, short.answer, short.type) == ("q1", "Ada", "comparison")


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, True),
        ({"type": "bridge_comparison"}, True),
        ({"type": None}, True),
        ({"type": "bridge"}, False),
        ({"question": "Are Ada and Bo singers?"}, False),
    ],
)
def test_comparisons_are_those_with_comparing_words(changes, expected):
    assert is_comparison(gold(**changes)[0]) == expected


def test_what_is_left_out_is_counted(capsys):
    questions = [*gold(), *gold(_id="q2", type="bridge"), *gold(_id="q3", supporting_facts=[["Dee", 0]])]
    assert [question.id for question in Selection("facts", "comparison").of(questions, "mine")] == ["q1"]
    assert capsys.readouterr().err.splitlines() == [
        "mine: 1 questions that do not compare by a listed word left out",
        "mine: 1 questions without a fact left out",
    ]
    assert Selection().of(questions, "mine") == questions
    with pytest.raises(UnreadableData, match="mine: no question is left"):
        Selection("facts").of(questions[2:], "mine")


def test_readers_train_and_are_scored_on_facts_and_comparisons_alone(tmp_path, capsys):
    questions = list(generate("train", 240, 2))
    path, out = tmp_path / "questions.json", tmp_path / "out"
    path.write_text(json.dumps(questions))
    compared = sum(map(is_comparison, read_gold(path)))
    assert 20 < compared < 60
    chosen = ["--context", "facts", "--reasoning", "comparison"]
    sizes = ["--steps", "1", "--batch-size", "2", "--check-every", "1", "--threads", "1"]
    command = [
        "train",
        "extractive-qa",
        "--encoder",
        "new:32x1",
        "--train-file",
        str(path),
        "--out",
        str(out),
    ]
    assert main([*command, "--format", "hotpotqa", *sizes, *chosen]) == 0
    log = capsys.readouterr().err
    assert f"{240 - compared} questions that do not compare by a listed word left out" in log
    assert main(["evaluate", "extractive-qa", str(path), "--weights", str(out), *chosen]) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == compared
    reader = ["train", "qi2019", "--out", str(tmp_path / "qi"), "--train-file", str(path), "--hidden", "8"]
    assert main([*reader, *sizes, *chosen]) == 0
    assert f"{240 - compared} questions that do not compare by a listed word" in capsys.readouterr().err


def test_only_files_with_facts_have_them(tmp_path, capsys):
    path = tmp_path / "squad.json"
    path.write_text('{"data": []}')
    command = [
        "train",
        "extractive-qa",
        "--encoder",
        "new:32x1",
        "--train-file",
        str(path),
        "--format",
        "squad",
    ]
    assert main([*command, "--out", str(tmp_path / "out"), "--context", "facts"]) == 2
    assert "squad has none" in capsys.readouterr().err

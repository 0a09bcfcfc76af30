"""Drafts of instances: their content, reasons for skipping, and files."""

import json
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.commands.counterfactuals import read_questions
from analysis.counterfactuals.drafts import NEAR_SYNONYM, draft
from analysis.counterfactuals.instances import (
    Instance,
    find_sentence_starts,
    instances_text,
    join_context,
    read_instances,
)
from analysis.counterfactuals.records import select_usable
from analysis.io.errors import InputError
from tests.analysis.data import real_data

OLDER = {
    "_id": "a", "type": "comparison", "question": "Who is older, Ann Lee or Bob Ray?", "answer": "Ann Lee",
    "context": [["Ann Lee", ["Ann is old. ", "So."]], ["Zoo", ["Big."]], ["Bob Ray", ["Bob is not."]]],
    "supporting_facts": [["Ann Lee", 0], ["Bob Ray", 0]],
}  # fmt: skip
SANG = {
    "_id": "b", "question": "Who sang in Rome?", "answer": "Ann Lee", "context": OLDER["context"],
    "supporting_facts": [["Ann Lee", 0]],
}  # fmt: skip


def texts(instance: Instance, spans):
    return [instance.text[start:end] for start, end in spans]


def test_it_works():
    instances = draft([OLDER, SANG]).instances
    first = instances[0]
    assert first.id == "a:comparison:facts:0"
    assert first.counterfactual.question == "Who is younger, Ann Lee or Bob Ray?"
    assert (first.original.answer, first.counterfactual.answer) == ("Ann Lee", "Bob Ray")
    assert first.original.context == [("Ann Lee", ["Ann is old. "]), ("Bob Ray", ["Bob is not."])]
    assert texts(first, first.positive) == ["older"]
    assert [
        (instance.extent, instance.distribution) for instance in instances if instance.step == "comparison"
    ].count(("facts", "out")) == 4
    last = instances[-1]
    assert (last.step, last.where, last.extent) == ("coreference", "context", "paragraphs")
    assert texts(last, last.positive) == ["Ann"]


def test_only_what_was_swapped_or_inserted_differs():
    for instance in draft([OLDER, SANG]).instances:
        before, after = instance.original, instance.counterfactual
        if instance.step == "comparison":
            assert before.context == after.context
            head, _, tail = before.question.partition("older")
            assert after.question.startswith(head)
            assert after.question.endswith(tail)
        else:
            assert before.question == after.question
            assert [(title, after_texts[: len(texts)]) for (title, texts), (_, after_texts) in zip(
                before.context, after.context, strict=True)] == before.context  # fmt: skip
            assert sum(len(texts) for _, texts in after.context) == 1 + sum(
                len(texts) for _, texts in before.context
            )


@pytest.mark.parametrize(
    ("changes", "step", "reason"),
    [
        ({"type": "bridge"}, "comparison", "not a comparison question"),
        ({"question": "Who is taller, Ann Lee or Bob Ray?"}, "comparison", "not exactly one listed word"),
        ({"answer": "neither"}, "comparison", "the answer is not one of two compared entities"),
        ({}, "coreference", "a comparison question"),
        ({"type": "bridge", "question": "Where is Ann?"}, "coreference", "no template fits"),
        ({"type": "bridge", "answer": "rain"}, "coreference", "the context has no mention of a named answer"),
        ({"supporting_facts": []}, "comparison", "supporting_facts: the context holds none of them"),
    ],
)
def test_every_reason_is_counted(changes, step, reason):
    skipped = draft([OLDER | changes], extents=["paragraphs"]).skipped
    assert skipped[step, "paragraphs", reason] == 1


def test_without_known_facts_the_whole_context_is_read():
    question = {key: value for key, value in OLDER.items() if key != "supporting_facts"}
    instances = draft([question], distributions=["in"]).instances
    assert [instance.extent for instance in instances] == [""]
    assert len(instances[0].original.context) == 3


def test_tokens_of_the_context_are_found_by_article_and_sentence():
    context = OLDER["context"]
    text, starts = join_context(context), find_sentence_starts(context)
    for (article, index), start in starts.items():
        sentence = context[article][1][index]
        assert text[start : start + len(sentence)] == sentence
    instance = draft([SANG], extents=["paragraphs"]).instances[0]
    weights = [(None, None, 0, 3, 9.0), (0, None, 0, 3, 8.0), (0, 0, 0, 3, 1.0), (0, 1, 0, 2, 0.5)]
    assert list(instance.tokens(weights)) == [(0, 3, 1.0), (12, 14, 0.5)]
    assert instance.partition.scores(instance.tokens(weights)) == ([1.0], [0.5])


def test_files_hold_the_same_instances(tmp_path: Path):
    instances = draft([OLDER, SANG]).instances
    (tmp_path / "i.jsonl").write_text(instances_text(instances), encoding="utf-8")
    assert read_instances(tmp_path / "i.jsonl") == instances


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positive": [[0, 99]]}, r"line 1: positive: \[0, 99\] is not within the 33 characters"),
        ({"positive": [[0, 3]], "negative": [[0, 3]]}, "negative: the span .0, 3. is also positive"),
        ({"where": "title"}, "column where: Input should be 'question' or 'context'"),
        ({"original": 3}, "column original: Input should be"),
        ({"more": 3}, "column more: there is no such field"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, changes, message):
    row = json.loads(instances_text(draft([OLDER]).instances[:1])) | changes
    (tmp_path / "i.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_instances(tmp_path / "i.jsonl")


def test_an_instance_that_comes_twice_and_no_file(tmp_path: Path):
    instances = draft([OLDER]).instances[:1]
    (tmp_path / "i.jsonl").write_text(instances_text(instances * 2), encoding="utf-8")
    with pytest.raises(InputError, match="line 2, column id: 'a:comparison:facts:0' is already in line 1"):
        read_instances(tmp_path / "i.jsonl")
    with pytest.raises(InputError, match="there is no such file"):
        read_instances(tmp_path / "none")


def test_the_command_drafts_both_forms(tmp_path: Path, capsys):
    squad = {"data": [{"title": "A", "paragraphs": [{"context": "Ann Lee sang. She slept.", "qas": [
        {"id": "s", "question": "Who sang?", "answers": [{"text": "Ann Lee"}]},
        {"id": "t", "question": "Who slept?", "answers": [{"text": "Ann"}, {"text": "Lee"}]},
    ]}]}]}  # fmt: skip
    for name, content, n in (("hotpot", [OLDER, SANG], 14), ("squad", squad, 2)):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        assert main(["counterfactuals", str(tmp_path / name), "--out", str(tmp_path / "out.jsonl")]) == 0
        assert len(read_instances(tmp_path / "out.jsonl")) == n
        assert sum(row["n"] for row in json.loads(capsys.readouterr().out)["instances"]) == n


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"_id": "a"}], "entry 1, column question: is missing"),
        ({"data": 3}, "data: Input should be"),
        ([SANG | {"question": "Why?"}], "no question gives an instance"),
    ],
)
def test_the_command_names_what_is_wrong(tmp_path: Path, capsys, content, message):
    (tmp_path / "q.json").write_text(json.dumps(content), encoding="utf-8")
    assert main(["counterfactuals", str(tmp_path / "q.json"), "--out", str(tmp_path / "o")]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "comparison", "coreference"),
    [
        ("hotpot/hotpot_sample.json", 30, 42),
        ("2wiki/2wikimultihop_dev_sample.json", 657, 0),
        ("2wiki/2wikimultihop_train_sample.json", 219, 0),
        ("quoref/quoref_original_subset_20191206_merged.json", 0, 398),
    ],
)
def test_real_questions(tmp_path: Path, name: str, comparison: int, coreference: int):
    out = tmp_path / "i.jsonl"
    assert main(["counterfactuals", str(real_data(name)), "--out", str(out), "--context", "paragraphs"]) == 0
    instances = read_instances(out)
    assert [
        sum(instance.step == step for instance in instances) for step in ("comparison", "coreference")
    ] == [
        comparison,
        coreference,
    ]


def test_swaps_that_hardly_change_the_meaning_are_left_out_unless_they_are_wanted_or_confirmed():
    question = OLDER | {"question": "Who was born first, Ann Lee or Bob Ray?"}
    plain = draft([question], steps=["comparison"], extents=["facts"])
    assert [instance.distribution for instance in plain.instances] == ["in"]
    assert plain.skipped["comparison", "facts", NEAR_SYNONYM] == 1
    with_synonyms = draft([question], steps=["comparison"], extents=["facts"], near_synonyms=True)
    assert [instance.near_synonym for instance in with_synonyms.instances] == [False, True]
    assert not with_synonyms.skipped
    doubtful = with_synonyms.instances[1]
    assert select_usable([doubtful]) == []
    assert select_usable([doubtful], near_synonyms=True) == [doubtful]
    assert len(select_usable([doubtful.model_copy(update={"verdict": "repaired"})])) == 1


@pytest.mark.parametrize(
    ("name", "share", "left"),
    [
        ("hotpot/hotpot_sample.json", 12 / 27, 15),
        ("2wiki/2wikimultihop_dev_sample.json", 145 / 543, 398),
        ("2wiki/2wikimultihop_train_sample.json", 57 / 189, 132),
    ],
)
def test_no_real_swap_outside_training_words_is_known_wrong(name, share, left):
    questions = list(read_questions(real_data(name)))
    options = {"steps": ["comparison"], "distributions": ["out"], "extents": ["facts"]}
    listed = draft(questions, **options, near_synonyms=True).instances
    assert sum(instance.near_synonym for instance in listed) / len(listed) == pytest.approx(share)
    usable = draft(questions, **options).instances
    assert (len(usable), sum(instance.near_synonym for instance in usable)) == (left, 0)

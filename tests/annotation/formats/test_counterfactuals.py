"""Counterfactual instances become items and are checked and repaired.

Then they are written again.
"""

import json
from pathlib import Path

import pytest

from analysis.commands.counterfactuals import read_questions
from analysis.counterfactuals.drafts import draft
from analysis.counterfactuals.instances import Instance, instances_text, read_instances
from annotation.content.schemas import AnnotationRecord, Document, ItemRecord, Problem, Span
from annotation.formats.counterfactuals import (
    DRAFT,
    build_item,
    derive_verdict,
    list_step_nodes,
    read_reasons,
    restore_instance,
    write_reasons,
)
from annotation.formats.source import Source
from annotation.formats.texts import find_touched_tokens
from foundation.errors import BadFile
from tests.analysis.data import real_data

OLDER = {
    "_id": "a", "type": "comparison", "question": "Who is older, Ann Lee or Bob Ray?", "answer": "Ann Lee",
    "context": [["Ann Lee", ["Ann is old. ", "So."]], ["Bob Ray", ["Bob is not."]]],
    "supporting_facts": [["Ann Lee", 0], ["Bob Ray", 0]],
}  # fmt: skip
SANG = {
    "_id": "b", "question": "Who sang in Rome?", "answer": "Ann Lee", "context": OLDER["context"],
    "supporting_facts": [["Ann Lee", 0], ["Bob Ray", 0]],
}  # fmt: skip
A, B, C, D = list_step_nodes()


def instance(row, step: str) -> Instance:
    instances = draft([row], distributions=["in"], extents=["paragraphs"]).instances
    return next(drafted for drafted in instances if drafted.step == step)


@pytest.fixture
def swapped() -> Instance:
    return instance(OLDER, "comparison")


@pytest.fixture
def inserted() -> Instance:
    return instance(SANG, "coreference")


def document(record: ItemRecord) -> Document:
    return Document.model_validate(record.extra[DRAFT])


def quotes(gold: Document, node: int) -> list[str]:
    return [mark.quote for mark in gold.layers[node].objects]


def marked(record: ItemRecord, node: int, *texts: str, note: str = "", nth: int = 0) -> Document:
    """Return the draft with other stretches at one node.

    They are the nth places of these texts.
    """
    spans = []
    for number, text in enumerate(texts):
        at = -1
        for _ in range(nth + 1):
            at = record.passage.index(text, at + 1)
        extent = at, at + len(text)
        tokens = find_touched_tokens(*extent, record.tokens)
        spans.append(Span(id=f"x{node}.{number}", span=extent, tokens=tokens, quote=text))
    gold = document(record)
    layer = gold.layers[node].model_copy(update={"objects": tuple(spans), "note": note})
    return gold.model_copy(update={"layers": {**gold.layers, node: layer}})


def settled(record: ItemRecord, gold: Document) -> Instance:
    return restore_instance(record.model_copy(update={"gold": gold}))


def test_it_works(swapped: Instance):
    record = build_item(swapped)
    assert record.passage == (
        "Question: Who is older, Ann Lee or Bob Ray?\n"
        "Changed question: Who is younger, Ann Lee or Bob Ray?\n\n"
        "Ann Lee\nAnn is old. So.\n\nBob Ray\nBob is not."
    )
    gold = document(record)
    assert [quotes(gold, node) for node in (A, B, C, D)] == [
        ["older"], ["Who", "or"], ["younger"], ["Bob Ray"]
    ]  # fmt: skip
    assert settled(record, gold) == swapped.model_copy(update={"verdict": "valid"})


def test_an_insertion_stands_in_its_article(inserted: Instance):
    record = build_item(inserted)
    new = inserted.counterfactual.context[0][1][-1]
    assert f"Ann Lee\nAnn is old. So.{new}\n\nBob Ray" in record.passage
    gold = document(record)
    assert quotes(gold, A) == ["Ann"]
    assert quotes(gold, B) == ["is old. So", "Bob is not"]
    assert quotes(gold, C) == [new.strip()]
    assert quotes(gold, D) == [inserted.counterfactual.answer]
    assert settled(record, gold) == inserted.model_copy(update={"verdict": "valid"})


def test_parts_are_repaired(swapped: Instance, inserted: Instance):
    record = build_item(swapped)
    mended = settled(record, marked(record, B, "Who", "is"))
    assert mended.verdict == "repaired"
    assert [mended.text[a:b] for a, b in mended.negative] == ["Who", "is"]
    assert mended.positive == swapped.positive
    record = build_item(inserted)
    mended = settled(record, marked(record, B, "old", "Bob is not"))
    assert [mended.text[a:b] for a, b in mended.negative] == ["old", "Bob", "is", "not"]


def test_the_change_is_worded_anew(swapped: Instance, inserted: Instance):
    record = build_item(swapped)
    reworded = settled(record, marked(record, C, "is younger", note="was born later"))
    assert reworded.counterfactual.question == "Who was born later, Ann Lee or Bob Ray?"
    assert reworded.original == swapped.original
    record = build_item(inserted)
    name = inserted.counterfactual.answer
    reworded = settled(
        record, marked(record, C, inserted.counterfactual.context[0][1][-1], note=f" {name} did.")
    )
    assert reworded.counterfactual.context[0][1] == ["Ann is old. ", "So.", f"{name} did."]


def test_the_answer_is_repaired(swapped: Instance):
    record = build_item(swapped)
    assert settled(record, marked(record, D, "Ann")).counterfactual.answer == "Ann"
    assert settled(record, marked(record, D, note="Bob")).counterfactual.answer == "Bob"
    assert settled(record, marked(record, D)).counterfactual.answer is None


def test_an_answer_that_nobody_knew_is_marked(swapped: Instance):
    unknown = swapped.model_copy(
        update={"counterfactual": swapped.counterfactual.model_copy(update={"answer": None})}
    )
    record = build_item(unknown)
    assert quotes(document(record), D) == []
    assert settled(record, marked(record, D, "Bob Ray")).counterfactual.answer == "Bob Ray"


def test_what_nothing_helps_is_rejected(swapped: Instance):
    record = build_item(swapped)
    gold = document(record).model_copy(update={"problem": Problem(kind="other", note="both are one")})
    rejected = settled(record, gold)
    assert (rejected.verdict, rejected.note) == ("rejected", "both are one")
    assert rejected.positive == swapped.positive


@pytest.mark.parametrize(
    ("node", "texts", "note", "message"),
    [
        (A, ["is not"], "", "'is not' is not in the question, unlike the parts"),
        (A, ["Ray?\nChanged"], "", "goes beyond the text in which it begins"),
        (C, ["older"], "elder", "the changed words are in the changed question or in the new sentences"),
        (C, [], "elder", "mark exactly one stretch"),
        (D, ["Ann", "Bob"], "", "the new answer is marked in several places"),
    ],
)
def test_gold_that_says_nothing_clear_is_told(swapped: Instance, node, texts, note, message):
    record = build_item(swapped)
    with pytest.raises(ValueError, match=rf"a:comparison:paragraphs:0: .*{message}"):
        settled(record, marked(record, node, *texts, note=note))


def test_every_verdict_is_kept(swapped: Instance):
    record = build_item(swapped)
    bad = document(record).model_copy(update={"problem": Problem(kind="other")})
    people = [document(record), bad, marked(record, A, "Who"), document(record)]
    at = "2026-01-01T00:00:00Z"
    annotations = [
        AnnotationRecord(annotator=str(n), document=gold, submitted=None if n == 3 else at)
        for n, gold in enumerate(people)
    ]
    restored = restore_instance(record.model_copy(update={"annotations": tuple(annotations)}))
    assert restored.reviews == ["valid", "rejected", "repaired"]
    assert restored.verdict == ""
    assert derive_verdict(people[0], document(record)) == "valid"


def test_files_go_in_and_out(tmp_path: Path):
    instances = draft([OLDER, SANG]).instances
    (tmp_path / "in.jsonl").write_text(instances_text(instances), encoding="utf-8")
    records = list(read_reasons(Source(tmp_path / "in.jsonl")))
    write_reasons(records, tmp_path / "out.jsonl")
    assert read_instances(tmp_path / "out.jsonl") == instances


def test_what_cannot_be_shown_or_written_is_told(tmp_path: Path, swapped: Instance):
    other = swapped.counterfactual.model_copy(update={"context": [("Ann Lee", ["New."]), ("Bob Ray", [])]})
    text = instances_text([swapped.model_copy(update={"counterfactual": other})])
    (tmp_path / "in.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(BadFile, match="the article 'Ann Lee' differs by more than new sentences"):
        list(read_reasons(Source(tmp_path / "in.jsonl")))
    (tmp_path / "in.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(BadFile, match=r"in\.jsonl:1: id: is missing"):
        list(read_reasons(Source(tmp_path / "in.jsonl")))
    with pytest.raises(ValueError, match="has another format"):
        restore_instance(ItemRecord(external_id="x", kind="spans", program="", text="", passage="a"))


@pytest.mark.parametrize(
    "name", ["hotpot/hotpot_sample.json", "quoref/quoref_original_subset_20191206_merged.json"]
)
def test_real_instances_come_back_as_they_went(tmp_path: Path, name: str):
    instances = draft(read_questions(real_data(name)), extents=["paragraphs"]).instances
    for drafted in instances:
        record = build_item(drafted)
        assert json.loads(record.model_dump_json())["extra"][DRAFT]["layers"]
        assert settled(record, document(record)) == drafted.model_copy(update={"verdict": "valid"})

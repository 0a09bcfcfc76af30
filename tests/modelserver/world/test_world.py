"""The generated world.

The tests check the official form, one true answer, splits apart, and the same examples every time.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from modelserver.__main__ import main
from modelserver.inputs.features import Vocabulary, featurise, find_answer
from modelserver.inputs.hotpot import parse_gold
from modelserver.world import SPLITS, generate, split_of, write_split


@pytest.fixture(scope="module")
def examples():
    return {split: list(generate(split, 150, seed=3)) for split in SPLITS}


def _titles(examples):
    return {title for example in examples for title, _ in example["context"]}


def _sentence(example, fact):
    title, index = fact
    return dict(map(tuple, example["context"]))[title][index]


def test_it_works(examples):
    example = examples["train"][0]
    assert set(example) == {"_id", "question", "answer", "supporting_facts", "context", "type", "level"}
    assert len(parse_gold(examples["train"], "world")) == 150


def test_no_title_of_one_split_appears_in_another(examples):
    titles = {split: _titles(examples[split]) for split in SPLITS}
    for split in SPLITS:
        for other in SPLITS:
            if split != other:
                text = json.dumps(examples[other], ensure_ascii=False)
                assert not {title for title in titles[split] if f'"{title}"' in text}


def test_a_name_belongs_to_one_split_whatever_its_case():
    assert split_of("Ada Vorn") == split_of("ADA VORN")
    shares = Counter(split_of(f"name {i}") for i in range(5000))
    assert 0.75 < shares["train"] / 5000 < 0.85
    assert 0.07 < shares["test"] / 5000 < 0.13


def test_the_gold_facts_exist_and_hold_the_answer(examples):
    for example in examples["test"]:
        gold = [_sentence(example, fact) for fact in example["supporting_facts"]]
        if example["answer"] not in {"yes", "no"}:
            assert any(example["answer"] in sentence for sentence in gold), example["question"]


def test_a_span_answer_is_found_by_whole_tokens(examples):
    vocabulary = Vocabulary(())
    for gold in parse_gold(examples["test"], "world"):
        if gold.answer not in {"yes", "no"}:
            features = featurise(gold.item, vocabulary)
            start, end = find_answer(features, gold.answer, set(gold.supporting_facts))
            assert features.facts[features.fact[start]] in gold.supporting_facts
            assert features.fact[start] == features.fact[end]


def test_every_context_has_eight_articles_of_different_titles(examples):
    for example in examples["test"]:
        titles = [title for title, _ in example["context"]]
        assert len(set(titles)) == len(titles) == 8
        assert {title for title, _ in example["supporting_facts"]} < set(titles)


def test_sentences_after_the_first_begin_with_a_space(examples):
    for example in examples["dev"]:
        for _, sentences in example["context"]:
            assert not sentences[0].startswith(" ")
            assert all(s.startswith(" ") and not s.startswith("  ") for s in sentences[1:])
            assert all(s.endswith(".") and "{" not in s for s in sentences)


def test_kinds_of_questions_are_all_there(examples):
    everything = [example for split in SPLITS for example in examples[split]]
    kinds = Counter(example["type"] for example in everything)
    answers = Counter(example["answer"] for example in everything)
    assert kinds["bridge"] > kinds["comparison"] > 100
    assert 0.35 < answers["yes"] / (answers["yes"] + answers["no"]) < 0.65
    assert all(e["question"].endswith("?") and e["question"][0].isupper() for e in everything)


def test_the_place_of_the_gold_articles_gives_nothing_away(examples):
    places = Counter(
        [title for title, _ in example["context"]].index(example["supporting_facts"][0][0])
        for split in SPLITS
        for example in examples[split]
    )
    assert set(places) == set(range(8))
    assert max(places.values()) < 450 / 8 * 1.7


def test_a_question_has_one_answer_only(examples):
    """Of two comparable things the named one wins by what the articles say."""
    questions = [e for e in examples["train"] + examples["test"] if "more inhabitants" in e["question"]]
    assert questions
    for example in questions:
        size = {}
        for fact in example["supporting_facts"]:
            numbers = [w.strip(".") for w in _sentence(example, fact).split() if "," in w and w[0].isdigit()]
            numbers += [w for w in _sentence(example, fact).split() if w.isdigit() and len(w) == 3]
            size[fact[0]] = int(numbers[0].replace(",", ""))
        assert max(size, key=size.get) == example["answer"]


def test_the_same_seed_gives_the_same_examples_in_any_process(examples):
    code = (
        "import json; from modelserver.world import generate; print(json.dumps(list(generate('dev', 5, 3))))"
    )
    for hash_seed in ("0", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        assert json.loads(done.stdout) == examples["dev"][:5]


def test_another_seed_gives_other_examples(examples):
    assert next(iter(generate("dev", 1, 4))) != examples["dev"][0]
    ids = [example["_id"] for split in SPLITS for example in examples[split]]
    assert len(set(ids)) == len(ids)


def test_comparisons_alone_and_those_for_the_larger():
    examples_by_kind = {
        which: list(generate("train", 60, 3, 2, which)) for which in ("comparisons", "larger")
    }
    for examples in examples_by_kind.values():
        assert {example["type"] for example in examples} == {"comparison"}
        assert not {"yes", "no"} & {example["answer"] for example in examples}
    smaller = re.compile(r"\b(later|younger|newer|recent(ly)?|shorter|fewer|smaller)\b")
    counts = {
        which: sum(bool(smaller.search(example["question"])) for example in examples)
        for which, examples in examples_by_kind.items()
    }
    assert counts["larger"] == 0
    assert 20 <= counts["comparisons"] <= 40


def test_a_wrong_split_is_named():
    with pytest.raises(ValueError, match="'validation'"):
        next(generate("validation", 1, 1))


def test_the_command_writes_three_files(tmp_path, capsys):
    command = ["world", "--out", str(tmp_path), "--train", "4", "--dev", "0", "--test", "2"]
    assert main([*command, "--world-seed", "3"]) == 0
    assert json.loads((tmp_path / "train.json").read_text()) == list(generate("train", 4, 3))
    assert json.loads((tmp_path / "dev.json").read_text()) == []
    assert len(json.loads((tmp_path / "test.json").read_text())) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dev.json", "test.json", "train.json"]
    assert main([*command, "--world-seed", "3", "--kind", "larger"]) == 0
    larger = list(generate("train", 4, 3, questions="larger"))
    assert json.loads((tmp_path / "train.json").read_text()) == larger


def test_a_negative_size_is_bad_usage(tmp_path, capsys):
    assert main(["world", "--out", str(tmp_path), "--test", "-1"]) == 2
    assert "--test" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_interrupted_write_leaves_no_file(tmp_path, monkeypatch):
    def broken(*arguments):
        yield {}
        raise RuntimeError

    monkeypatch.setattr("modelserver.world.generate", broken)
    with pytest.raises(RuntimeError):
        write_split(tmp_path / "test.json", "test", 2, 1)
    assert not (tmp_path / "test.json").exists()

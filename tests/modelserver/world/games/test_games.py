"""Generated game reports.

Their gold executes to the answer, their offsets hold, and their names stay in a split.
"""

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from itertools import permutations

import pytest

from annotation.content.schemas import Span
from annotation.formats.texts import build_span, tokenize
from modelserver.__main__ import main
from modelserver.world.games import generate
from modelserver.world.games.prose import Prose, choose_article, tokenise
from modelserver.world.games.questions import ASKED
from modelserver.world.names import SPLITS
from tests.modelserver import world_items

SIZES = {"train": 400, "dev": 100, "test": 100}


@pytest.fixture(scope="module")
def records():
    return {split: list(generate(split, n, seed=3)) for split, n in SIZES.items()}


@pytest.fixture(scope="module")
def everything(records):
    return [record for split in SPLITS for record in records[split]]


def test_executing_the_program_over_the_gold_gives_every_answer(everything):
    for record in everything:
        assert world_items.execution_gives_the_answer(record) is True, record["external_id"]


def test_another_answer_would_be_found_out(everything):
    """The check above can fail.

    Numbers and names that are off by one are contradictions.
    """
    names = {record["answer"] for record in everything if isinstance(record["answer"], str)}
    for record in everything[:100]:
        answer = record["answer"]
        # A part of the right answer is no contradiction.
        wrong = answer + 1 if isinstance(answer, int) else min(name for name in names if name not in answer)
        assert world_items.execution_gives_the_answer({**record, "answer": wrong}) is False


def test_spans_are_where_they_say_in_code_points_tokens_and_quote(everything):
    span_count = 0
    for record in everything:
        item, program = world_items.checked(record)
        for objects in world_items.gold_objects(item, program).values():
            for span in objects.values():
                assert isinstance(span, Span)
                expected = build_span(span.id, *span.span, item.passage, item.tokens)
                assert (span.span, span.tokens, span.quote) == (
                    expected.span,
                    expected.tokens,
                    expected.quote,
                )
                assert item.passage[slice(*span.span)] == span.quote
                assert item.tokens[span.tokens[0]][0] == span.span[0]
                assert item.tokens[span.tokens[1] - 1][1] == span.span[1]
                span_count += 1
    assert span_count > 3 * len(everything)


def test_tokens_are_those_of_annotation(everything):
    for record in everything:
        assert record["tokens"] == [list(token) for token in tokenize(record["passage"])]


def test_numbers_and_dates_lie_in_the_event_that_they_are_linked_to(everything):
    linked: Counter[str] = Counter()
    for record in everything:
        item, program = world_items.checked(record)
        drawn = world_items.gold_objects(item, program)
        spans = {identifier: span for objects in drawn.values() for identifier, span in objects.items()}
        for number, objects in drawn.items():
            module = program.nodes[number].module
            if module in ("find-num", "find-date"):
                for span in objects.values():
                    (source,) = (spans[link] for link in span.links)
                    assert source.span[0] <= span.span[0] < span.span[1] <= source.span[1]
                    linked[module] += 1
    assert min(linked["find-num"], linked["find-date"]) > 50


def _find_distinct_part(name):
    """Return the part of a name that keeps it apart.

    Given names and words for places may recur.
    """
    plain = unicodedata.normalize("NFC", name)
    if not unicodedata.name(plain[0]).startswith("LATIN"):
        return plain
    return plain.split()[0 if plain.split()[-1] in {"Arena", "Field", "Park", "Stadium"} else -1]


def test_no_name_of_one_split_is_in_another(records):
    names = {split: {n for r in records[split] for n in r["extra"]["world"]["names"]} for split in SPLITS}
    distinct_parts = {split: {_find_distinct_part(name) for name in names[split]} for split in SPLITS}
    for split, other in permutations(SPLITS, 2):
        assert len(distinct_parts[split]) > 100
        assert not distinct_parts[split] & distinct_parts[other]
        texts = "\n".join(record["passage"] + record["text"] for record in records[other])
        assert not [name for name in names[split] if " " in name and name in texts]


def test_texts_exercise_all_kinds_of_offsets(everything):
    passages = [record["passage"] for record in everything]
    emoji = [p for p in passages if any(ord(letter) > 0xFFFF for letter in p)]
    marks = [p for p in passages if any(unicodedata.category(letter).startswith("M") for letter in p)]
    scripts = {unicodedata.name(letter).split()[0] for p in passages for letter in p if letter.isalpha()}
    assert min(len(emoji), len(marks)) > 0.3 * len(passages)
    assert "\u200d" in "".join(passages)
    assert scripts >= {"LATIN", "CYRILLIC", "GREEK", "DEVANAGARI", "HANGUL", "ARABIC"}
    units = [p for p in passages if len(p.encode("utf-16-le")) // 2 != len(p) != len(p.encode())]
    assert len(units) > 0.3 * len(passages)


def test_all_kinds_of_questions_and_modules_are_there(everything):
    kinds = Counter(record["extra"]["world"]["question"] for record in everything)
    assert set(kinds) == set(ASKED)
    modules = {word for record in everything for word in re.findall(r"[a-z-]+(?=[(\[])", record["program"])}
    assert modules >= {
        "find", "filter", "relocate", "count", "find-num", "find-date", "find-max-num", "find-min-num",
        "num-compare", "date-compare", "addition", "subtraction", "extract-answer",
    }  # fmt: skip


def test_the_words_of_every_argument_stand_in_the_question(everything):
    for record in everything:
        _, program = world_items.checked(record)
        for node in program.nodes:
            if node.argument and not node.module.endswith("-compare"):
                words = set(re.findall(r"[^\s,?:]+", record["text"]))
                assert set(node.argument.split()) <= words, (record["text"], node.argument)


def test_a_report_reads_as_one(everything):
    for record in everything:
        for text in (record["passage"], record["text"]):
            assert text == text.strip()
            assert not [
                wrong for wrong in ("  ", "{", "<", " a 8", " a 11-", " a 18-", "..") if wrong in text
            ]
        assert record["text"].endswith("?")


def test_prose_finds_slots_and_marked_stretches_again():
    prose = Prose()
    prose.write("Zoe\u0308 👋🏾 ")
    spans = prose.write("saw {a} <event>{n}-yard run</event>.", a=choose_article(8), n=8)
    assert prose.text == "Zoe\u0308 👋🏾 saw an 8-yard run."
    assert {name: span.quote for name, span in spans.items()} == {"a": "an", "n": "8", "event": "8-yard run"}
    assert all(prose.text[slice(*span.place)] == span.quote for span in spans.values())


def test_tokens_keep_marks_and_joined_signs_together():
    text = "Zoe\u0308’s 41,203 👩‍👩‍👧 🇳🇴🇧🇷 7-yard मिता"
    assert [text[start:end] for start, end in tokenise(text)] == [
        "Zoe\u0308’s", "41,203", "👩‍👩‍👧", "🇳🇴", "🇧🇷", "7", "-", "yard", "मिता",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "article"), [(8, "an"), (11, "an"), (18, "an"), (80, "an"), (1, "a"), (28, "a")]
)
def test_articles_before_numbers(number, article):
    assert choose_article(number) == article


def test_the_same_seed_gives_the_same_items_in_any_process(records):
    code = (
        "import json; from modelserver.world.games import generate as g; print(json.dumps([*g('dev', 5, 3)]))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )  # fmt: skip
    assert json.loads(process.stdout) == records["dev"][:5]
    assert next(iter(generate("dev", 1, 4))) != records["dev"][0]
    assert len(
        {record["external_id"] for split_records in records.values() for record in split_records}
    ) == sum(SIZES.values())


def test_the_command_writes_three_files(tmp_path, capsys):
    sizes = ["--train", "4", "--dev", "0", "--test", "2"]
    arguments = ["games", "--out", str(tmp_path), "--world-seed", "3", *sizes]
    assert main(arguments) == 0
    lines = (tmp_path / "train.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == list(generate("train", 4, 3))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.jsonl", "test.jsonl", "train.jsonl"]


def test_a_wrong_split_is_named():
    with pytest.raises(ValueError, match="'validation'"):
        next(generate("validation", 1, 1))


def test_an_interrupted_write_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("modelserver.world.games._generate_item", lambda split, index, seed: {"a": object()})
    with pytest.raises(TypeError):
        main(["games", "--out", str(tmp_path), "--train", "1"])
    assert not list(tmp_path.iterdir())

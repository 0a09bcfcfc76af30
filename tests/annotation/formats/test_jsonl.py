"""Plain JSON lines lose nothing, and say where a line is wrong."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from annotation.content.schemas import ItemRecord
from annotation.formats.jsonl import read_jsonl, write_jsonl
from annotation.formats.source import Source
from annotation.formats.texts import tokenize
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from tests.annotation.formats.records import box_item, box_items, passages, span_item, unhurried


def test_it_works(tmp_path: Path):
    items = [box_item(), span_item()]
    write_jsonl(items, tmp_path / "items.jsonl")
    assert list(read_jsonl(Source(tmp_path / "items.jsonl"))) == items


@unhurried
@given(box_items())
def test_any_boxes_come_back(tmp_path_factory: pytest.TempPathFactory, item: ItemRecord):
    path = tmp_path_factory.mktemp("jsonl") / "items.jsonl"
    write_jsonl([item], path)
    assert list(read_jsonl(Source(path))) == [item]


@unhurried
@given(passages)
def test_any_passage_comes_back(tmp_path_factory: pytest.TempPathFactory, passage: str):
    path = tmp_path_factory.mktemp("jsonl") / "items.jsonl"
    item = span_item(passage=passage)
    write_jsonl([item], path)
    assert list(read_jsonl(Source(path))) == [item]


def test_a_passage_without_tokens_is_tokenized(tmp_path: Path):
    path = tmp_path / "items.jsonl"
    line = {"external_id": "1", "kind": "spans", "program": "find[a]", "text": "?", "passage": "don't 👍🏽"}
    path.write_text(f"\ufeff{json.dumps(line)}\n\n", encoding="utf-8")
    assert [item.tokens for item in read_jsonl(Source(path))] == [tokenize("don't 👍🏽")]


def spoilt(path: str, value: Any, *, of: Callable[[], ItemRecord] = box_item) -> str:
    """Return the line of an item with one value replaced.

    `path` leads to the value, such as gold.layers.2.
    """
    content = json.loads(of().model_dump_json())
    *way, last = path.split(".")
    inner: Any = content
    for key in way:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    inner[int(last) if isinstance(inner, list) else last] = value
    return json.dumps(content)


BOX = "gold.layers.2.objects.0"
SPAN = "gold.layers.3.objects.0"


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "not JSON: EOF"),
        ("[]", "must be a mapping of fields"),
        ('{"external_id": "1"}', "kind: is missing"),
        (spoilt("external_id", ""), "external_id: must have at least 1"),
        (spoilt("colour", 1), "colour: there is no such field"),
        (spoilt("kind", "dots"), "kind: "),
        (spoilt("images", []), "images: is empty, and boxes need an image"),
        (spoilt("images.0.name", "https://example.org/a.png"), "images.0: 'https://example.org/a.png' is an"),
        (spoilt("program", "equal(count(find[a], 1)"), "program: column "),
        (spoilt("program", ""), "gold.layers: the item has no program"),
        (spoilt("gold.layers.9", {}), "gold.layers.9.node: the program has no step 9"),
        (spoilt("gold.layers.5", {}), "gold.layers.5.node: step 5 equals step 2"),
        (spoilt("gold.layers.1", {"objects": [{"id": "z", "ref": "a"}]}), "layers.1.objects.0: count is"),
        (spoilt("gold.layers.2.state", "nothing"), "gold.layers.2.state: a step with objects"),
        (spoilt(f"{BOX}.box", [0.5, 0.1, 0.4, 0.2]), "right beyond its left"),
        (spoilt(f"{BOX}.box", [0.5, 0.1, 1.4, 0.2]), "at most 1"),
        (spoilt(f"{BOX}.box", [0.5, 0.1, float("nan"), 0.2]), "finite"),
        (spoilt(f"{BOX}.image", 2), "gold.layers.2.objects.0.image: the item has 2 images"),
        (spoilt("gold.layers.2.objects.1.id", "a"), "gold.layers: two objects have the id 'a'"),
        (spoilt(f"{BOX}.links", ["q"]), "gold.layers.2.objects.0.links: the steps below"),
        (spoilt("gold.layers.4.objects.0.ref", "q"), "gold.layers.4.objects.0.ref: the steps below"),
        (spoilt("gold.layers.4.objects.1", {"id": "z", "ref": "a"}), "gold.layers: step 4 chooses an"),
        (spoilt("gold.layers.4.objects.1.reason", " "), "gold.layers.4.objects.1.reason: filter chooses"),
        (spoilt("gold.layers.2.objects.1", {"id": "z", "ref": "a"}), "layers.2.objects.1: find does not"),
        (spoilt("annotations.1.document.problem.node", 9), "problem.node: the program has no step 9"),
        (spoilt(f"{BOX}", {"id": "z", "span": [0, 1], "tokens": [0, 1], "quote": "A"}), "marks boxes"),
        (spoilt("passage", "", of=span_item), "passage: is missing"),
        (spoilt("tokens", [[0, 3], [2, 4]], of=span_item), "tokens.1: 2 to 4 overlaps"),
        (spoilt("tokens", [[0, 300]], of=span_item), "tokens.0: 0 to 300 overlaps the one before, or leaves"),
        (spoilt(f"{SPAN}.quote", "x", of=span_item), "gold.layers.3.objects.0.quote: the quote differs"),
        (spoilt(f"{SPAN}.span", [0, 500], of=span_item), "gold.layers.3.objects.0.span: the passage has"),
        (spoilt(f"{SPAN}.tokens", [3, 4], of=span_item), "gold.layers.3.objects.0.tokens: span and tokens"),
        (spoilt(f"{SPAN}.tokens", [0, 400], of=span_item), "gold.layers.3.objects.0.span: the passage has"),
        (spoilt("gold.layers.1.objects.0", {"id": "z", "image": 0, "box": [0, 0, 1, 1]}, of=span_item),
         "gold.layers.1.objects.0: this project marks spans"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_file_line_and_field(tmp_path: Path, line: str, message: str):
    path = tmp_path / "items.jsonl"
    path.write_text(box_item("first").model_dump_json() + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(BadFile) as error:
        list(read_jsonl(Source(path)))
    assert str(error.value).startswith(f"{path}:2: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"a": 1}, "answer: must be true or false, a number or text; found an object"),
        ("a\0b", "answer: must match the pattern"),
    ],
)
def test_an_answer_of_no_kind_is_one_mistake(tmp_path: Path, answer: object, message: str):
    path = tmp_path / "items.jsonl"
    path.write_text(spoilt("answer", answer), encoding="utf-8")
    findings = Findings(collect=True)
    list(read_jsonl(Source(path, findings=findings)))
    [refused] = findings.refused
    assert f"{refused.field}: {refused.reason}".startswith(message)


def test_an_id_that_came_before_is_refused(tmp_path: Path):
    path = tmp_path / "items.jsonl"
    write_jsonl([box_item("1"), box_item("2"), box_item("1")], path)
    with pytest.raises(BadFile, match=r":3: external_id: '1' is already on line 1"):
        list(read_jsonl(Source(path)))


def test_files_without_items_are_refused(tmp_path: Path):
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(BadFile, match="holds no items"):
        list(read_jsonl(Source(tmp_path / "empty.jsonl")))
    with pytest.raises(BadFile, match="there is no such file"):
        list(read_jsonl(Source(tmp_path / "none.jsonl")))
    (tmp_path / "latin.jsonl").write_bytes('{"external_id": "é"}'.encode("latin-1"))
    with pytest.raises(BadFile, match=r"latin\.jsonl:1: "):
        list(read_jsonl(Source(tmp_path / "latin.jsonl")))


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "items.jsonl"
    write_jsonl([box_item()], path)
    before = path.read_bytes()

    def failing() -> Any:
        yield box_item()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        write_jsonl(failing(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_memory_does_not_grow_with_the_file(tmp_path: Path):
    def peak(count: int) -> int:
        path = tmp_path / f"{count}.jsonl"
        write_jsonl((box_item(f"item-{number}") for number in range(count)), path)
        tracemalloc.start()
        for _ in read_jsonl(Source(path)):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)  # what is loaded once
    assert peak(2000) < 1.5 * peak(500) + 200_000  # the reader keeps the ids

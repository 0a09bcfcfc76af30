"""DROP questions and the released outputs of modules come in and go out.

The tests also cover their repairs.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.programs import is_answer_consistent
from annotation.content.completeness import execute_document
from annotation.content.schemas import Chosen, Document, ItemRecord, Layer, Span
from annotation.formats.checks import check_record, parse_record_program
from annotation.formats.drop import module_outputs, read_drop, write_drop
from annotation.formats.jsonl import read_jsonl, write_jsonl
from annotation.formats.source import Source
from annotation.formats.texts import tokenize
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from tests.analysis.data import real_data
from tests.annotation.formats.records import box_item

TEXT = "Ayu kicked a 49 - yard field goal , then Bo kicked a 28 - yard field goal in May 1999 ."
WORDS = TEXT.split()
EVENTS, NUMBERS = [[1, 8], [11, 18]], [[3, 4], [13, 14]]


def passage(*questions: dict[str, Any], words: list[str] = WORDS) -> dict[str, Any]:
    text = " ".join(words)
    return {
        "passage": f" {text}  ",
        "qa_pairs": list(questions),
        "cleaned_passage": text,
        "tokenized_passage": text,
        "passage_charidxs": [start for start, _ in places(words)],
        "passage_NUM_mens": [["49", 3, 49]],
    }


def places(words: list[str]) -> list[tuple[int, int]]:
    extents, at = [], 0
    for word in words:
        extents.append((at, at + len(word)))
        at += len(word) + 1
    return extents


def question(qtype: str, *lists: tuple[str, list[list[int]]], **fields: Any) -> dict[str, Any]:
    values = {
        "question": "What was the longest field goal ?",
        "tokenized_question": "What was the longest field goal ?",
        "answer": {"number": "49", "date": {"day": "", "month": "", "year": ""}, "spans": []},
        "query_id": qtype,
        "qtype": qtype,
        "ques_attention_supervision": [[0, 0, 0, 0, 1.0, 1.0, 0]],
        "module_output_annotations": [list(pair) for pair in lists],
    }
    return values | fields


LONGEST = question(
    "max_find_qtype", ("find-events", EVENTS), ("find-nums", NUMBERS), ("after-max-event", [[1, 8]])
)
COMPARED = question(
    "date_comparison",
    ("find-two-events", [[10, 18], [0, 8]]),
    ("ground-two-dates", [[19, 20], [3, 4]]),
    question="Who kicked first , Ayu or Bo ?",
    tokenized_question="Who kicked first , Ayu or Bo ?",
    ques_attention_supervision=[[0, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0]],
)


def written(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def read(tmp_path: Path, content: Any, findings: Findings | None = None) -> list[ItemRecord]:
    return list(read_drop(Source(written(tmp_path / "drop.json", content), findings=findings or Findings())))


def quotes(item: ItemRecord, node: int) -> list[str]:
    return [mark.quote for mark in item.gold.layers[node].objects if isinstance(mark, Span)]


def test_plain_questions_have_no_program(tmp_path: Path):
    plain = {
        "question": "How many?",
        "query_id": "q1",
        "answer": {"number": "1,100", "date": {}, "spans": []},
    }
    dated = plain | {"query_id": "q2", "answer": {"date": {"day": "3", "month": "May", "year": ""}}}
    named = plain | {"query_id": "q3", "answer": {"spans": ["Ayu", "Bo"]}}
    items = read(tmp_path, {"p1": {"passage": "Ayu 👍🏽 a 49-yard", "qa_pairs": [plain, dated, named]}})
    assert [item.answer for item in items] == [1100, "3 May", "Ayu; Bo"]
    assert {(item.program, item.gold, item.passage) for item in items} == {("", None, "Ayu 👍🏽 a 49-yard")}
    assert items[0].tokens == tokenize("Ayu 👍🏽 a 49-yard")


def test_programs_can_be_given(tmp_path: Path):
    plain = {"question": "How many?", "query_id": "q1", "answer": {"number": "1"}}
    path = written(tmp_path / "drop.json", {"p1": {"passage": "Ayu", "qa_pairs": [plain]}})
    (item,) = read_drop(Source(path), programs={"q1": "count(find[goals])"})
    assert item.program == "count(find[goals])"


def test_outputs_become_gold(tmp_path: Path):
    (item,) = read(tmp_path, {"p1": passage(LONGEST)})
    assert item.program == "find-max-num(find-num(find[field goal]))"
    assert quotes(item, 2) == ["kicked a 49 - yard field goal", "kicked a 28 - yard field goal"]
    assert quotes(item, 1) == ["49", "28"]
    assert [mark.links for mark in item.gold.layers[1].objects] == [("m2-0",), ("m2-1",)]
    assert item.gold.layers[0].objects == (Chosen(id="m0-0", ref="m1-0"),)
    assert item.tokens == tuple(places(WORDS))


def test_two_events_in_one_list_are_told_apart(tmp_path: Path):
    findings = Findings()
    (item,) = read(tmp_path, {"p1": passage(COMPARED)}, findings)
    assert item.program == "date-compare[earlier](find-date(find[Ayu]), find-date(find[Bo]))"
    assert [quotes(item, node)[0][:3] for node in (2, 4)] == ["Ayu", "Bo "]
    assert [quotes(item, node) for node in (1, 3)] == [["49"], ["May"]]
    assert findings.count(module_outputs.JOINT_SPAN_RESOLVED) == 4
    assert findings.count(module_outputs.UNLINKED_VALUE) == 1  # May is not in Bo's event


def test_what_cannot_be_told_apart_goes_to_both(tmp_path: Path):
    findings = Findings()
    same = COMPARED | {"module_output_annotations": [["find-two-events", [[2, 4]]], ["ground-two-dates", []]]}
    (item,) = read(tmp_path, {"p1": passage(same)}, findings)
    assert [quotes(item, node) for node in (2, 4)] == [["a 49"], ["a 49"]]
    assert item.gold.layers[1].state == "nothing"
    assert findings.count(module_outputs.JOINT_SPAN_UNRESOLVED) == 1


def test_repairs_are_reported(tmp_path: Path):
    findings = Findings()
    filtered = question(
        "count_filterfind_qtype",
        ("find-events", [*EVENTS, EVENTS[0]]),
        ("after-filter-events", [[1, 9], [11, 18]]),
        ques_attention_supervision=[[0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0]],
    )
    (item,) = read(tmp_path, {"p1": passage(filtered)}, findings)
    new, chosen = item.gold.layers[1].objects
    assert chosen == Chosen(id="m1-1", ref="m2-1")
    assert "equals no span" in new.reason
    assert (findings.count(module_outputs.REPEATED_SPAN), findings.count(module_outputs.UNMATCHED_SPAN)) == (
        1,
        1,
    )


@pytest.mark.parametrize("through_json", [False, True])
def test_untouched_it_goes_out_byte_for_byte(tmp_path: Path, through_json: bool):
    content = {"p2": passage(LONGEST, COMPARED), "p1": passage(LONGEST | {"query_id": "third"})}
    items = read(tmp_path, content)
    if through_json:
        write_jsonl(items, tmp_path / "items.jsonl")
        items = list(read_jsonl(Source(tmp_path / "items.jsonl")))
    write_drop(items, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "drop.json").read_bytes()


def test_lists_that_somebody_changed_are_written_anew(tmp_path: Path):
    (item,) = read(tmp_path, {"p1": passage(LONGEST)})
    layers = item.gold.layers
    choice = {0: Layer(state="done", objects=(Chosen(id="x", ref="m1-1"),))}
    numbers = {1: layers[1].model_copy(update={"objects": layers[1].objects[1:]})}
    item = check_record(item.model_copy(update={"gold": Document(layers={**layers, **numbers, **choice})}))
    write_drop([item], tmp_path / "again.json")
    (pair,) = json.loads((tmp_path / "again.json").read_text())["p1"]["qa_pairs"]
    assert pair == LONGEST | {
        "module_output_annotations": [
            ["find-events", EVENTS], ["find-nums", NUMBERS[1:]], ["after-max-event", EVENTS[1:]],
        ]
    }  # fmt: skip
    (again,) = read_drop(Source(tmp_path / "again.json"))
    assert quotes(again, 1) == ["28"]


def test_what_the_format_cannot_hold_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="dogs-1: was not read from a DROP file"):
        write_drop([box_item()], tmp_path / "out.json")
    (item,) = read(tmp_path, {"p1": passage(LONGEST)})
    other = item.model_copy(update={"program": "count(find[field goal])", "gold": Document(layers={})})
    with pytest.raises(ValueError, match="the program is not that of 'max_find_qtype'"):
        write_drop([other], tmp_path / "out.json")
    write_drop([item.model_copy(update={"gold": None})], tmp_path / "out.json")
    assert "module_output_annotations" not in (tmp_path / "out.json").read_text()


BROKEN = passage(LONGEST) | {"passage_charidxs": [1, *passage()["passage_charidxs"][1:]]}


@pytest.mark.parametrize(
    "content, message",
    [
        ([], "expected an object"),
        ({"p1": []}, "p1: "),
        ({"p1": {"passage": "a"}}, "p1: qa_pairs: is missing"),
        ({"p1": BROKEN}, "p1: passage_charidxs: no token 'Ayu' stands at 1"),
        ({"p1": passage(LONGEST) | {"passage_charidxs": [0]}}, "p1: passage_charidxs: has 1 places for"),
        (
            {"p1": passage(LONGEST, LONGEST)},
            "p1: qa_pairs[1].query_id: 'max_find_qtype' is already on line 1",
        ),
        ({"p1": passage(LONGEST | {"query_id": ""})}, "p1: qa_pairs[0].query_id: "),
        ({"p1": passage(LONGEST | {"qtype": "odd"})}, "p1: qa_pairs[0].qtype: "),
        ({"p1": passage(LONGEST | {"qtype": ""})}, "p1: qa_pairs[0].qtype: is missing"),
        (
            {"p1": passage(LONGEST | {"module_output_annotations": [["find-events", []]]})},
            "has the lists find-ev",
        ),
        (
            {"p1": passage(question("num_find_qtype", ("find-events", EVENTS), ("find-nums", [[20, 99]])))},
            "p1: qa_pairs[0].module_output_annotations[1]: tokens 20 to 99 are not in the passage",
        ),
        (
            {"p1": passage(question("num_find_qtype", ("find-events", EVENTS), ("find-nums", [[4, 4]])))},
            "p1: qa_pairs[0].module_output_annotations[1]: tokens 4 to 4 are not in the passage",
        ),
    ],
)
def test_mistakes_are_told(tmp_path: Path, content: Any, message: str):
    with pytest.raises(BadFile) as error:
        read(tmp_path, content)
    assert str(error.value).startswith(f"{tmp_path}/drop.json:1: ")
    assert message in str(error.value)


def test_the_released_outputs_come_in_whole_and_go_out_byte_for_byte(tmp_path: Path):
    path, findings = real_data("faithful_nmn/drop_module_output_annotations.json"), Findings()
    items = list(read_drop(Source(path, findings=findings)))
    pairs = [item.extra["drop"]["pair"] for item in items]
    lists = [spans for pair in pairs for _, spans in pair["module_output_annotations"]]
    assert len({item.extra["drop"]["passage_id"] for item in items}) == 149
    assert (len(items), len(lists), sum(len(spans) for spans in lists)) == (215, 591, 1321)
    assert {kind: repair.count for kind, repair in findings.repairs.items()} == {
        module_outputs.REPEATED_SPAN: 1, module_outputs.UNMATCHED_SPAN: 33,
        module_outputs.JOINT_SPAN_RESOLVED: 134, module_outputs.JOINT_SPAN_UNRESOLVED: 2,
        module_outputs.UNLINKED_VALUE: 16,
    }  # fmt: skip
    # Every span stands in some layer: 1,321 less the one given twice, and one more that two events share.
    objects = [mark for item in items for layer in item.gold.layers.values() for mark in layer.objects]
    assert len(objects) == 1321 - 1 + 2
    write_drop(items, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_the_released_gold_gives_the_answer_in_201_of_215():
    counts: dict[bool | None, int] = {}
    for item in read_drop(Source(real_data("faithful_nmn/drop_module_output_annotations.json"))):
        program = parse_record_program(item)
        agreed = is_answer_consistent(program, execute_document(item.gold, program), item.answer)
        counts[agreed] = counts.get(agreed, 0) + 1
    assert counts == {True: 201, False: 11, None: 3}


@pytest.mark.parametrize("name, count", [("drop_dev_sample", 215), ("drop_contrast_sets_test", 947)])
def test_released_questions_come_in_and_go_out(tmp_path: Path, name: str, count: int):
    path = real_data(f"drop/{name}.json")
    items = list(read_drop(Source(path)))
    assert len(items) == count
    write_drop(items, tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(path.read_text())

"""The import repairs the released boxes and programs.

They go out without loss.
"""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from analysis.programs import FoundBox, run
from annotation.content.completeness import resolve_references
from annotation.content.schemas import Box, Chosen, Document, ItemRecord, Layer, Problem
from annotation.formats import boxes as edges
from annotation.formats.checks import check_record, parse_record_program
from annotation.formats.faithful_nmn import gold, reader
from annotation.formats.faithful_nmn.reader import read_faithful_nmn
from annotation.formats.faithful_nmn.writer import write_faithful_nmn
from annotation.formats.jsonl import read_jsonl, write_jsonl
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from tests.analysis.data import real_data
from tests.annotation.formats.records import box_item

SENTENCE = "Two dogs, and a black dog."
TOKENS = dict(enumerate(["two", "dogs", ",", "and", "a", "black", "dog", "."]))
# 0 and, 1 equal, 2 count, 3 find, 4 two, 5 exist, 6 filter, 7 find, 8 with-relation is not used
LINES = "bool_and\n.equal\n..count\n...find[1]\n..2[0]\n.exist\n..filter[5]\n...find[1]"
LABELS = {2: "count", 3: "find[dogs]", 6: "filter[black]", 7: "find[dogs]"}


def cell(*boxes: tuple[str, str, str, str]) -> str:
    names = ("left", "top", "width", "height")
    return json.dumps([dict(zip(names, box, strict=True)) for box in boxes], separators=(",", ":"))


A = ("0.100", "0.200", "0.300", "0.400")
B = ("0.500", "0.250", "0.125", "0.750")
DRAWN: dict[tuple[int, int], str] = {
    (7, 0): cell(A, B), (7, 1): cell(B), (6, 0): cell(A), (6, 1): "", (3, 0): cell(A, B), (3, 1): cell(B),
    (2, 0): "2", (2, 1): "1",
}  # fmt: skip


def row(
    node: int, image: int, text: str, *, number: int = 50, identifier: str = "dev-7-1-0", flag: str = ""
) -> list[str]:
    return [flag, str(number), identifier, f"q{number}-m{node}-{image}", LABELS[node], text]


def rows(drawn: dict[tuple[int, int], str] = DRAWN, **fields: Any) -> list[list[str]]:
    return [row(node, image, text, **fields) for (node, image), text in drawn.items()]


def read_released(
    boxes: Path, programs: Path, examples: Path, findings: Findings | None = None
) -> list[ItemRecord]:
    source = Source(boxes, programs=programs, examples=[examples], findings=findings or Findings())
    return list(read_faithful_nmn(source))


class Files:
    """The three files of a small release in a folder."""

    def __init__(self, folder: Path) -> None:
        self.boxes, self.programs, self.examples = (
            folder / name for name in ("boxes.csv", "programs.tsv", "dev.json")
        )
        self.write(rows())
        columns = ["sentence", "annotation", "tokens", "all", "simple_count"]
        programs = [["another sentence", "exist\n.find[0]", "{0: another, 1: one}", "1", "1"],
                    [SENTENCE.lower(), LINES, repr(TOKENS), "1", "0"]]  # fmt: skip
        self.programs.write_bytes(table([columns, *programs], "\t"))
        examples = [
            {
                "identifier": f"dev-{number}",
                "sentence": SENTENCE,
                "label": "True",
                "left_url": "u",
                "right_url": "v",
            }
            for number in ("7-1-0", "8-1-0", "9-1-0")
        ]
        self.examples.write_text("".join(json.dumps(example) + "\n" for example in examples))

    def write(self, content: list[list[str]]) -> None:
        columns = [
            "Incorrect program",
            "Example No.",
            "identifier",
            "module_identifier",
            "module",
            "annotation",
        ]
        self.boxes.write_bytes(table([columns, *content], ","))

    def read(self, findings: Findings | None = None) -> list[ItemRecord]:
        return read_released(self.boxes, self.programs, self.examples, findings)

    def repaired(self, content: list[list[str]]) -> tuple[ItemRecord, Findings]:
        """The one item of these rows, which must also go out as they came in."""
        self.write(content)
        findings = Findings()
        (item,) = self.read(findings)
        assert self.again([item]) == self.boxes.read_bytes()
        return item, findings

    def again(self, items: list[ItemRecord]) -> bytes:
        """The boxes file that is written from the items."""
        write_faithful_nmn(items, self.boxes.with_name("again.csv"), self.programs.with_name("again.tsv"))
        return self.boxes.with_name("again.csv").read_bytes()


def table(content: list[list[str]], delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows(content)
    return text.getvalue().encode()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_it_works(files: Files):
    (item,) = files.read()
    assert item.program == "and(equal(count(find[dogs]), 2[two]), exist(filter[black](find[dogs])))"
    assert (item.text, item.answer) == (SENTENCE, True)
    assert [image.name for image in item.images] == ["u", "v"]
    assert item.gold is not None
    assert item.gold.problem is None
    find, chosen, count = (item.gold.layers[node] for node in (3, 6, 2))
    assert [(mark.id, mark.image, mark.box) for mark in find.objects if isinstance(mark, Box)] == [
        ("m3-0-0", 0, (0.1, 0.2, 0.4, 0.6)),
        ("m3-0-1", 0, (0.5, 0.25, 0.625, 1.0)),
        ("m3-1-0", 1, (0.5, 0.25, 0.625, 1.0)),
    ]
    assert chosen == Layer(state="done", objects=(Chosen(id="m6-0-0", ref="m3-0-0"),))
    assert count == Layer(state="done", value=3)


def test_untouched_it_goes_out_as_it_came_in(files: Files):
    assert files.again(files.read()) == files.boxes.read_bytes()
    lines = files.boxes.with_name("again.tsv").read_bytes()
    header, _, rest = files.programs.read_bytes().partition(b"\r\n")
    assert lines == header + b"\r\n" + rest.partition(b"\r\n")[2]  # without the sentence of no example


def test_it_goes_out_the_same_after_a_way_through_json(files: Files, tmp_path: Path):
    write_jsonl(files.read(), tmp_path / "items.jsonl")
    assert files.again(list(read_jsonl(Source(tmp_path / "items.jsonl")))) == files.boxes.read_bytes()


def changed(item: ItemRecord, layers: dict[int, Layer], problem: Problem | None = None) -> ItemRecord:
    assert item.gold is not None
    document = Document(layers={**item.gold.layers, **layers}, problem=problem)
    return check_record(item.model_copy(update={"gold": document}))


def test_boxes_that_somebody_changed_are_written_anew_in_every_equal_step(files: Files):
    (item,) = files.read()
    find = item.gold.layers[3]
    moved = find.objects[0].model_copy(update={"box": (0.0, 0.0, 0.123456789, 0.5)})
    item = changed(item, {3: find.model_copy(update={"objects": (moved, *find.objects[2:])})})
    new = '[{"left":"0.000","top":"0.000","width":"0.123457","height":"0.500"}]'
    # One of the two in the left image is gone, so the count changes; the right image is as it was.
    files.write(rows(DRAWN | {(7, 0): new, (6, 0): new, (3, 0): new, (2, 0): "1"}))
    assert files.again([item]) == files.boxes.read_bytes()


def test_steps_without_rows_get_some_when_they_are_annotated(files: Files):
    files.write(rows({key: text for key, text in DRAWN.items() if key[0] == 3}))
    (item,) = files.read()
    item = changed(item, {6: Layer(state="done", objects=(Chosen(id="x", ref="m3-1-0"),))})
    added = {(6, 1): cell(B)}
    files.write(rows({key: text for key, text in (DRAWN | added).items() if key[0] == 3 or key == (6, 1)}))
    (again,) = Files.read(files)
    assert again.gold.layers[6].objects == (Chosen(id="m6-1-0", ref="m3-1-0"),)
    assert files.again([item]).count(b"filter[black]") == 2  # both images


@pytest.mark.parametrize(
    "problem, flag",
    [
        (Problem(kind="wrong module", node=6, note="two words"), "1 (wrong module at line 6: two words)"),
        (Problem(kind="other"), "1 (other)"),
        (Problem(kind="other", note="1"), "1"),
    ],
)
def test_a_program_that_somebody_found_wrong_is_flagged(files: Files, problem: Problem, flag: str):
    (item,) = files.read()
    content = rows()
    content[0][0] = flag
    files.write(content)
    assert files.again([changed(item, {}, problem)]) == files.boxes.read_bytes()


def test_items_made_here_go_out_and_come_back(files: Files):
    (old,) = files.read()
    created = box_item(
        program="and(exist(find[dogs]), equal(count(filter[black](find[dogs])), 1[a]))",
        gold=None,
        annotations=[],
    )
    assert write_faithful_nmn([created], files.boxes, files.programs, files.examples) == 0
    layers = {
        2: Layer(state="done", objects=(Box(id="a", image=0, box=(0.25, 0.125, 0.5, 0.875)),
                                        Box(id="b", image=1, box=(0.0, 0.0, 1.0, 0.111111)))),
        5: Layer(state="done", objects=(Chosen(id="c", ref="b"),)),
    }  # fmt: skip
    created = created.model_copy(update={"gold": Document(layers=layers)})
    assert write_faithful_nmn([old, created], files.boxes, files.programs, files.examples) == 2
    first, second = files.read()
    assert first.model_copy(update={"extra": {}}) == old.model_copy(update={"extra": {}})
    assert (second.program, second.text, second.answer) == (created.program, created.text, True)
    assert [cells[1] for _, cells in second.extra["faithful_nmn"]["rows"]] == ["51"] * 8
    program = parse_record_program(created)

    def drawn(item: ItemRecord) -> dict[int, list[Any]]:
        shapes = resolve_references(item.gold, program).items()
        return {node: [(shape.image, shape.box) for shape in objects] for node, objects in shapes}

    assert drawn(second) == drawn(created) | {4: []}  # the count's layer


def test_items_that_the_format_cannot_hold_are_refused(files: Files):
    with pytest.raises(ValueError, match="dogs-1: faithful-nmn programs are statements; this gives boxes"):
        files.again([box_item(program="find[dogs]", gold={"layers": {}}, annotations=[])])
    with pytest.raises(ValueError, match="over image pairs only"):
        files.again([box_item(images=[{"name": "one.png"}], gold={"layers": {}}, annotations=[])])
    first = box_item("1", program="exist(find[dogs])", gold={"layers": {}}, annotations=[])
    second = box_item("2", program="exist(find[cat])", gold={"layers": {}}, annotations=[])
    with pytest.raises(ValueError, match="2: another item has its sentence with another program"):
        files.again([first, second])
    assert not files.boxes.with_name("again.csv").exists()


# --- repairs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, kind, count, boxes",
    [
        ({(3, 0): cell(("0.900", "0.000", "0.102", "0.500"))}, edges.PAST_THE_EDGE, 1, [(0.9, 0, 1, 0.5)]),
        ({(3, 0): cell(("0.9", "0.1", "0.000", "0.5"), A)}, edges.NO_AREA, 1, [(0.1, 0.2, 0.4, 0.6)]),
        ({(3, 0): cell(A, B, A)}, gold.REPEATED_BOX, 1, [(0.1, 0.2, 0.4, 0.6), (0.5, 0.25, 0.625, 1)]),
        ({(3, 0): cell(A)[1:-1]}, gold.BOX_WITHOUT_LIST, 1, [(0.1, 0.2, 0.4, 0.6)]),
        ({(2, 0): cell(A, B)}, gold.COUNT_BOXES, 1, None),
        ({(2, 0): ""}, gold.COUNT_BLANK, 1, None),
        ({(6, 0): cell(("0.1", "0.2", "0.3", "0.3"))}, gold.UNMATCHED_BOX, 1, None),
        ({(3, 0): cell(A)}, gold.CONFLICTING_STEPS, 1, [(0.1, 0.2, 0.4, 0.6)]),
    ],
)
def test_repairs_are_reported(
    files: Files, changes: dict[tuple[int, int], str], kind: str, count: int, boxes: list[Any] | None
):
    item, findings = files.repaired(rows(DRAWN | changes))
    assert findings.count(kind) == count
    if boxes is not None:
        assert [mark.box for mark in item.gold.layers[3].objects if mark.image == 0] == boxes


def test_of_a_cell_given_again_the_last_counts(files: Files):
    item, findings = files.repaired([*rows(), row(3, 0, cell(B)), row(3, 1, cell(B))])
    assert [mark.box for mark in item.gold.layers[3].objects] == [(0.5, 0.25, 0.625, 1.0)] * 2
    assert (findings.count(gold.REPEATED_CELL), findings.count(gold.CONFLICTING_CELL)) == (1, 1)
    assert "line 10" in str(findings)


def test_a_box_that_is_not_below_is_kept_with_a_reason(files: Files):
    item, _ = files.repaired(rows(DRAWN | {(6, 0): cell(A, ("0.1", "0.2", "0.3", "0.3"))}))
    chosen, new = item.gold.layers[6].objects
    assert isinstance(chosen, Chosen)
    assert isinstance(new, Box)
    assert "equals no box" in new.reason


def test_empty_columns_behind_and_rows_of_no_cell_are_taken(files: Files):
    content = rows()
    content[1] += ["", "", "", ""]
    _, findings = files.repaired([*content, ["1", "121", "", "", "", ""]])
    assert findings.count(reader.EXTRA_COLUMNS) == 1
    assert findings.count(reader.ROW_WITHOUT_CELL) == 1


def test_flagged_examples_are_left_out_and_go_out_again(files: Files):
    wrong = rows(number=51, identifier="dev-8-1-0")
    wrong[2][0] = "1"
    with_reason = rows(number=52, identifier="dev-9-1-0")
    with_reason[0][0] = "1 (a reason)"
    files.write([*wrong[:3], *with_reason, *wrong[3:]])
    findings = Findings()
    (item,) = files.read(findings)
    assert item.external_id == "dev-9-1-0"
    assert item.gold.problem == Problem(kind="other", note="1 (a reason)")
    assert findings.count(reader.LEFT_OUT_FLAGGED) == 1
    assert findings.count(gold.FLAGGED_PROGRAM) == 1
    assert files.again([item]) == files.boxes.read_bytes()


def test_examples_whose_program_does_not_fit_are_left_out(files: Files):
    files.programs.write_bytes(files.programs.read_bytes().replace(b".exist\n", b".count\n"))
    findings = Findings()
    assert files.read(findings) == []
    assert findings.count(reader.LEFT_OUT_ILL_TYPED) == 1


# --- mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed_row, message",
    [
        (row(3, 0, "{"), ":2: annotation: not JSON"),
        (row(3, 0, "3"), ":2: annotation: expected a list of boxes, or for counts"),
        (row(2, 0, "-1"), ":2: annotation: expected a list of boxes, or for counts"),
        (row(3, 0, '[{"left": "0.1"}]'), ":2: annotation: box 0: expected left, top, width and height"),
        (row(3, 0, '["a"]'), ":2: annotation: box 0: expected left, top, width and height"),
        (row(3, 0, cell(A, ("x", "0", "0", "0"))), ":2: annotation: box 1: could not convert"),
        (row(3, 0, cell(("0.9", "0", "0.2", "0.1"))), ":2: annotation: box 0: the box (0.9, 0, 1.1, 0.1)"),
        (row(3, 0, cell(("nan", "0", "0.2", "0.1"))), ":2: annotation: box 0: the box (nan"),
        (["", "50", "dev-7-1-0", "q50-m3-2", "find[dogs]", ""], ":2: module_identifier: expected the form"),
        (["", "51", "dev-7-1-0", "q50-m3-0", "find[dogs]", ""], ":2: module_identifier: 'q50-m3-0' is not"),
        (["", "50", "", "q50-m3-0", "find[dogs]", ""], ":2: identifier: is missing"),
        (["", "50", "dev-1-1-0", "q50-m3-0", "find[dogs]", ""], ":2: identifier: 'dev-1-1-0' is in none of"),
        (["", "50", "dev-7-1-0", "q50-m3-0", "find[cats]", ""], ":2: module: is find[cats], but line 3 of"),
        (["", "50", "dev-7-1-0", "q50-m30-0", "find[dogs]", ""], ":2: module: is find[dogs], but line 30 of"),
        (["", "50", "dev-7-1-0"], ":2: expected 6 columns, found 3"),
        (["", "50", "dev-7-1-0", "q50-m3-0", "find[dogs]", "", "more"], ":2: expected 6 columns, found 7"),
    ],
)  # fmt: skip
def test_mistakes_in_boxes_are_told(files: Files, changed_row: list[str], message: str):
    files.write([changed_row, *rows()])
    with pytest.raises(BadFile) as error:
        files.read()
    assert str(error.value).startswith(str(files.boxes) + message)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (b"{0: 'two'", b"0: 'two'", "programs.tsv:4: tokens: expected {0: word"),
        (b"{0: 'two'", b"{5: 'two'", "programs.tsv:4: tokens: expected positions"),
        (b"find[1]", b"find[99]", "programs.tsv:4: annotation: '...find[99]' does not point"),
        (b"sentence\t", b"phrase\t", "programs.tsv:1: expected the columns sentence"),
        (b"two dogs", b"three dogs", "boxes.csv:2: identifier: the sentence of 'dev-7-1-0' has no program"),
        (b"two dogs", b"\xff dogs", "not UTF-8 text"),
        (b'"bool_and', b'bool"_and', "programs.tsv:"),
    ],
)
def test_mistakes_in_programs_are_told(files: Files, old: bytes, new: bytes, message: str):
    files.programs.write_bytes(files.programs.read_bytes().replace(old, new))
    with pytest.raises(BadFile) as error:
        files.read()
    assert message in str(error.value)


def test_files_that_are_missing_or_empty_are_told(files: Files):
    files.write([])
    with pytest.raises(BadFile, match="holds no examples"):
        files.read()
    files.boxes.unlink()
    with pytest.raises(BadFile, match=r"boxes\.csv: there is no such file"):
        files.read()


# --- the release -------------------------------------------------------------------------------------


def released(split: str, findings: Findings | None = None) -> list[ItemRecord]:
    return read_released(
        real_data(f"faithful_nmn/nlvr2_{split}_box_annotations.csv"),
        real_data("faithful_nmn/all_annotations_round4.tsv"),
        real_data("nlvr2/dev.json"),
        findings,
    )


def test_the_release_gives_its_usable_examples_with_every_repair_told():
    findings = Findings()
    test, dev = released("test", findings), released("dev", findings)
    assert {item.external_id for item in test} == set(
        json.loads(real_data("faithful_nmn/test_box_ids_536.json").read_text())
    )
    assert (len(test), len(dev)) == (536, 151)
    assert {kind: repair.count for kind, repair in findings.repairs.items()} == {
        edges.PAST_THE_EDGE: 336, edges.NO_AREA: 35, gold.REPEATED_BOX: 11, gold.BOX_WITHOUT_LIST: 2,
        gold.COUNT_BOXES: 32, gold.REPEATED_CELL: 18, gold.CONFLICTING_CELL: 18,
        reader.EXTRA_COLUMNS: 5206, reader.ROW_WITHOUT_CELL: 2,
        reader.LEFT_OUT_FLAGGED: 66, reader.LEFT_OUT_ILL_TYPED: 40, gold.FLAGGED_PROGRAM: 8,
        gold.CONFLICTING_STEPS: 31, gold.UNMATCHED_BOX: 183, gold.COUNT_BLANK: 348,
    }  # fmt: skip


@pytest.mark.parametrize("split", ["test", "dev"])
def test_the_release_goes_out_byte_for_byte(split: str, tmp_path: Path):
    source = real_data(f"faithful_nmn/nlvr2_{split}_box_annotations.csv")
    boxes, programs = tmp_path / "boxes.csv", tmp_path / "programs.tsv"
    write_faithful_nmn(released(split), boxes, programs)
    assert boxes.read_bytes() == source.read_bytes()
    table = real_data("faithful_nmn/all_annotations_round4.tsv").read_bytes()
    for line in programs.read_bytes().split(b"\r\n"):
        assert line in table
    again = read_released(boxes, programs, real_data("nlvr2/dev.json"))
    assert [item.gold for item in again] == [item.gold for item in released(split)]


def test_the_released_gold_contradicts_the_label_in_61_of_680():
    """Boxes count wherever they were drawn, as in the paper.

    7 programs that intersect are left aside.
    """
    counts: dict[object, int] = {}
    for item in released("test") + released("dev"):
        program = parse_record_program(item)
        outputs = {
            node: [FoundBox(shape.image, shape.box) for shape in objects]
            for node, objects in resolve_references(item.gold, program).items()
        }
        value = (
            "intersect"
            if "intersect" in item.program
            else run(program, outputs, as_drawn=True).value == item.answer
        )
        counts[value] = counts.get(value, 0) + 1
    assert counts == {True: 619, False: 61, "intersect": 7}

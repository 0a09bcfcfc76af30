"""Items of plain tasks are read from JSON lines and CSV.

Refusals name the line and the field.
"""

from pathlib import Path

import pytest

from annotation.content.labels import read_label_task
from annotation.content.schemas import ItemRecord, Kind
from annotation.formats.plain import UNSHOWN_FIELD, read_plain
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings

PROGRAM = read_label_task("layers: [{type: choice, name: Topic, labels: [a, b]}]").text


def items(
    folder: Path, text: str, name: str = "items.jsonl", kind: Kind = "spans", findings: Findings | None = None
) -> list[ItemRecord]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(read_plain(Source(path, kind=kind, task=PROGRAM, findings=findings or Findings())))


def test_it_works(tmp_path: Path) -> None:
    [first, second] = items(
        tmp_path,
        '{"id": 7, "title": "News", "text": "Ada won 🏆."}\n\n{"text": "Bo lost.", "source": "web"}\n',
    )
    assert (first.external_id, first.text, first.passage) == ("7", "News", "Ada won 🏆.")
    assert first.tokens == ((0, 3), (4, 7), (8, 9), (9, 10))
    assert first.program == PROGRAM
    assert second.extra == {"fields": {"source": "web"}}


def test_an_id_follows_from_the_content(tmp_path: Path) -> None:
    first, second = items(tmp_path, '{"text": "a"}\n{"text": "b"}\n')
    assert [item.external_id for item in items(tmp_path, '{"text": "a"}\n')] == [first.external_id]
    assert first.external_id != second.external_id


def test_a_table_is_read_by_the_names_of_its_columns(tmp_path: Path) -> None:
    table = 'id,text,source\n1,"Two\nlines, and a comma",x\n2,Bo,\n'
    findings = Findings()
    first, second = items(tmp_path, "\ufeff" + table, "items.csv", findings=findings or Findings())
    assert first.passage == "Two\nlines, and a comma"
    assert second.extra == {}
    assert (findings.count(UNSHOWN_FIELD), findings.repairs[UNSHOWN_FIELD].examples) == (1, ["source"])


def test_images_are_items_of_their_own(tmp_path: Path) -> None:
    first, second = items(
        tmp_path,
        '{"image": "a.png", "title": "Cat"}\n{"images": ["b.png", "c.png"], "text": "Dogs"}\n',
        kind="boxes",
    )
    assert ([image.name for image in first.images], first.text) == (["a.png"], "Cat")
    assert ([image.name for image in second.images], second.text) == (["b.png", "c.png"], "Dogs")


@pytest.mark.parametrize(
    ("text", "name", "kind", "line", "message"),
    [
        ("{", "a.jsonl", "spans", 1, "this is not JSON"),
        ("[1]", "a.jsonl", "spans", 1, "expected an object"),
        ('{"text": "a"}\n{"text": " "}', "a.jsonl", "spans", 2, "text: is missing or empty"),
        ('{"text": 3}', "a.jsonl", "spans", 1, "text: must be text"),
        (
            '{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}',
            "a.jsonl",
            "spans",
            2,
            "id: 'x' is already on line 1",
        ),
        ('{"text": "a", "image": "b.png"}', "a.jsonl", "spans", 1, "image: this project annotates texts"),
        ('{"text": "a"}', "a.jsonl", "boxes", 1, "image: is missing; this project annotates images"),
        (
            '{"image": "https://a.org/b.png"}',
            "a.jsonl",
            "boxes",
            1,
            "images.0: 'https://a.org/b.png' is an address",
        ),
        ("name\na\n", "a.csv", "spans", 1, "names no column text or image"),
        ("id;text\n1;a, b\n", "a.csv", "spans", 1, "the columns are separated by semicolons"),
        ('"id";"text"\n"1";"a"\n', "a.csv", "spans", 1, "the columns are separated by semicolons"),
        ("id\ttext\n1\ta\n", "a.csv", "spans", 1, "the columns are separated by tabs"),
        ("text,note,note\na,b,c\n", "a.csv", "spans", 1, "names the column 'note' twice"),
        ('{"text": "a", "text": "b"}', "a.jsonl", "spans", 1, "the key 'text' occurs twice in one object"),
        ('{"id": true, "text": "a"}', "a.jsonl", "spans", 1, "id: must be a number or text; found true"),
        ('{"text": ' + "[" * 200_000, "a.jsonl", "spans", 1, "is nested too deeply"),
        ("text,id\na\n", "a.csv", "spans", 2, "has another number of columns"),
        ('text,id\n"a" b,c\n', "a.csv", "spans", 2, "this is not CSV"),
        ("", "a.jsonl", "spans", 1, "holds no items"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(
    tmp_path: Path, text: str, name: str, kind: Kind, line: int, message: str
) -> None:
    findings = Findings(collect=True)
    try:
        items(tmp_path, text, name, kind, findings)
    except BadFile as error:
        findings.refuse(error, error.path)
    [refusal] = findings.refused
    assert (refusal.line, message in str(refusal)) == (line, True), str(refusal)


def test_json_lines_in_utf_16_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"text": "a"}\n', encoding="utf-16")
    with pytest.raises(BadFile, match="1: is UTF-16 text; save it as UTF-8"):
        list(read_plain(Source(path, kind="spans", task=PROGRAM)))


def test_without_a_label_configuration_nothing_is_read(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"text": "a"}')
    with pytest.raises(BadFile, match="needs a project with a label configuration"):
        list(read_plain(Source(path, kind="spans", task="")))

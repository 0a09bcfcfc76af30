"""Formats that are only written say what the items say.

The tests read them back by the formats' own rules.
"""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from hypothesis import given

from annotation.content.schemas import Box, Chosen, Document, ItemRecord, Span
from annotation.formats.flat.brat import write_brat
from annotation.formats.flat.parquet import SCHEMA, write_parquet
from annotation.formats.flat.statements import dump_without_objects, list_sources, list_statements
from annotation.formats.flat.w3c import write_w3c
from tests.annotation.formats.records import PASSAGE, box_item, box_items, passages, span_item, unhurried


def places(item: ItemRecord) -> list[Any]:
    """Return the annotator, step and place of every object of an item."""
    return [
        (source.annotator, statement.node.index, statement.shape.image, statement.shape.box)
        if isinstance(statement.shape, Box)
        else (source.annotator, statement.node.index, *statement.shape.span)
        for source in list_sources(item)
        for statement in list_statements(item, source.document)
    ]


# --- W3C ---------------------------------------------------------------------------------------------


def w3c(folder: Path, items: list[ItemRecord]) -> list[dict[str, Any]]:
    write_w3c(items, folder / "page.json")
    page = json.loads((folder / "page.json").read_text(encoding="utf-8"))
    assert page["type"] == "AnnotationPage"
    assert page["@context"][0] == "http://www.w3.org/ns/anno.jsonld"
    return list(page["items"])


def body(annotation: dict[str, Any], purpose: str) -> str | None:
    return next((part["value"] for part in annotation["body"] if part["purpose"] == purpose), None)


def w3c_place(annotation: dict[str, Any], item: ItemRecord) -> Any:
    creator = annotation.get("creator", {}).get("nickname", "")
    node = int(body(annotation, "classifying")[1:])
    selector = annotation["target"]["selector"]
    if isinstance(selector, dict):
        x, y, w, h = map(float, re.fullmatch(r"xywh=percent:(.+),(.+),(.+),(.+)", selector["value"]).groups())
        names = [image.name for image in item.images]
        image = names.index(unquote(annotation["target"]["source"]))
        return creator, node, image, pytest.approx((x / 100, y / 100, (x + w) / 100, (y + h) / 100), abs=1e-9)
    position, quote = selector
    start, end = position["start"], position["end"]
    assert item.passage[start:end] == quote["exact"]
    assert item.passage[:start].endswith(quote["prefix"])
    assert item.passage[end:].startswith(quote["suffix"])
    return creator, node, start, end


def test_w3c_annotations_say_who_what_and_when(tmp_path: Path):
    item = box_item()
    annotations = w3c(tmp_path, [item])
    assert [w3c_place(entry, item) for entry in annotations] == places(item)
    gold, annotation = annotations[0], annotations[4]
    assert gold["target"]["selector"]["value"] == "xywh=percent:10,20,20,70"
    assert body(gold, "tagging") == "find “dogs”"
    assert body(gold, "assessing") == "gold"
    assert (annotation["created"], annotation["modified"]) == ("2026-03-01T09:00:30Z", "2026-03-01T09:04:00Z")
    assert (annotation["revision"], annotation["status"]) == (7, "submitted")
    chosen, new = annotations[2], annotations[3]
    linked = next(part["source"] for part in chosen["body"] if part["purpose"] == "linking")
    assert linked == gold["id"]
    assert body(new, "commenting") == "not found below"
    assert len({entry["id"] for entry in annotations}) == len(annotations)


@unhurried
@given(box_items())
def test_w3c_boxes_are_those_of_the_item(tmp_path_factory: pytest.TempPathFactory, item: ItemRecord):
    assert [w3c_place(entry, item) for entry in w3c(tmp_path_factory.mktemp("w3c"), [item])] == places(item)


@unhurried
@given(passages)
def test_w3c_spans_are_those_of_the_item(tmp_path_factory: pytest.TempPathFactory, passage: str):
    item = span_item(passage=passage)
    assert [w3c_place(entry, item) for entry in w3c(tmp_path_factory.mktemp("w3c"), [item])] == places(item)


def test_w3c_without_annotations_is_an_empty_page(tmp_path: Path):
    assert w3c(tmp_path, [box_item(gold=None, annotations=[])]) == []


# --- brat --------------------------------------------------------------------------------------------


def brat_document(
    folder: Path, name: str
) -> tuple[str, dict[str, Any], list[tuple[str, ...]], dict[str, str]]:
    """Text, spans by name, relations and notes, as brat's own rules read them."""
    text = (folder / f"{name}.txt").read_bytes().decode()
    spans: dict[str, Any] = {}
    relations: list[Any] = []
    notes: dict[str, str] = {}
    for line in (folder / f"{name}.ann").read_bytes().decode().split("\n")[:-1]:
        name, what, *rest = line.split("\t")
        if name[0] == "T":
            kind, parts = what.split(" ", 1)
            ends = [tuple(map(int, part.split())) for part in parts.split(";")]
            assert rest == [" ".join(text[start:end] for start, end in ends).replace("\t", " ")]
            assert not any(character in "\r\n" for start, end in ends for character in text[start:end])
            spans[name] = (int(kind[1:].split("-")[0]), ends[0][0], ends[-1][1])
        elif name[0] == "R":
            kind, first, second = what.split(" ")
            relations.append((kind, first.removeprefix("Arg1:"), second.removeprefix("Arg2:")))
        else:
            notes[what.removeprefix("AnnotatorNotes ")] = rest[0]
    return text, spans, relations, notes


def test_brat_files_hold_spans_relations_and_the_rest_beside_them(tmp_path: Path):
    item = span_item("games/1")
    write_brat([item, span_item("games/2")], tmp_path / "brat")
    assert sorted(path.name for path in (tmp_path / "brat").iterdir()) == [
        "annotation.conf", "annotations.jsonl", "by-cleo", "gold",
    ]  # fmt: skip
    text, spans, relations, _ = brat_document(tmp_path / "brat/gold", "games%2F1")
    assert text == PASSAGE
    assert [("", *span) for span in spans.values()] == places(item)[: len(spans)]
    assert relations == [("chosen", "T3", "T1"), ("link", "T4", "T3")]
    gold, cleo, *_ = map(json.loads, (tmp_path / "brat/annotations.jsonl").read_text().splitlines())
    assert (gold["item"], gold["gold"]) == ("games/1", True)
    assert gold["layers"] == dump_without_objects(item.gold)["layers"]
    assert (cleo["annotator"], cleo["revision"]) == ("cleo", 1)
    configuration = (tmp_path / "brat/annotation.conf").read_text()
    assert "\nm3-find\n" in configuration


@unhurried
@given(passages)
def test_brat_offsets_are_those_of_the_item(tmp_path_factory: pytest.TempPathFactory, passage: str):
    item, folder = span_item(passage=passage), tmp_path_factory.mktemp("brat") / "out"
    write_brat([item], folder)
    text, spans, _, _ = brat_document(folder / "gold", "game-1")
    assert text == passage
    assert [("", *span) for span in spans.values()] == places(item)[: len(spans)]


def test_brat_notes_tell_reasons_on_one_line(tmp_path: Path):
    gold = span_item().gold
    new = gold.layers[3].objects[1].model_copy(update={"id": "new", "reason": "was\nnot\tfound"})
    layers = {**gold.layers, 2: gold.layers[2].model_copy(update={"objects": (*gold.layers[2].objects, new)})}
    write_brat([span_item(gold=Document(layers=layers), annotations=[])], tmp_path / "brat")
    *_, notes = brat_document(tmp_path / "brat/gold", "game-1")
    assert list(notes.values()) == ["reason: was not found"]


def test_what_brat_cannot_hold_is_refused_and_leaves_nothing(tmp_path: Path):
    with pytest.raises(ValueError, match="dogs-1: brat files hold spans"):
        write_brat([span_item(), box_item()], tmp_path / "brat")
    with pytest.raises(ValueError, match="game-1: has two annotations by the gold"):
        write_brat([span_item(), span_item()], tmp_path / "brat")
    assert list(tmp_path.iterdir()) == []
    write_brat([span_item()], tmp_path / "brat")
    with pytest.raises(FileExistsError, match="not an empty folder"):
        write_brat([span_item()], tmp_path / "brat")


# --- Parquet -----------------------------------------------------------------------------------------


def parquet(folder: Path, items: list[ItemRecord]) -> list[dict[str, Any]]:
    write_parquet(items, folder / "objects.parquet")
    table = pq.read_table(folder / "objects.parquet")
    assert table.schema.equals(SCHEMA)
    return list(table.to_pylist())


def documents(rows: list[dict[str, Any]]) -> dict[int | None, Any]:
    """Return the documents that the rows of an item say, as JSON.

    Their keys are the numbers of the annotations.
    """
    by_number: dict[int | None, Any] = {}
    for row in rows:
        document = by_number.setdefault(row["annotation"], {"layers": {}, "problem": None})
        if row["problem"] is not None:
            document["problem"] = {"kind": row["problem"], "node": row["node"], "note": row["note"]}
            continue
        value = None if row["value"] is None else json.loads(row["value"])
        layer = document["layers"].setdefault(
            row["node"], {"state": row["state"], "value": value, "note": row["note"] or "", "objects": []}
        )
        if row["object"] is None:
            continue
        if row["ref"] is not None:
            layer["objects"].append({"id": row["object"], "ref": row["ref"]})
            continue
        mark = {"id": row["object"], "links": row["links"], "reason": row["reason"] or ""}
        if row["kind"] == "boxes":
            mark |= {"image": row["image"], "box": [row[edge] for edge in ("left", "top", "right", "bottom")]}
        else:
            mark |= {"span": [row["start"], row["end"]], "tokens": [row["token_start"], row["token_end"]]}
            mark |= {"quote": row["quote"]}
        layer["objects"].append(mark)
    return by_number


@pytest.mark.parametrize("item", [box_item(), span_item()])
def test_the_table_says_all_that_the_documents_say(tmp_path: Path, item: ItemRecord):
    rows = parquet(tmp_path, [item])
    returned = {number: Document.model_validate(document) for number, document in documents(rows).items()}
    assert returned == {None: item.gold} | {
        number: annotation.document for number, annotation in enumerate(item.annotations)
    }


@unhurried
@given(box_items())
def test_the_table_says_any_boxes(tmp_path_factory: pytest.TempPathFactory, item: ItemRecord):
    rows = parquet(tmp_path_factory.mktemp("parquet"), [item])
    assert Document.model_validate(documents(rows)[None]) == item.gold


def test_the_table_names_people_times_and_the_place_of_what_was_chosen(tmp_path: Path):
    item = box_item()
    rows = parquet(tmp_path, [item])
    first = next(row for row in rows if row["annotation"] == 0)
    assert (first["annotator"], first["revision"], first["status"]) == ("ann", 7, "submitted")
    assert (first["started"], first["submitted"]) == (
        item.annotations[0].started,
        item.annotations[0].submitted,
    )
    assert first["predictions_shown"] == ["nmn@2"]
    chosen = next(row for row in rows if row["ref"] is not None)
    assert (chosen["module"], chosen["argument"], chosen["left"]) == ("filter", "black", 0.1)
    assert all(field.metadata[b"description"] for field in SCHEMA)


def test_an_item_of_which_nothing_is_said_has_no_rows(tmp_path: Path):
    assert parquet(tmp_path, [box_item(gold=None, annotations=[])]) == []


def test_statements_follow_references(tmp_path: Path):
    chosen = next(
        statement
        for statement in list_statements(box_item(), box_item().gold)
        if isinstance(statement.object, Chosen)
    )
    assert isinstance(chosen.shape, Box)
    assert chosen.shape.id == "a"
    assert all(
        isinstance(statement.shape, Span) for statement in list_statements(span_item(), span_item().gold)
    )

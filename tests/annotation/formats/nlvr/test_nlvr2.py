"""NLVR2 examples become items without gold.

They have their pictures and, if known, their programs.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.content.schemas import Image
from annotation.formats.images import ImageFolder
from annotation.formats.nlvr.nlvr2 import read_nlvr2
from annotation.formats.programs import ILL_TYPED, read_programs
from annotation.formats.source import Source
from foundation.errors import BadFile
from foundation.imports.findings import Findings
from tests.analysis.data import real_data
from tests.annotation.formats.records import picture


def example(identifier: str = "dev-7-1-0", **fields: Any) -> dict[str, Any]:
    values = {"identifier": identifier, "sentence": "Two dogs sleep.", "label": "True", "writer": "9"}
    urls = {"left_url": "https://example.org/l.jpg", "right_url": "https://example.org/r.jpg"}
    return values | urls | fields


def written(path: Path, examples: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(example) + "\n" for example in examples), encoding="utf-8")
    return path


def test_it_works(tmp_path: Path):
    picture(tmp_path / "images/dev/dev-7-1-img0.png", (60, 40))
    picture(tmp_path / "images/dev/dev-7-1-img1.png", (30, 50))
    path = written(tmp_path / "dev.json", [example(), example("dev-7-1-1", label=False)])
    first, second = read_nlvr2(Source(path, images=ImageFolder(tmp_path / "images")))
    assert first.images == (
        Image(name="dev/dev-7-1-img0.png", width=60, height=40),
        Image(name="dev/dev-7-1-img1.png", width=30, height=50),
    )
    assert (first.external_id, first.text, first.answer) == ("dev-7-1-0", "Two dogs sleep.", True)
    assert second.answer is False
    assert first.extra["nlvr2"]["writer"] == "9"


def test_without_a_folder_sizes_stay_unknown(tmp_path: Path):
    (item,) = read_nlvr2(Source(written(tmp_path / "dev.json", [example("test1-769-1-0-1")])))
    assert item.images == (Image(name="test1-769-1-img0.png"), Image(name="test1-769-1-img1.png"))
    assert item.program == ""


def test_urls_of_local_files_are_followed(tmp_path: Path):
    left, right = picture(tmp_path / "one.png"), picture(tmp_path / "two words.png")
    urls = {"left_url": left.as_uri(), "right_url": right.name}
    path = written(tmp_path / "dev.json", [example(**urls)])
    (item,) = read_nlvr2(Source(path, images=ImageFolder(tmp_path)))
    assert [image.name for image in item.images] == ["one.png", "two words.png"]


def test_programs_come_by_identifier_or_sentence(tmp_path: Path):
    path = written(
        tmp_path / "dev.json", [example(), example("dev-7-1-1"), example("dev-8-0-0", sentence="No.")]
    )
    programs = tmp_path / "programs.txt"
    programs.write_text("two dogs sleep.\tequal(count(find[dogs]), 2)\n\ndev-7-1-1\texist( find[dogs] )\n")
    items = list(read_nlvr2(Source(path), read_programs(programs, kind="boxes")))
    assert [item.program for item in items] == ["equal(count(find[dogs]), 2)", "exist(find[dogs])", ""]


@pytest.mark.parametrize(
    "text, message",
    [
        ("a program without a key\n", ":1: expected an identifier, a tab"),
        ("a\tfind[x]\na\tfind[y]\n", ":2: 'a' has a program already"),
        ("a\tcount(find[x]\n", ":1: program: column 6"),
        ("a\tfind[x]\nb\tfnid[x]\n", ":2: program: column 1"),
    ],
)
def test_mistakes_in_a_list_of_programs_are_told(tmp_path: Path, text: str, message: str):
    path = tmp_path / "programs.txt"
    path.write_text(text)
    with pytest.raises(BadFile, match=r"programs\.txt") as error:
        read_programs(path, kind="boxes")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "lines, message",
    [
        ([example(), example()], ":2: dev-7-1-0: identifier: 'dev-7-1-0' is already on line 1"),
        ([example(), example("b", sentence="")], ":2: sentence: "),
        ([example(identifier=7)], ":1: identifier: "),
        ([example(label="maybe")], ":1: label: "),
        ([{"identifier": "a"}], ":1: sentence: is missing"),
    ],
)
def test_mistakes_in_examples_are_told(tmp_path: Path, lines: list[dict[str, Any]], message: str):
    path = written(tmp_path / "dev.json", lines)
    with pytest.raises(BadFile) as error:
        list(read_nlvr2(Source(path)))
    assert str(error.value).startswith(str(path) + message)


def test_a_missing_picture_is_told_with_its_line(tmp_path: Path):
    path = written(tmp_path / "dev.json", [example()])
    (tmp_path / "images").mkdir()
    with pytest.raises(BadFile, match=r"dev\.json:1: dev-7-1-0: the image 'dev-7-1-img0\.png' is not among"):
        list(read_nlvr2(Source(path, images=ImageFolder(tmp_path / "images"))))
    picture(tmp_path / "images/dev-7-1-img0.png")
    (tmp_path / "images/dev-7-1-img1.png").write_text("no picture")
    with pytest.raises(BadFile, match=r"dev-7-1-img1\.png: is not an image"):
        list(read_nlvr2(Source(path, images=ImageFolder(tmp_path / "images"))))


def test_the_released_examples_and_programs_are_read():
    table, findings = real_data("faithful_nmn/all_annotations_round4.tsv"), Findings()
    programs = read_programs(table, kind="boxes", findings=findings)
    assert len(programs) + findings.count(ILL_TYPED) == 9585
    items = list(read_nlvr2(Source(real_data("nlvr2/dev.json")), programs))
    assert len(items) == 6982
    assert sum(item.program != "" for item in items) > 500
    assert len(list(read_nlvr2(Source(real_data("nlvr2/contrast_set_nlvr2.jsonl"))))) == 994

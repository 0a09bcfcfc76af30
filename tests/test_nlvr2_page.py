"""Every command of the page on NLVR2 runs as typed, on small files.

The page leads from NLVR2's released files to Table 1; the small files have the same form.
"""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from django.core.management import call_command

import analysis.__main__
import modelserver.__main__
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from modelserver.modular.visual.folder import create_encoder
from modelserver.training.visual_nmn.command import SceneOptions
from scripts.sites.processes import ROOT
from tests.modelserver.modular.visual.region_rows import regions_row
from tests.page_commands import Command, commands_of

pytestmark = [pytest.mark.django_db, pytest.mark.database]

PAGE = ROOT / "docs/how-to/nlvr2.md"
FEATURES = 2048
SENTENCE = "a black dog with its tongue out is near the red ball."
PROGRAM = (
    "exist\n.with_relation[7,8]\n..with_relation[3]\n...filter[1]\n....find[2]\n"
    "...project[4,5]\n....find[2]\n..filter[10]\n...find[11]"
)
TOKENS = str(dict(enumerate(SENTENCE.replace(".", " .").split())))
NODES = {1: "with_relation[is,near]", 2: "with_relation[with]", 3: "filter[black]", 4: "find[dog]",
         5: "project[its,tongue]", 6: "find[dog]", 7: "filter[red]", 8: "find[ball]"}  # fmt: skip
BOX = {"left": "0.1", "top": "0.1", "width": "0.4", "height": "0.4"}


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_released()
    return tmp_path


def write_released() -> None:
    """Write the files that the page names into this folder.

    They have the forms of their releases.
    """
    for split, count in (("train", 20), ("dev", 2)):
        write_lines(Path(f"{split}.json"), [nlvr2(f"{split}-{n}-0-0", n) for n in range(count)])
        name = {"train": "train_obj36.tsv", "dev": "valid_obj36.tsv"}[split]
        write_regions(
            Path("nlvr2_imgfeat", name), [f"{split}-{n}-0-img{i}" for n in range(count) for i in "01"]
        )
    with Path("all_annotations_round4.tsv").open("w", newline="") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(["sentence", "annotation", "tokens", "all", "simple_count"])
        table.writerow([SENTENCE, PROGRAM, TOKENS, 1, 0])
    with Path("nlvr2_test_box_annotations.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["Incorrect program", "Example No.", "identifier", "module_identifier", "module", "annotation"]
        )
        for example in range(2):
            for node, module in NODES.items():
                for image in range(2):
                    rows.writerow(["", example, f"dev-{example}-0-0", f"q{example}-m{node}-{image}", module,
                                   json.dumps([BOX])])  # fmt: skip
    write_gqa()
    write_lxmert(Path("lxmert-pickled"))


def nlvr2(identifier: str, number: int) -> dict[str, object]:
    urls = {f"{side}_url": f"https://example.org/{identifier}-{side}.jpg" for side in ("left", "right")}
    label = "True" if number % 2 else "False"
    return {"identifier": identifier, "sentence": SENTENCE, "label": label, "synset": "dog", **urls}


def write_lines(path: Path, records: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_regions(path: Path, images: list[str]) -> None:
    """36 regions of 2,048 numbers an image, the first where the gold box is."""
    rng = np.random.default_rng(1)
    path.parent.mkdir(exist_ok=True)
    corners = np.tile(np.array([[60, 50, 190, 95]], np.float32), (36, 1))
    corners[0] = [20, 10, 100, 50]
    rows = [regions_row(name, corners, rng.random((36, FEATURES), np.float32)) for name in images]
    path.write_text("".join(rows))


def write_gqa() -> None:
    steps = [{"operation": "select", "argument": "car (7)", "dependencies": []},
             {"operation": "filter color", "argument": "red", "dependencies": [0]},
             {"operation": "exist", "argument": "?", "dependencies": [1]}]  # fmt: skip
    question = {"question": "Are there any red cars?", "answer": "yes", "imageId": "31", "semantic": steps}
    Path("train_balanced_questions.json").write_text(json.dumps({"071": question, "072": question}))
    car = {"name": "car", "x": 20, "y": 10, "w": 80, "h": 40, "attributes": ["red"], "relations": []}
    graph = {"width": 200, "height": 100, "objects": {"7": car}}
    Path("train_sceneGraphs.json").write_text(json.dumps({"31": graph}))
    write_regions(Path("vg_gqa_imgfeat/vg_gqa_obj36.tsv"), ["31"])


def write_lxmert(folder: Path) -> None:
    """Write a small LXMERT in the form of the released one.

    The encoder stands beside the heads of its pretraining.
    """
    encoder, tokenizer = create_encoder([SENTENCE, "Are there any red cars?"], hidden=16, features=FEATURES)
    folder.mkdir()
    encoder.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    released = transformers.LxmertForPreTraining(encoder.config)
    released.lxmert.load_state_dict(encoder.state_dict())
    torch.save(released.state_dict(), folder / "pytorch_model.bin")


def run(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command in this process, on the CPU.

    Its output goes to the file that it redirects to.
    """
    program, *words = command.arguments
    assert program == ".venv/bin/python"
    if words[0] == "manage.py":
        call_command(*words[1:])
    else:
        main = {"modelserver": modelserver.__main__.main, "analysis": analysis.__main__.main}[words[1]]
        assert main(["cpu" if word == "cuda" else word for word in words[2:]]) == 0, command
    printed = capsys.readouterr().out
    if ">" in command.words:
        Path(command.words[command.words.index(">") + 1]).write_text(printed)
    elif printed.startswith("{"):
        Path("printed.json").write_text(printed)


def test_the_page_leads_from_released_files_to_the_table(
    released: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    recipe = SceneOptions.recipe

    def short(options: SceneOptions, *, pretrained: bool) -> object:
        full = recipe(options, pretrained=pretrained)
        assert (full.steps, full.pretraining) == (3200, 2000 if pretrained else 0)
        return replace(full, steps=1, pretraining=int(pretrained), check_every=1, batch=2)

    monkeypatch.setattr(SceneOptions, "recipe", short)
    for command in commands_of(PAGE):
        run(command, capsys)

    gold = list(read_jsonl(Source(Path("nlvr2-536.jsonl"))))
    assert [item.external_id for item in gold] == ["dev-0-0-0", "dev-1-0-0"]
    assert all(item.gold for item in gold)
    assert len(list(read_jsonl(Source(Path("gqa.jsonl"))))) == 2  # the site reads them, too
    table = json.loads(Path("nlvr2-table/table.json").read_text())
    assert len(table) == 7
    assert table["graph"]["n"] == 2
    assert set(table["graph"]["faithfulness"]) == {"overall", "find", "filter", "with-relation", "project"}
    assert table["graph"]["upper_bound"]["overall"]["recall"] == 1.0
    logged = (released / "nlvr2-table/graph-decont-pretraining/seed-1/log.jsonl").read_text().splitlines()
    assert len(logged) == 2  # a check after pretraining, and one at the end
    both = json.loads(Path("both.json").read_text())
    assert both["per_example"]["overall"]["n"] == 2
    assert {part["module"] for part in both["by_argument"]} >= {"find", "project"}
    assert 0 < json.loads(Path("printed.json").read_text())["p"] <= 1

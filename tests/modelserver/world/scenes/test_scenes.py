"""Generated scenes.

Sentences are true or false as said, gold executes, and a seed gives the same scenes every time.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from modelserver.__main__ import main
from modelserver.world.names import SPLITS, split_of
from modelserver.world.scenes import generate, generate_further, write_further
from modelserver.world.scenes.claims import KINDS_OF_CLAIMS
from modelserver.world.scenes.layout import has_valid_position
from modelserver.world.scenes.painting import paint
from modelserver.world.scenes.proposals import FEATURES, PROPOSALS, compute_features, propose
from modelserver.world.scenes.relations import check_relation, classify_contact
from modelserver.world.scenes.things import COLOURS, HEIGHT, SHAPES, WIDTH, Thing
from tests.modelserver import world_items

SIZES = {"train": 160, "dev": 40, "test": 40}


@pytest.fixture(scope="module")
def scenes():
    return {split: list(generate(split, n, seed=3)) for split, n in SIZES.items()}


@pytest.fixture(scope="module")
def everything(scenes):
    return [scene for split in SPLITS for scene in scenes[split]]


@pytest.fixture(scope="module")
def records(everything):
    return [scene.record("images") for scene in everything]


def test_executing_the_program_over_the_gold_gives_every_label(records):
    for record in records:
        assert world_items.execution_gives_the_answer(record) is True, record["external_id"]


def test_the_values_of_computed_nodes_are_those_of_the_executor(records):
    compared = 0
    for record in records:
        item, program = world_items.checked(record)
        execution = world_items.executed(item, program)
        values = record["extra"]["world"]["values"]
        assert len(values) == len(program.nodes)
        for value, executed, node in zip(values, execution.values, program.nodes, strict=True):
            if value is not None:
                assert executed == pytest.approx(value), (record["program"], node)
                compared += 1
    assert compared > 2 * len(records)


def test_half_of_each_split_is_true_and_neighbours_differ(scenes):
    for split, split_scenes in scenes.items():
        labels = [scene.label for scene in split_scenes]
        assert sum(labels) == SIZES[split] / 2
        assert all(label != next_label for label, next_label in zip(labels[::2], labels[1::2], strict=True))
    firsts = [scene.label for scene in scenes["train"]][::2]
    assert 0.3 < sum(firsts) / len(firsts) < 0.7


def test_no_program_and_no_sentence_is_in_two_splits(scenes):
    for split, split_scenes in scenes.items():
        assert {split_of(str(scene.claim.program)) for scene in split_scenes} == {split}
    sentences = {split: {scene.sentence for scene in split_scenes} for split, split_scenes in scenes.items()}
    assert not sentences["train"] & (sentences["dev"] | sentences["test"])
    assert not sentences["dev"] & sentences["test"]


def test_the_words_of_every_argument_stand_in_the_sentence(everything):
    for scene in everything:
        for node in scene.claim.program.nodes():
            assert node.argument is None or node.argument in scene.sentence.lower(), scene.sentence


def test_all_kinds_of_sentences_and_their_modules_are_there(everything):
    assert set(KINDS_OF_CLAIMS) == {scene.kind for scene in everything}
    modules = {node.module for scene in everything for node in scene.claim.program.nodes()}
    assert modules >= {
        "find", "filter", "with-relation", "project", "count", "exist", "equal", "greater", "less",
        "greater-equal", "less-equal", "and", "or", "intersect", "discard", "in-left-image", "in-right-image",
        "in-each-image", "in-at-least-one-image", "in-one-other-image", "sum", "difference", "division",
    }  # fmt: skip


def test_a_sentence_reads_as_one(everything):
    for scene in everything:
        text = scene.sentence
        assert text[0].isupper()
        assert text.endswith(".")
        assert not [words for words in ("  ", " a orange", "exactly no", "boxs") if words in text]


def test_an_adjective_is_of_one_noun_only(everything):
    """Of two things in one count, the first has no adjective for both.

    These things are joined by "and"; the first bears no adjective that the second could share.
    """
    joined = [scene for scene in everything if scene.kind == "sum"]
    assert joined
    for scene in joined:
        total = scene.claim.program.children[0]
        assert total.children[0].children[0].module == "find"


def test_boxes_lie_in_the_image_around_what_is_drawn(everything):
    """Leaving a thing out changes the picture within its box alone.

    This holds up to a pixel's rounding.
    """
    for scene in everything[::20]:
        for image in (0, 1):
            things = [thing for thing in scene.pair if thing.image == image]
            full = np.asarray(paint(things, *scene.grounds[image]), dtype=int)
            for thing in things:
                left, top, right, bottom = thing.bounds
                assert 0 <= left < right <= WIDTH
                assert 0 <= top < bottom <= HEIGHT
                without = [other for other in things if other is not thing]
                changed = np.abs(full - np.asarray(paint(without, *scene.grounds[image]))).max(axis=2) > 40
                rows, columns = np.nonzero(changed)
                extent = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
                covered = any(
                    t.is_shape and thing.is_shape and classify_contact(t, thing) != "apart" for t in without
                )
                assert extent[0] >= left - 2
                assert extent[1] >= top - 2
                assert extent[2] <= right + 2
                assert extent[3] <= bottom + 2
                if not covered:
                    assert extent == pytest.approx((left, top, right, bottom), abs=3)


def test_everything_lies_where_a_person_can_tell(everything):
    for scene in everything:
        assert all(has_valid_position(scene.pair, thing) for thing in scene.pair)


def test_relations_are_what_they_say():
    star = Thing(0, 0, "star", "red", 100, 100, "small")
    circle = Thing(1, 0, "circle", "blue", 200, 100, "big")
    assert check_relation("left of", star, circle) is True
    assert check_relation("left of", circle, star) is False
    assert check_relation("right of", circle, star) is True
    assert check_relation("left of", star, Thing(2, 0, "circle", "blue", 110, 200, "big")) is None
    assert check_relation("left of", star, Thing(2, 1, "circle", "blue", 200, 100, "big")) is False
    assert check_relation("directly above", star, Thing(2, 0, "circle", "blue", 103, 180, "big")) is True
    assert check_relation("directly below", Thing(2, 0, "circle", "blue", 103, 180, "big"), star) is True
    assert check_relation("directly above", star, Thing(2, 0, "circle", "blue", 125, 180, "big")) is None
    assert check_relation("touching", star, circle) is False


@pytest.mark.parametrize(
    ("distance", "expected"),
    [(44.0, "touching"), (30.0, "overlapping"), (48.0, None), (60.0, "apart"), (0.0, None)],
)
def test_contact_of_a_small_and_a_big_circle(distance, expected):
    small = Thing(0, 0, "circle", "red", 100, 100, "small")
    assert classify_contact(small, Thing(1, 0, "circle", "blue", 100 + distance, 100, "big")) == expected


@pytest.mark.parametrize("kind", SHAPES)
def test_a_shape_is_drawn_in_its_colour(kind):
    for colour in COLOURS:
        thing = Thing(0, 0, kind, colour, 160, 120, "big")
        image = paint([thing], "plain", 0)
        left, top, right, bottom = (int(edge) for edge in thing.bounds)
        pixels = np.asarray(image.crop((left, top, right, bottom))).reshape(-1, 3)
        assert (pixels == COLOURS[colour]).all(axis=1).mean() > 0.25


def test_only_the_changed_thing_could_tell_the_label(everything):
    changes = {label: Counter(s.change for s in everything if s.label is label) for label in (True, False)}
    assert set(changes[True]) == set(changes[False])


def test_further_statements_are_about_the_pair_and_as_true_as_they_say(scenes, tmp_path):
    statements = [
        statement for scene in scenes["train"][:20] for statement in generate_further(scene, "train", 6)
    ]
    assert len(statements) > 100
    for statement in statements:
        assert statement.claim.is_true_of(statement.pair) is statement.label
        assert split_of(str(statement.claim.program)) == "train"
    assert 0.35 < sum(statement.label for statement in statements) / len(statements) < 0.65
    assert {statement.kind for statement in statements} == set(KINDS_OF_CLAIMS), "rare kinds have their share"
    write_further(tmp_path / "further.jsonl", "train", 20, 3, 6)
    rows = [json.loads(line) for line in (tmp_path / "further.jsonl").read_text().splitlines()]
    assert [(row["text"], row["answer"]) for row in rows] == [
        (statement.sentence, statement.label) for statement in statements
    ]
    assert {row["extra"]["world"]["scene"] for row in rows} <= {scene.name for scene in scenes["train"]}


def test_the_same_seed_gives_the_same_items_and_pixels_in_any_process(scenes):
    code = (
        "import hashlib, json; from modelserver.world.scenes import generate\n"
        "for s in generate('dev', 3, 3): print(json.dumps(s.record('i')), "
        "[hashlib.sha256(i.tobytes()).hexdigest() for i in s.images])"
    )
    expected = [
        f"{json.dumps(s.record('i'))} {[hashlib.sha256(i.tobytes()).hexdigest() for i in s.images]}"
        for s in scenes["dev"][:3]
    ]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )  # fmt: skip
    assert done.stdout.splitlines() == expected
    assert next(iter(generate("dev", 1, 4))).record("i") != scenes["dev"][0].record("i")


def test_names_are_unique(everything):
    assert len({scene.name for scene in everything}) == len(everything)


def test_proposals_hold_every_thing_and_stay_in_the_image(everything):
    for scene in everything[:20]:
        for image in (0, 1):
            boxes = np.array(propose(scene, image))
            assert boxes.shape == (PROPOSALS, 4)
            assert (boxes >= 0).all()
            assert (boxes <= 1).all()
            assert (boxes[:, :2] < boxes[:, 2:]).all()
            for thing in scene.record("i")["extra"]["world"]["things"]:
                if thing["image"] == image:
                    assert (np.abs(boxes - thing["box"]).max(axis=1) < 1e-9).any()


def test_features_tell_colours_and_patterns_apart():
    def look(colour, pattern):
        thing = Thing(0, 0, "square", colour, 160, 120, "big", pattern)
        box = (
            thing.bounds[0] / WIDTH,
            thing.bounds[1] / HEIGHT,
            thing.bounds[2] / WIDTH,
            thing.bounds[3] / HEIGHT,
        )
        return compute_features(paint([thing], "plain", 0), [box])[0]

    plain, other, striped = look("red", "plain"), look("blue", "plain"), look("red", "striped")
    assert plain.shape == (FEATURES,)
    centre = slice(3 * (8 * 4 + 4), 3 * (8 * 4 + 5))
    assert plain[centre] == pytest.approx(np.array(COLOURS["red"]) / 255, abs=0.02)
    assert np.linalg.norm(plain[:192] - other[:192]) > 3
    assert np.linalg.norm(plain[192:] - striped[192:]) > 0.5
    assert np.linalg.norm(plain[192:] - other[192:]) < 0.2


def test_the_command_writes_items_images_and_proposals(tmp_path, capsys):
    sizes = ["--train", "3", "--dev", "0", "--test", "1"]
    arguments = ["scenes", "--out", str(tmp_path), "--world-seed", "3", *sizes]
    assert main([*arguments, "--proposals"]) == 0
    lines = (tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [scene.record("images/train") for scene in generate("train", 3, 3)]
    assert [json.loads(line) for line in lines] == expected
    for record in expected:
        for image in record["images"]:
            with Image.open(tmp_path / image["name"]) as opened:
                assert opened.size == (image["width"], image["height"]) == (WIDTH, HEIGHT)
    assert np.load(tmp_path / "train.features.npy").shape == (3, 2, PROPOSALS, FEATURES)
    assert np.load(tmp_path / "test.boxes.npy").shape == (1, 2, PROPOSALS, 4)
    assert json.loads((tmp_path / "train.proposals.json").read_text())["items"] == [
        r["external_id"] for r in expected
    ]
    assert (tmp_path / "dev.jsonl").read_text() == ""
    assert not list(tmp_path.rglob("*.part"))


def test_a_folder_that_cannot_be_written_is_said(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["scenes", "--out", str(tmp_path / "file"), "--train", "1", "--dev", "0", "--test", "0"]) == 1
    assert "file" in capsys.readouterr().err


def test_a_negative_count_is_bad_usage(tmp_path, capsys):
    assert main(["scenes", "--out", str(tmp_path), "--dev", "-1"]) == 2
    assert "--dev" in capsys.readouterr().err


def test_a_wrong_split_is_named():
    with pytest.raises(ValueError, match="'validation'"):
        next(generate("validation", 1, 1))

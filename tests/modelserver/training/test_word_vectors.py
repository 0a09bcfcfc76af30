"""Word vectors from a file: kept ones, refused files, use by a reader."""

import json
from typing import Any

import numpy as np
import pytest
import torch

from modelserver.__main__ import main
from modelserver.inputs.hotpot import parse_gold
from modelserver.registry import load_system
from modelserver.systems.reader import RecurrentSystem
from modelserver.systems.recurrent import Config
from modelserver.training.recurrent import Recipe, Trainer
from modelserver.training.word_vectors import WordVectors, read_vectors
from modelserver.wire.errors import UnreadableData
from modelserver.world import generate, write_split

TEXT = "the 0.5 1\nThe 9 9\nelsk -1 2e-1\n. . . 3 4\nrare 5 6\n"


def _file(tmp_path, text=TEXT):
    path = tmp_path / "vectors.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_it_reads_wanted_words_and_the_first_lines(tmp_path):
    vectors = read_vectors(_file(tmp_path), wanted={"elsk", "nowhere"}, first=1)
    assert vectors.words == ("the", "elsk")
    np.testing.assert_allclose(vectors.table, [[0.5, 1], [-1, 0.2]])


def test_a_word_may_hold_spaces_and_case_is_folded(tmp_path):
    vectors = read_vectors(_file(tmp_path), wanted=(), first=9)
    assert vectors.words == ("the", "elsk", ". . .", "rare")
    assert vectors.table[0].tolist() == [0.5, 1.0]  # of "the" and "The" the first


def test_the_first_line_of_fasttext_is_skipped(tmp_path):
    assert read_vectors(_file(tmp_path, "2 3\na 1 2 3\nb 4 5 6\n"), wanted=(), first=9).words == ("a", "b")


@pytest.mark.parametrize(
    "text, message",
    [
        ("a 1 2\nb 1\n", "line 2: a word and 2 numbers"),
        ("a 1 2\nb 1 x\n", "line 2: 2 numbers"),
        ("a 1 2\n\nb 1 nan\n", "line 3: a number is not finite"),
        (b"a 1 2\n\xff 1 2\n", "line 2: not UTF-8"),
        ("a\n", "line 1: a word and its numbers"),
        ("", "not one vector"),
    ],
)
def test_malformed_files_are_refused_with_the_line(tmp_path, text, message):
    path = _file(tmp_path, text)
    with pytest.raises(UnreadableData, match=message) as caught:
        read_vectors(path, wanted=(), first=9)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UnreadableData, match=r"none\.txt: there is no such file"):
        read_vectors(tmp_path / "none.txt", wanted=(), first=9)


def test_vectors_stand_beside_learned_ones_and_stay_as_they_are():
    world = parse_gold(generate("train", 12, 2), "world")
    table = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    config = Config("qi2019", word_size=5, character_size=4, character_filters=8, hidden=6)
    trainer = Trainer(
        config, Recipe(batch=4, rare=2, warm_up=1), world, vectors=WordVectors(("the", "zyzzyva"), table)
    )
    embed: Any = trainer.model.embed
    the, unseen = map(trainer.vocabulary.id, ("the", "zyzzyva"))
    assert the < embed.words.num_embeddings == trainer.config.learned_words + 2 <= unseen
    before = embed.words.weight.clone()
    for _ in range(2):
        trainer.step()
    rows = embed._look_up(torch.tensor([the, unseen, 1]))
    np.testing.assert_array_equal(rows[:, 5:].detach().numpy(), [*table, [0, 0, 0]])
    assert not torch.equal(embed.words.weight[the], before[the])
    assert torch.equal(rows[1, :5], rows[2, :5])  # no embedding of its own: the one of unknown words


def test_the_command_takes_them_and_the_weights_hold_them(tmp_path):
    write_split(tmp_path / "data.json", "train", 24, 2)
    arguments = ["train", "qi2019", "--train-file", str(tmp_path / "data.json"), "--out", str(tmp_path / "w")]
    sizes = ["--steps", "2", "--check-every", "2", "--batch", "4", "--hidden", "8", "--threads", "1"]
    vectors = _file(tmp_path, "the 0.5 1\nzyzzyva 2 3\n")
    assert main([*arguments, *sizes, "--word-vectors", str(vectors)]) == 0
    system = load_system("qi2019", weights=tmp_path / "w")
    assert isinstance(system, RecurrentSystem)
    assert json.loads((tmp_path / "w" / "config.json").read_text())["vector_size"] == 2
    assert system.model.embed.vectors[system.vocabulary.id("zyzzyva")].tolist() == [2.0, 3.0]
    item = parse_gold(generate("dev", 1, 1), "w")[0].item
    assert system.predict([item])[0].id == item.id

"""Encoders in folders: search, creation, saving, lengths and digests.

An encoder is saved whole or not at all.
"""

import re
import shutil
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoTokenizer,
    BartConfig,
    BartForQuestionAnswering,
    DistilBertConfig,
    DistilBertForQuestionAnswering,
)

from modelserver.inputs.encoders import (
    PART,
    create_encoder,
    find_folder,
    find_longest_window,
    hash_files,
    open_encoder,
    open_model,
    save,
)
from modelserver.systems.extractive import load
from modelserver.training import checkpoint
from modelserver.training.recurrent import list_example_texts
from modelserver.wire.errors import UnreadableWeights

CPU = torch.device("cpu")


@pytest.fixture
def folder(bert_folder, tmp_path):
    return shutil.copytree(bert_folder, tmp_path / "copy")


def create_tiny(gold, seed=1, **changed):
    torch.manual_seed(seed)
    return create_encoder(
        list_example_texts(gold), CPU, **{"hidden": 16, "layers": 1, "heads": 2, "pieces": 300} | changed
    )


class TestFindFolder:
    def test_a_folder_is_itself(self, tmp_path):
        assert find_folder(tmp_path) == tmp_path
        assert find_folder(str(tmp_path)) == tmp_path

    def test_a_file_is_none(self, tmp_path, monkeypatch):
        monkeypatch.delenv("MODELSERVER_ALLOW_HUB", raising=False)
        (tmp_path / "file").touch()
        with pytest.raises(UnreadableWeights, match="no such folder"):
            find_folder(tmp_path / "file")

    @pytest.mark.parametrize("setting", ["0", "true", ""])
    def test_only_1_allows_the_hub(self, setting, monkeypatch):
        monkeypatch.setenv("MODELSERVER_ALLOW_HUB", setting)
        with pytest.raises(UnreadableWeights, match="no such folder"):
            find_folder("some/encoder")


class TestNewEncoder:
    def test_the_same_texts_and_seed_give_the_same(self, gold):
        (model, tokenizer), (twin, twin_tokenizer) = create_tiny(gold), create_tiny(gold)
        assert tokenizer.get_vocab() == twin_tokenizer.get_vocab()
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, twin.state_dict()[name])

    def test_signs_that_do_not_fit_are_unknown(self):
        signs = "".join(map(chr, range(0x4E00, 0x4E00 + 600)))
        _, tokenizer = create_encoder([signs + "一"], CPU, hidden=16, layers=1, heads=2, pieces=400)
        assert len(tokenizer) <= 400
        assert tokenizer.tokenize("一") == ["一"]
        assert tokenizer.tokenize(signs[-1]) == ["[UNK]"]

    def test_its_size(self, gold):
        model, tokenizer = create_tiny(gold, hidden=32, layers=3)
        assert len(tokenizer) == 300
        assert model.config.vocab_size == 300
        assert (model.config.hidden_size, model.config.num_hidden_layers) == (32, 3)

    def test_it_knows_words_of_the_texts(self, gold):
        _, tokenizer = create_tiny(gold, pieces=2000)
        assert tokenizer.tokenize("The town") == ["the", "town"]

    def test_a_rotary_one_knows_the_numbers_of_the_texts(self, gold, tmp_path):
        model, tokenizer = create_tiny(gold, rotary=True)
        years = re.findall(r"\b[12][0-9]{3}\b", " ".join(list_example_texts(gold)))
        assert tokenizer.tokenize(" ".join(years)) == years
        assert len(tokenizer.tokenize(years[0])) < len(create_tiny(gold)[1].tokenize(years[0]))
        save(tmp_path, model, tokenizer, {})
        opened, _ = open_encoder(tmp_path, CPU)
        assert opened.config.model_type == "roformer"
        assert find_longest_window(opened, tokenizer) == 512
        assert {part.p for part in model.modules() if isinstance(part, torch.nn.Dropout)} == {0.0}

    def test_heads_that_do_not_divide_the_hidden_size(self, gold):
        with pytest.raises(UnreadableWeights, match="hidden size"):
            create_tiny(gold, hidden=16, heads=3)


class TestSave:
    def test_what_is_saved_is_what_is_opened(self, gold, tmp_path):
        model, tokenizer = create_tiny(gold)
        save(tmp_path / "new" / "folder", model, tokenizer, {"beside.txt": "ü"})
        opened, again = open_encoder(tmp_path / "new" / "folder", CPU)
        assert not opened.training
        assert again.get_vocab() == tokenizer.get_vocab()
        for name, tensor in model.state_dict().items():
            assert torch.equal(tensor, opened.state_dict()[name])
        assert (tmp_path / "new/folder/beside.txt").read_text("utf-8") == "ü"
        modes = {path.stat().st_mode for path in (tmp_path / "new/folder").iterdir()}
        assert len(modes) == 1  # who reads one may read all

    def test_a_kill_between_two_files_leaves_no_weights_that_do_not_fit(self, gold, tmp_path, monkeypatch):
        model, tokenizer = create_tiny(gold)
        replace, moved = Path.replace, []

        def killed(path, target):
            if target.name == "model.safetensors":
                raise KeyboardInterrupt
            moved.append(target.name)
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, model, tokenizer, {"beside.txt": ""})
        assert {"config.json", "tokenizer.json", "tokenizer_config.json", "beside.txt"} <= set(moved)
        with pytest.raises(UnreadableWeights, match=r"no model\.safetensors"):
            open_model(tmp_path, CPU)

    def test_what_a_killed_save_left_is_swept(self, gold, tmp_path):
        (tmp_path / f"{PART}old").mkdir()
        (tmp_path / f"{PART}old" / "model.safetensors").touch()
        model, tokenizer = create_tiny(gold)
        save(tmp_path, model, tokenizer, {})
        assert not list(tmp_path.glob(f"{PART}*"))


class TestUntrained:
    def test_an_answer_head_may_be_new_and_nothing_else(self, folder, gold):
        # An encoder without a head, as most folders hold one.
        from_scratch = create_tiny(gold, hidden=32)[0].bert
        from_scratch.save_pretrained(folder)
        with pytest.raises(UnreadableWeights, match="qa_outputs"):
            open_model(folder, CPU)
        model = open_model(folder, CPU, trained=False)
        name = "embeddings.word_embeddings.weight"
        assert torch.equal(model.bert.state_dict()[name], from_scratch.state_dict()[name])

    def test_a_layer_that_is_missing_is_an_error(self, folder):
        config = (folder / "config.json").read_text()
        (folder / "config.json").write_text(
            config.replace('"num_hidden_layers": 1', '"num_hidden_layers": 2')
        )
        with pytest.raises(UnreadableWeights, match=r"weights are missing, bert\.encoder\.layer\.1"):
            open_model(folder, CPU, trained=False)


def test_a_tokenizer_of_another_family_gives_what_the_model_takes(bert_folder, tmp_path, gold):
    folder = shutil.copytree(bert_folder, tmp_path / "distilled")
    config = DistilBertConfig(vocab_size=800, dim=16, n_layers=1, n_heads=2, hidden_dim=16)
    DistilBertForQuestionAnswering(config).save_pretrained(folder)
    system = load(folder, CPU, name="distilled", description="")
    (p,) = system.predict([gold[0].item])
    assert p.answer


def test_a_training_of_tied_weights_is_taken_up(tmp_path):
    """The encoder and the decoder of BART have one table of words."""
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    model = BartForQuestionAnswering(BartConfig(vocab_size=800, d_model=16, **sizes))
    optimiser = torch.optim.AdamW(model.parameters())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    checkpoint.write(tmp_path / "state", model, optimiser, [{"step": 1}], {})
    torch.nn.init.zeros_(next(model.parameters()))
    state = checkpoint.read(tmp_path / "state", {})
    assert state.rows == [{"step": 1}]
    state.load(model, optimiser)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_the_longest_window(bert_folder, roberta_folder):
    model, tokenizer = open_encoder(bert_folder, CPU)
    assert find_longest_window(model, tokenizer) == 512
    tokenizer.model_max_length = 100
    assert find_longest_window(model, tokenizer) == 100
    model, tokenizer = open_encoder(roberta_folder, CPU)
    tokenizer.model_max_length = int(1e30)
    assert find_longest_window(model, tokenizer) == 96  # of 98 positions, two come before the first
    ids = torch.full((1, 96), 7)
    assert model(input_ids=ids).start_logits.shape == (1, 96)
    with pytest.raises((IndexError, RuntimeError)):
        model(input_ids=torch.full((1, 97), 7))
    assert find_longest_window(torch.nn.Linear(1, 1), tokenizer) == 1_000_000


def test_a_tokenizer_file_that_the_library_made_up_is_not_taken(folder):
    """Without its files, the library makes a tokenizer of five tokens.

    That tokenizer knows no word.
    """
    (folder / "tokenizer.json").unlink()
    assert len(AutoTokenizer.from_pretrained(folder)) == 5
    with pytest.raises(UnreadableWeights, match="it has no words"):
        open_encoder(folder, CPU)


def test_the_digest_changes_with_content_and_names(folder):
    before = hash_files(folder)
    (folder / "notes.txt").write_text("nothing")
    assert hash_files(folder) == before
    (folder / "vocab.txt").write_text("x")
    second = hash_files(folder)
    (folder / "vocab.txt").rename(folder / "merges.txt")
    assert len({before, second, hash_files(folder)}) == 3

"""`convert` turns pickled weights into safetensors.

A pickle with code does not run.
"""

import json
import os
import pickle
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file

from modelserver.__main__ import main
from modelserver.inputs import conversion, encoders
from modelserver.inputs.encoders import open_encoder
from modelserver.modular.visual import folder as visual_folder


class Code:
    """A pickle of this runs a command where it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.fixture(scope="module")
def pickled(tmp_path_factory):
    """A folder of a small BERT with pytorch_model.bin alone, and its tensors."""
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    model, tokenizer = encoders.create_encoder(
        ["Elsk is far."], torch.device("cpu"), hidden=16, layers=1, heads=2, pieces=60
    )
    tokenizer.save_pretrained(folder)
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return folder, model.state_dict()


def same(path, tensors):
    loaded = load_file(path)
    return loaded.keys() == tensors.keys() and all(
        torch.equal(loaded[name], tensors[name]) for name in loaded
    )


def test_a_pickled_model_is_converted_and_opened(pickled, tmp_path, capsys):
    source, tensors = pickled
    assert main(["convert", str(source), "--out", str(tmp_path / "out")]) == 0
    assert same(tmp_path / "out" / "model.safetensors", tensors)
    assert f"{len(tensors)} tensors" in capsys.readouterr().err
    model, _ = open_encoder(tmp_path / "out", torch.device("cpu"))
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in model.state_dict().items())
    assert main(["convert", str(source), "--out", str(tmp_path / "out")]) == 1
    assert "holds model.safetensors already" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "out"), "--out", str(tmp_path / "more")]) == 1
    assert "nothing to convert" in capsys.readouterr().err


def test_an_lxmert_of_pickled_weights_is_opened(tmp_path):
    encoder, tokenizer = visual_folder.create_encoder(["Two dogs."], hidden=16, features=2048)
    for part in (tokenizer, encoder.config):
        part.save_pretrained(tmp_path / "lxmert")
    torch.save(encoder.state_dict(), tmp_path / "lxmert" / "pytorch_model.bin")
    conversion.convert(str(tmp_path / "lxmert"), out=tmp_path / "out")
    opened, _ = visual_folder.open_encoder(tmp_path / "out")
    assert isinstance(opened, transformers.LxmertModel)
    assert torch.equal(opened.state_dict()["embeddings.LayerNorm.bias"], encoder.embeddings.LayerNorm.bias)


def test_parts_old_pickles_and_tied_weights_are_converted(pickled, tmp_path):
    source, tensors = pickled
    parts = shutil.copytree(source, tmp_path / "parts")
    (parts / "pytorch_model.bin").unlink()
    names = list(tensors)
    tied = {**{name: tensors[name] for name in names[5:]}, "tied": tensors[names[5]]}
    torch.save({n: tensors[n] for n in names[:5]}, parts / "pytorch_model-00001-of-00002.bin")
    torch.save(tied, parts / "pytorch_model-00002-of-00002.bin", _use_new_zipfile_serialization=False)
    where = {name: f"pytorch_model-0000{1 + (name not in names[:5])}-of-00002.bin" for name in tensors}
    (parts / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": where}))
    conversion.convert(str(parts), out=tmp_path / "out")
    assert same(tmp_path / "out" / "model.safetensors", tensors | tied)
    (parts / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": {"a": "/etc/passwd"}}))
    with pytest.raises(encoders.UnreadableWeights, match="weight_map: names files other than"):
        conversion.convert(str(parts), out=tmp_path / "other")


@pytest.mark.parametrize("form", ["zip", "old", "plain"])
def test_code_in_a_pickle_does_not_run(pickled, tmp_path, capsys, form):
    folder = shutil.copytree(pickled[0], tmp_path / "model")
    path, content = folder / "pytorch_model.bin", {"weight": Code(tmp_path / "ran")}
    if form == "plain":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "zip")
    assert main(["convert", str(folder), "--out", str(tmp_path / "out")]) == 1
    message = capsys.readouterr().err
    assert f"{path}: its pickle " in message
    assert "no code of a pickle is run" in message
    assert message.count("\n") == 1
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "out" / "model.safetensors").exists()
    if form == "zip":
        assert "asks for posix.system" in message


@pytest.mark.parametrize(
    "content, message",
    [({"epoch": 3}, "something else than tensors by name, 'epoch' for one"), ([1], "than tensors by name"),
     ({}, "than tensors by name"), ({"w": torch.tensor([1.0, float("nan")])}, "w: a number is not finite")],
)  # fmt: skip
def test_other_content_is_rejected(pickled, tmp_path, content, message):
    folder = shutil.copytree(pickled[0], tmp_path / "model")
    torch.save(content, folder / "pytorch_model.bin")
    with pytest.raises(encoders.UnreadableWeights, match=message):
        conversion.convert(str(folder), out=tmp_path / "out")
    for damaged in (b"PK\x03\x04 damaged", b"text", b""):
        (folder / "pytorch_model.bin").write_bytes(damaged)
        with pytest.raises(encoders.UnreadableWeights, match=r"_model\.bin: .*(damaged|no code of a)"):
            conversion.convert(str(folder), out=tmp_path / "out")
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(encoders.UnreadableWeights, match=r"there is no pytorch_model\.bin in it"):
        conversion.convert(str(folder), out=tmp_path / "out")


def test_the_hub_is_asked_for_pickles_only_where_it_is_allowed(pickled, tmp_path, monkeypatch):
    downloads = []

    def download(name, allow_patterns):
        downloads.append((name, allow_patterns))
        return str(pickled[0])

    monkeypatch.setattr(encoders, "snapshot_download", download)
    with pytest.raises(encoders.UnreadableWeights, match="MODELSERVER_ALLOW_HUB=1"):
        conversion.convert("someone/bert", out=tmp_path / "out")
    conversion.convert("someone/bert", out=tmp_path / "out", allow_hub=True)
    assert downloads[0][0] == "someone/bert"
    assert "pytorch_model.bin" in downloads[0][1]

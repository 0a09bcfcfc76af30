"""Untrained networks over images, and a batch of generated statements."""

import pytest
import torch

from modelserver.modular.visual import folder
from modelserver.modular.visual.network import Config
from modelserver.modular.visual.scene_data import read_scenes
from modelserver.world.scenes import write_split


@pytest.fixture(scope="session")
def scenes_folder(tmp_path_factory):
    """16 generated scenes with their proposals."""
    path = tmp_path_factory.mktemp("scenes")
    write_split(path, "train", 16, 5, proposals=True)
    return path


@pytest.fixture(scope="session")
def statements(scenes_folder):
    return read_scenes(scenes_folder, "train")


@pytest.fixture(scope="session")
def visual_network(statements):
    """A function that makes a small network of a configuration.

    It makes the same network whenever it is called with the same configuration.
    """

    def make(encoder="lxmert", **config):
        torch.manual_seed(7)
        sentences = [statement.sentence for statement in statements]
        new = folder.create_encoder if encoder == "lxmert" else folder.create_bilinear_encoder
        model, tokenizer = new(sentences, hidden=16, features=320)
        return folder.build(Config(**config), model, tokenizer).eval()

    return make

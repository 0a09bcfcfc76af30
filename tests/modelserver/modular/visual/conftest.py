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
    made = tmp_path_factory.mktemp("scenes")
    write_split(made, "train", 16, 5, proposals=True)
    return made


@pytest.fixture(scope="session")
def statements(scenes_folder):
    return read_scenes(scenes_folder, "train")


@pytest.fixture(scope="session")
def visual_network(statements):
    """Makes a small network of a configuration, the same one whenever it is asked for."""

    def make(encoder="lxmert", **config):
        torch.manual_seed(7)
        sentences = [each.sentence for each in statements]
        new = folder.create_encoder if encoder == "lxmert" else folder.create_bilinear_encoder
        made, tokenizer = new(sentences, hidden=16, features=320)
        return folder.build(Config(**config), made, tokenizer).eval()

    return make

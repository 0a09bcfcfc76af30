"""The untrained networks and generated statements of the tests of visual-nmn."""

from tests.modelserver.modular.visual.conftest import scenes_folder, statements, visual_network

__all__ = ["scenes_folder", "statements", "visual_network"]

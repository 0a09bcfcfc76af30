"""Untrained networks and generated statements for visual-nmn's tests."""

from tests.modelserver.modular.visual.conftest import scenes_folder, statements, visual_network

__all__ = ["scenes_folder", "statements", "visual_network"]

"""The addresses at which a site's parts reach each other."""

import os
import stat
from pathlib import Path

import pytest

from scripts.sites.stack import LONGEST_SOCKET_PATH, Stack, choose_socket_path


def test_the_socket_lies_beside_the_data(tmp_path: Path):
    assert choose_socket_path(Path("/srv/study/var")) == Path("/srv/study/var/broker.sock")


def test_a_long_path_gets_a_short_private_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    first, second = Path("/srv") / ("a" * 100), Path("/srv") / ("b" * 100)
    path = choose_socket_path(first)
    assert len(os.fsencode(path.relative_to(tmp_path))) < LONGEST_SOCKET_PATH
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert choose_socket_path(first) == path
    assert choose_socket_path(second) != path


def test_a_short_folder_that_others_can_open_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = choose_socket_path(Path("/srv") / ("a" * 100)).parent
    folder.chmod(0o755)
    with pytest.raises(PermissionError, match="not private"):
        choose_socket_path(Path("/srv") / ("a" * 100))


def test_the_addresses_win_over_the_environment_and_extra_over_both(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SITE_URL", "http://elsewhere")
    monkeypatch.setenv("LOG_LEVEL", "DEBUG")
    stack = Stack(Path("/srv/var"), 8001, 8101, {"MODEL_SERVER_URL": "http://gpu:8100"})
    assert stack.env["SITE_URL"] == "http://127.0.0.1:8001"
    assert stack.env["LOG_LEVEL"] == "DEBUG"
    assert stack.env["MODEL_SERVER_URL"] == "http://gpu:8100"
    assert stack.env["REDIS_URL"] == "redis+socket:///srv/var/broker.sock"

"""Packages are installed by their hashes alone, where that is asked for."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import setup


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package, and a project that wants it; pip finds nothing else."""
    file = tmp_path / "wanted-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("wanted.py", "")
        packed.writestr(
            "wanted-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: wanted\nVersion: 1.0\n"
        )
        packed.writestr("wanted-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr("wanted-1.0.dist-info/RECORD", "")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(setup, "ROOT", str(tmp_path))
    monkeypatch.setattr(setup, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(setup, "install_front_end", lambda kind: None)
    # The checkout itself comes from no index, and needs a setuptools that this environment has not.
    call = subprocess.call
    monkeypatch.setattr(
        subprocess, "call", lambda command, **more: 0 if "--editable" in command else call(command, **more)
    )
    return file


def require(wheel: Path, digest: str) -> None:
    text = f"wanted==1.0 --hash=sha256:{digest}\n"
    (wheel.parent / "requirements-hashed.txt").write_text(text, "ascii")


def test_only_the_pinned_file_is_installed(wheel: Path, capfd: pytest.CaptureFixture[str]) -> None:
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    require(wheel, "0" * 64)
    with pytest.raises(SystemExit):
        setup.main("hashed")
    errors = capfd.readouterr().err
    assert "HASHES" in errors
    assert "how-to/install.md" in errors
    assert not list(wheel.parent.glob(".venv/lib/*/site-packages/wanted.py"))
    assert not (wheel.parent / ".venv/.run").exists()

    require(wheel, right)
    setup.main("hashed")
    assert list(wheel.parent.glob(".venv/lib/*/site-packages/wanted.py"))
    assert (wheel.parent / ".venv/.run").exists()  # or make would install by version, without hashes


def test_a_terminal_shows_what_pip_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    program = "import sys; print('Collecting torch'); print('Downloading ' + 'x' * 50); sys.exit(3)"
    assert setup.call_with_progress([sys.executable, "-c", program]) == 3
    lines = capsys.readouterr().out.split("\r\033[K")
    assert lines == ["", "Collecting torch", "Downloading xxxxxxx", ""]

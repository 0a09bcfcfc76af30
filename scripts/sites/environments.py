"""Environments of other programs, made once, beside ours."""

from __future__ import annotations

import subprocess
import sysconfig
import venv
from pathlib import Path

from scripts.sites.processes import ROOT


def install_environment(folder: Path, *requirements: str) -> Path:
    """Return the programs of an environment with packages.

    It is made unless it is there.
    """
    programs = folder / "bin"
    if not (folder / ".complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", *requirements]
        subprocess.run(pip, check=True)
        (folder / ".complete").touch()
    return programs


def add_ours(programs: Path) -> None:
    """Let an environment import our packages, after those of its own."""
    site_packages = next(programs.parent.glob("lib/python*/site-packages"))
    (site_packages / "zz_ours.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")

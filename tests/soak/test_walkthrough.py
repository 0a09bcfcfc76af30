"""The page on NLVR2, typed in a clean clone with its own packages.

The page leads from NLVR2's released files to Table 1. ``make soak`` runs it (suite "walkthrough"): it
installs everything again. `tests/test_nlvr2_page.py` runs the same commands in one process with every test
run.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.sites.processes import ROOT
from tests.page_commands import commands_of
from tests.test_nlvr2_page import PAGE, write_released

pytestmark = pytest.mark.soak

# A processor, and files of a few items: hours of training would show no more.
SMALLER = {"cuda": "cpu", "--pretraining-steps 2000 --steps 3200 --check-every 400": "",
           "--batch-size 32": "--batch-size 2 --pretraining-steps 1 --steps 1 --check-every 1"}  # fmt: skip


def test_a_fresh_environment_follows_the_page(tmp_path: Path):
    home = tmp_path / "touchstone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(home)], check=True)
    clean = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env = clean | {"SECRET_KEY": secrets.token_urlsafe(48), "VAR_DIR": str(tmp_path / "var")}

    def typed(command: str) -> None:
        print(command)  # noqa: T201 - make soak shows what ran
        done = subprocess.run(["bash", "-c", command], cwd=home, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    typed(f"{sys.executable} scripts/setup.py run")
    typed(".venv/bin/python manage.py prepare_site")
    with contextlib.chdir(home):
        write_released()
    for command in commands_of(PAGE):
        text = command.text
        for whole, smaller in SMALLER.items():
            text = text.replace(whole, smaller)
        typed(text)
    table = json.loads((home / "nlvr2-table/table.json").read_text())
    assert len(table) == 7
    assert {row["n"] for row in table.values()} == {2}
    assert json.loads((home / "both.json").read_text())["per_example"]["overall"]["n"] == 2

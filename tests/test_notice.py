"""NOTICE names the work of others, and the hashes fit the versions."""

import json
import re
import subprocess

from tests.paths import ROOT

PINNED = re.compile(r"^(\S+==[^\s\\]+)", re.MULTILINE)
NOTICE = (ROOT / "NOTICE").read_text("utf-8")
ASSETS = (".svg", ".png", ".jpg", ".gif", ".webp", ".ico", ".woff", ".woff2", ".ttf", ".safetensors", ".npz",
          ".wasm", ".min.js", ".mp3", ".mp4", ".pdf")  # fmt: skip
# Fixtures, pictures of our own pages, and figures of the docs.
NOT_SERVED = ("tests/", "docs/", "benchmarks/")


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def test_every_shipped_asset_is_named():
    """Fonts, pictures and weights; texts and programs are written here."""
    assets = [name for name in tracked() if name.endswith(ASSETS) and not name.startswith(NOT_SERVED)]
    assert len(assets) > 10
    folders = ("modelserver/weights/",)
    assert [name for name in assets if not name.startswith(folders) and name not in NOTICE] == []
    assert all(folder.rstrip("/") in NOTICE for folder in folders)


def test_every_front_end_package_is_named_with_its_licence():
    locked = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    served = {name.removeprefix("node_modules/"): package for name, package in locked.items()
              if name and not package.get("dev")}  # fmt: skip
    assert served
    for name, package in served.items():
        assert name in NOTICE, name
        assert package["license"] in NOTICE, (name, package["license"])


def test_every_folder_of_weights_has_a_card():
    folders = [path for path in (ROOT / "modelserver/weights").iterdir() if path.is_dir()]
    assert folders
    assert [folder.name for folder in folders if not list(folder.glob("*.md"))] == []


def test_hashes_are_of_the_pinned_versions():
    """`make lock` compiles both files.

    A file that was edited alone would install something else.
    """
    pinned = set(PINNED.findall((ROOT / "requirements.txt").read_text("utf-8")))
    text = (ROOT / "requirements-hashed.txt").read_text("utf-8")
    # pip installs setuptools for torch, and the other file leaves it out.
    assert {entry for entry in PINNED.findall(text) if not entry.startswith("setuptools==")} == pinned
    blocks = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in block for block in blocks)

"""The wheel of the analysis, installed in a fresh environment."""

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import analysis
from analysis.__main__ import main
from tests.analysis.bundles import planted_study
from tests.paths import ROOT

GOLD = [
    {
        "_id": "q1",
        "answer": "Mira Tolland",
        "supporting_facts": [["The band", 1]],
        "context": [["The band", ["It comes from the coast.", " Mira Tolland founded the band."]]],
    }
]
PREDICTIONS = {"answer": {"q1": "Mira Tolland"}, "sp": {"q1": [["The band", 1]]}}

IMPORT_ALL = """
import importlib, pkgutil, sys
import touchstone.analysis
names = [m.name for m in pkgutil.walk_packages(touchstone.analysis.__path__, "touchstone.analysis.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert len(names) > 100, len(names)
assert "analysis" not in sys.modules
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    """The folder of programs of a new environment with the wheel.

    The environment has nothing else but what the wheel needs.
    """
    folder = tmp_path_factory.mktemp("distribution")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist")]
    # Built from a copy: setuptools leaves folders beside what it builds.
    source = folder / "source"
    files = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard", "--", "analysis", "touchstone", "pyproject.toml",
         "LICENSE"], cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, files):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    venv.create(folder / "venv")
    programs = folder / "venv" / "bin"
    (wheel,) = (folder / "dist").glob("*.whl")
    install(programs, str(wheel))
    return programs


def install(programs: Path, wheel: str) -> None:
    """Install a wheel without compiling its modules.

    Python compiles them on import: half of those that the wheel needs.
    """
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "-q", "--no-compile"]
    done = subprocess.run([*pip, "-c", str(ROOT / "requirements.txt"), wheel], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, cwd=cwd)


def test_it_works(fresh: Path, tmp_path: Path):
    (tmp_path / "gold.json").write_text(json.dumps(GOLD))
    (tmp_path / "predictions.json").write_text(json.dumps(PREDICTIONS))

    done = run(
        fresh / "touchstone", "xqa-scores", "--gold", "gold.json", "--predictions", "predictions.json",
        cwd=tmp_path,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["joint_f1"] == 1.0


def test_every_module_imports_without_the_rest_of_the_repository(fresh: Path, tmp_path: Path):
    done = run(fresh / "python", "-c", IMPORT_ALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_it_brings_neither_django_nor_torch_nor_names_that_clash(fresh: Path, tmp_path: Path):
    code = (
        "from importlib.util import find_spec as find\n"
        "print([n for n in ('django', 'torch', 'analysis', 'config', 'scripts') if find(n)])"
    )
    assert run(fresh / "python", "-c", code, cwd=tmp_path).stdout.strip() == "[]"


def test_it_says_what_it_is(fresh: Path, tmp_path: Path):
    code = "import touchstone; print(touchstone.__version__); import importlib.metadata as m, json;"
    code += "print(json.dumps(m.metadata('touchstone').json))"
    version, metadata = run(fresh / "python", "-c", code, cwd=tmp_path).stdout.splitlines()
    described = json.loads(metadata)
    assert version == described["version"] == analysis.__version__
    assert described["author"] == "The Touchstone developers"
    links = re.findall(r"\]\(([^)]*)\)", described["description"])
    assert links
    assert all(link.startswith("https://") for link in links), links


@pytest.mark.soak  # tests/studyapp/exports/test_rebuilt_report.py does it without an installation
def test_a_stranger_rebuilds_a_report_byte_by_byte(fresh: Path, tmp_path: Path):
    planted_study(tmp_path / "bundle")
    contents = {}
    for name in ("here", "there"):
        report = ["report", str(tmp_path / "bundle"), "--out", str(tmp_path / name), "--resamples", "60"]
        if name == "here":
            assert main(report) == 0
        else:
            done = run(fresh / "touchstone", *report, cwd=ROOT)
            assert done.returncode == 0, done.stderr
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        contents[name] = {path.relative_to(tmp_path / name): path.read_bytes() for path in files}
    assert contents["here"] == contents["there"]
    assert Path("report.html") in contents["here"]


def test_type_checkers_read_its_types(fresh: Path, tmp_path: Path):
    (tmp_path / "use.py").write_text(
        "from touchstone.analysis.scores.hotpotqa import score\nreveal_type(score([], {}))\n"
    )
    mypy = [
        "-m",
        "mypy",
        "--python-executable",
        str(fresh / "python"),
        "--config-file",
        "/dev/null",
        "use.py",
    ]
    done = run(Path(sys.executable), *mypy, cwd=tmp_path)
    assert 'Revealed type is "dict[str, float]"' in done.stdout, done.stdout + done.stderr


def test_the_client_says_what_it_needs_and_works_with_it(fresh: Path, tmp_path: Path):
    use = 'from touchstone.client import Client\nClient("http://127.0.0.1:9", "tst_1").close()\n'
    refused = run(fresh / "python", "-c", use, cwd=tmp_path)
    assert "pip install httpx PyYAML" in refused.stderr
    (wheel,) = (fresh.parent.parent / "dist").glob("*.whl")
    install(fresh, f"{wheel}[client]")
    used = run(fresh / "python", "-W", "error", "-c", use, cwd=tmp_path)
    assert used.returncode == 0, used.stderr


def test_it_says_where_the_model_server_and_the_site_are(fresh: Path, tmp_path: Path):
    for command in ("serve", "train", "site"):
        done = run(fresh / "touchstone", command, cwd=tmp_path)
        assert done.returncode == 2
        assert "release archive" in done.stderr

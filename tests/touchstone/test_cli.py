"""The command `touchstone` in a checkout and with the analysis alone."""

import os
import shutil
import subprocess
import sys
from importlib import import_module

import pytest

import analysis
import touchstone
from analysis.__main__ import COMMANDS, GROUPS
from modelserver.__main__ import COMMANDS as MODEL_SERVER
from tests.paths import ROOT
from touchstone.cli import LACKING, SITE, build_app, main

ASK_FOR_COMPLETIONS = """
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_touchstone
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder that holds what the distribution installs.

    It has the analysis inside touchstone.
    """
    folder = tmp_path_factory.mktemp("site-packages")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "touchstone", folder / "touchstone", ignore=ignore)
    shutil.copytree(ROOT / "analysis", folder / "touchstone/analysis", ignore=ignore)
    return folder


def run(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "touchstone", *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_groups_the_commands(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/touchstone"])
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Usage: touchstone COMMAND")
    for title in ("Analysis", "Model server", "Site", "--version", "--install-completion"):
        assert title in printed
    commands = (name for name, *_ in (*COMMANDS, *MODEL_SERVER))
    for name in (*commands, "train", "site", *SITE):
        assert f"│ {name} " in printed


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == analysis.__version__


def test_the_package_has_the_version():
    assert touchstone.__version__ == analysis.__version__
    with pytest.raises(AttributeError, match="versions"):
        import_module("touchstone").versions  # noqa: B018


def test_help_imports_no_heavy_library():
    code = (
        "import sys; from touchstone.cli import main; main(['--help']);"
        "print(sorted({'torch', 'django', 'pandas', 'numpy', 'matplotlib'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [[], ["dance"], ["report"], ["faithfulness"], ["train"], ["interim"]])
def test_bad_usage_is_status_two(arguments, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_failed_command_is_status_one(tmp_path, capsys):
    assert main(["preregister", str(tmp_path)]) == 1
    assert "study_version.json" in capsys.readouterr().err


def test_a_failed_command_of_the_model_server_is_status_one(capsys):
    assert main(["predict", "qi2019", "no.json", "--out", "predictions.json"]) == 1
    assert capsys.readouterr().err == "error: no.json: there is no such file\n"


def test_an_interrupted_command_is_status_130(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("analysis.commands.preregister.load_frozen", interrupt)
    assert main(["preregister", "bundle"]) == 130


def test_the_analysis_runs(capsys):
    assert main(["interim", "--fractions", "0.5,1"]) == 0
    assert "2.9626" in capsys.readouterr().out


def test_the_model_server_runs():
    done = run(ROOT, "list")
    assert done.returncode == 0, done.stderr
    assert "qi2019" in done.stdout
    done = run(ROOT, "serve", "--help")
    assert done.returncode == 0, done.stderr
    assert "--max-batch-tokens" in done.stdout
    assert run(ROOT, "serve", "--port", "x").returncode == 2


def test_the_site_gets_all_arguments():
    settings = {"SECRET_KEY": "for the test", "DEBUG": "true"}
    done = run(ROOT, "site", "create_study", "--help", **settings)
    assert done.returncode == 0, done.stderr
    assert "create_study" in done.stdout
    assert run(ROOT, "site", "check", "--nonsense", **settings).returncode == 2
    done = run(ROOT, "backup", "--help", **settings)
    assert done.returncode == 0, done.stderr
    assert "--key-file" in done.stdout


def test_a_checkout_is_found_from_any_folder(tmp_path):
    done = run(tmp_path, "serve", "--help", PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr


def test_the_distribution_offers_the_analysis(installed):
    done = run(installed, "--version")
    assert done.stdout.strip() == analysis.__version__
    done = run(installed, "interim", "--fractions", "0.5,1")
    assert (done.returncode, done.stderr) == (0, "")
    done = run(installed, "report", "nowhere", "--out", "out")
    assert done.returncode == 1
    assert "is not a folder" in done.stderr
    assert "Usage: python -m touchstone interim" in run(installed, "interim", "--help").stdout
    assert "serve" not in run(installed, "--help").stdout


@pytest.mark.parametrize(
    "arguments",
    [["serve"], ["train", "qi2019", "--out", "x"], ["site", "migrate", "--help"], ["backup", "x"]],
)
def test_the_distribution_names_what_it_lacks(installed, arguments):
    done = run(installed, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the model server and the site are not part of this installation")
    assert len(done.stderr.splitlines()) == 1


def test_the_distribution_knows_every_command_that_it_lacks():
    offered = {name for name in build_app("python -m touchstone") if not name.startswith("-")}
    assert offered - set(LACKING) == {"looks", *(name for name, *_ in (*COMMANDS, *GROUPS))}
    assert set(LACKING) <= offered


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The completion script that bash loads."""
    home = tmp_path_factory.mktemp("home")
    code = "import sys; from touchstone.cli import main; sys.argv[0] = 'touchstone'; sys.exit(main())"
    environment = os.environ | {"HOME": str(home), "SHELL": "/bin/bash"}
    command = [sys.executable, "-c", code, "--install-completion"]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    (path,) = home.rglob("completions/touchstone")
    return path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["compare-f"], {"compare-faithfulness"}),
        (["interim", "--js"], {"--json"}),
        (["vis"], {"visual-bias", "visual-evaluate", "visual-nlvr", "visual-splits", "visual-table"}),
        (["serve", "--max-batch-"], {"--max-batch-tokens", "--max-batch-items"}),
        (["train", "qi2019-"], {"qi2019-reg"}),
        (["train", "qi2019", "--pat"], {"--patience"}),
        (["predict-parquet", "--he"], {"--help"}),
        (["site", "create_"], {"create_study", "create_workspace"}),
        (["site", "export_results", "--form"], {"--format"}),
        (["site", "predict", "--data"], {"--dataset"}),
        (["resto"], {"restore"}),
        (["restore", "--he"], {"--help"}),
    ],
)
def test_bash_completes_commands_and_options(script, words, expected):
    command = ["bash", "-c", ASK_FOR_COMPLETIONS, "bash", str(script), "touchstone", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


def test_every_command_of_the_model_server_completes_options_of_its_own(script):
    for name, *_ in MODEL_SERVER:
        command = ["bash", "-c", ASK_FOR_COMPLETIONS, "bash", str(script), "touchstone", name, "--"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert set(done.stdout.split()) > {"--help", "--version"}, name

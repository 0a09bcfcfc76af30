"""load.R reads a bundle as load.py does.

The tests run if R and its package jsonlite are installed.
"""

import importlib.util
import json
import shutil
import subprocess

import pytest

from studyapp.exports.bundle import write_bundle
from studyapp.models import Study
from tests.studyapp import factories

pytestmark = pytest.mark.django_db

COUNT = """
source("load.R")
tables <- load_bundle(".", mode = {mode}, exclusions = "{exclusions}")
trials <- tables$trials
cat(jsonlite::toJSON(list(
  rows = lapply(tables, nrow),
  modes = as.list(sort(unique(trials$mode))),
  classes = lapply(trials[c("rated_correct", "certainty", "server_ms", "participant_id")], typeof),
  is_time = inherits(trials$shown_at, "POSIXct"),
  seconds = as.numeric(difftime(trials$submitted_at, trials$shown_at, units = "secs")),
  server_ms = trials$server_ms,
  certainty = mean(trials$certainty),
  reasons = sort(unique(as.character(tables$participants$language)))
), auto_unbox = TRUE, digits = NA))
"""


def in_r(folder, script):
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", script],
        cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module", autouse=True)
def _needs_r():
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    if in_r(".", "library(jsonlite)")[0]:
        pytest.skip("R lacks the package jsonlite")


@pytest.fixture
def bundle(tmp_path):
    """A bundle with live participants, pilots and excluded trials.

    The rules exclude one of the participants.
    """
    rules = [
        {"name": "known", "kind": "answered", "question": "known_before", "value": True},
        {"name": "mostly-out", "kind": "excluded_trials", "more_than_percent": 60},
    ]
    study = factories.make_study(items=3, exclusions=rules)
    pilot = factories.make_link(study=study, mode="pilot")
    for number, link in enumerate([None, None, None, pilot]):
        participant = factories.make_participant(study=study, link=link)
        for item in range(3):
            factories.answer_item(participant, known_before=number == 1 or item == number, certainty=item + 1)
        factories.answer_survey(participant)
    write_bundle(study, tmp_path / "out")
    return tmp_path / "out"


def load_in_python(bundle, mode, exclusions):
    specification = importlib.util.spec_from_file_location("bundle_loader", bundle / "load.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.load(bundle, mode=mode, exclusions=exclusions)


@pytest.mark.parametrize("exclusions", ["applied", "kept"])
@pytest.mark.parametrize(
    ("mode", "in_words"), [("live", '"live"'), (["live", "pilot"], 'c("live", "pilot")')]
)
def test_it_loads_what_the_loader_in_python_loads(bundle, mode, in_words, exclusions):
    code, output, errors = in_r(bundle, COUNT.replace("{mode}", in_words).replace("{exclusions}", exclusions))
    assert code == 0, errors
    summary, tables = json.loads(output), load_in_python(bundle, mode, exclusions)
    assert summary["rows"] == {name: len(table) for name, table in tables.items()}
    trials = tables["trials"]
    assert summary["modes"] == sorted(set(trials["mode"]))
    assert summary["classes"] == {
        "rated_correct": "logical",
        "certainty": "integer",
        "server_ms": "integer",
        "participant_id": "character",
    }
    assert summary["certainty"] == pytest.approx(trials["certainty"].mean())
    assert summary["is_time"]
    assert summary["seconds"] == pytest.approx([ms / 1000 for ms in summary["server_ms"]], abs=0.002)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('mode = "live"', "exclusions must be"),
        ('exclusions = "kept"', "mode must be some of"),
        ('mode = "living", exclusions = "kept"', "mode must be some of"),
        ('mode = "live", exclusions = "yes"', "exclusions must be"),
    ],
)
def test_it_asks_for_mode_and_exclusions(bundle, arguments, message):
    code, _output, errors = in_r(bundle, f'source("load.R"); load_bundle(".", {arguments})')
    assert code != 0
    assert message in errors


def test_it_takes_the_apostrophe_of_formulas_away(bundle):
    rows = (bundle / "participants.csv").read_text("utf-8")
    first = rows.splitlines()[1].split(",")[0]
    (bundle / "participants.csv").write_text(rows.replace(first, "'=2+3", 1), "utf-8")
    script = 'source("load.R"); cat(load_bundle(".", "all", "kept")$participants$participant_id[1])'
    assert in_r(bundle, script)[1] == "=2+3"


def test_json_lines(bundle, tmp_path):
    write_bundle(Study.objects.get(), tmp_path / "lines", file_format="jsonl")
    script = 'source("load.R"); cat(nrow(load_bundle(".", "live", "applied")$trials))'
    assert in_r(tmp_path / "lines", script)[1] == in_r(bundle, script)[1]

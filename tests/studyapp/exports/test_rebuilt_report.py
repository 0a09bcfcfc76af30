"""A stranger rebuilds the report from the public bundle.

It says what the internal one says.
"""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.__main__ import main
from studyapp.definition.exclusion_rules import RULES_2020
from studyapp.exports.bundle import write_bundle
from tests.studyapp import factories

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]
# The analysis alone: nothing of the site may be imported.
ALONE = """
import sys
for name in ("django", "studyapp", "config"):
    sys.modules[name] = None
from analysis.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def rebuild(bundle, out, **environment):
    """The files of the report by name, made by a process of its own."""
    command = [sys.executable, "-c", ALONE, "report", str(bundle), "--out", str(out), "--resamples", "60"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return files(out)


def files(out):
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()
    }


def make_study():
    rules = [rule.model_dump(mode="json") for rule in RULES_2020]
    rules.append({"name": "mostly-out", "kind": "excluded_trials", "more_than_percent": 60})
    study = factories.make_study(items=4, conditions=2, exclusions=rules)
    for number in range(9):
        participant = factories.make_participant(study=study)
        for item in range(4):
            factories.answer_item(
                participant,
                rated_correct=(number + item) % 3 > 0,
                certainty=1 + (number * item) % 5,
                known_before=number == 8,
            )
    return study


def rows(content):
    """Return the rows of a table without the pseudonyms.

    The variants differ in these alone.
    """
    table = list(csv.DictReader(content.decode().splitlines()))
    return [{name: value for name, value in row.items() if name != "participant_id"} for row in table]


def test_a_stranger_gets_the_same_bytes_and_every_number_is_the_internal_one(tmp_path):
    study = make_study()
    write_bundle(study, tmp_path / "internal")
    write_bundle(study, tmp_path / "public", public=True)
    assert (
        main(["report", str(tmp_path / "internal"), "--out", str(tmp_path / "a"), "--resamples", "60"]) == 0
    )
    internal = files(tmp_path / "a")
    public = rebuild(tmp_path / "public", tmp_path / "b", PYTHONHASHSEED="2", OPENBLAS_NUM_THREADS="1")
    again = rebuild(tmp_path / "public", tmp_path / "c", PYTHONHASHSEED="3", OPENBLAS_NUM_THREADS="2")
    assert again == public
    tables = {name for name in internal if name.endswith(".csv")} - {"tables/inputs.csv", "tables/sample.csv"}
    assert {"tables/measures.csv", "tables/excluded_participants.csv"} <= tables
    for name in sorted(tables):
        assert rows(internal[name]) == rows(public[name]), name
    for name in internal.keys() & public.keys():
        if name.endswith(".svg"):
            assert internal[name] == public[name], name
    assert extract_text(internal) == extract_text(public)


def extract_text(report):
    """Return the text of the page up to the input files.

    Their hashes and pseudonyms differ.
    """
    page = report["report.html"].decode()
    return re.sub(r"<[^>]+>", " ", page[: page.index('id="reproduction"')]).replace("Entry link", "")

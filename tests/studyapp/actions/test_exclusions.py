"""Exclusions by hand have a reason, and are in log, bundle and report."""

import csv
import json

import pytest

from analysis.participants.bundle import load_bundle
from analysis.report.page import render
from analysis.study.analysis import Options, analyse
from foundation.errors import Conflict
from studyapp.actions.exclusions import exclude_participant, include_participant
from studyapp.actions.privacy import anonymise_participant, delete_participant
from studyapp.exports.bundle import write_bundle
from studyapp.models import Event, ManualExclusion
from tests.analysis.quick_reports import build_words
from tests.studyapp import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def participant():
    return factories.make_participant(completed=True)


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_twice_is_a_conflict_and_both_acts_are_logged(participant):
    by = factories.make_user()
    exclude_participant(participant=participant, reason="took part twice", by=by)
    with pytest.raises(Conflict):
        exclude_participant(participant=participant, reason="again", by=by)
    include_participant(participant=participant, reason="it was a colleague", by=by)
    with pytest.raises(Conflict):
        include_participant(participant=participant, reason="again", by=by)
    events = Event.objects.filter(participant=participant, kind__startswith="participant_")
    assert [(event.kind, event.actor, event.data["reason"]) for event in events] == [
        ("participant_excluded", by, "took part twice"),
        ("participant_included", by, "it was a colleague"),
    ]


@pytest.mark.parametrize("act", [delete_participant, anonymise_participant])
def test_it_ends_with_the_participant_and_stays_with_the_answers(participant, act):
    exclude_participant(participant=participant, reason="took part twice", by=None)
    act(participant=participant, by=None, reason="asked for it")
    assert ManualExclusion.objects.count() == (act is anonymise_participant)


@pytest.mark.parametrize("public", [False, True])
def test_the_bundle_and_the_report_say_so(participant, tmp_path, public):
    study = participant.version.study
    for _ in range(5):
        factories.make_participant(study=study, completed=True)
    exclude_participant(participant=participant, reason="took part twice", by=None)
    write_bundle(study, tmp_path / "out", public=public)
    [excluded] = [row for row in rows(tmp_path / "out/participants.csv") if row["excluded_by"]]
    assert excluded["excluded_by"] == "by hand"
    assert excluded["excluded_reason"] == ("" if public else "took part twice")
    hit = [row for row in rows(tmp_path / "out/trials.csv") if "by hand" in row["excluded_by"]]
    assert {row["participant_id"] for row in hit} == {excluded["participant_id"]}
    assert len(hit) == 3
    rules = json.loads((tmp_path / "out/rules.json").read_text("utf-8"))
    assert rules["counts"]["live"]["by_rule"]["by hand"] == 3
    analysed = analyse(load_bundle(tmp_path / "out"), Options(resamples=2))
    assert analysed.exclusions.by_rule["by hand"] == 3
    page = render(build_words(analysed))
    assert "1 participant excluded by researchers" in page
    assert "differs from what its rules give" not in page


def test_a_rule_of_that_name_keeps_it(tmp_path):
    rule = {"name": "by hand", "kind": "min_time", "clock": "client_total", "seconds": 1}
    study = factories.make_study(exclusions=[rule])
    participant = factories.make_participant(study=study, completed=True)
    exclude_participant(participant=participant, reason="took part twice", by=None)
    write_bundle(study, tmp_path / "out")
    rules = json.loads((tmp_path / "out/rules.json").read_text("utf-8"))["rules"]
    assert [rule["name"] for rule in rules] == ["by hand", "by hand of researchers"]

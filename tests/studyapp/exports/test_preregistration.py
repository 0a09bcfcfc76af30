"""A launched study exports enough for its pre-registration.

The export is enough for its flow diagram and attrition tests, too.
"""

import json

import numpy as np
import pytest

from analysis.participants.attrition import completion_test, participant_flow, position_test
from analysis.participants.bundle import load_bundle
from analysis.planning.declared_plan import Plan
from analysis.planning.frozen_version import load_frozen
from analysis.planning.preregistration import preregistration
from analysis.report.plots.flow_diagram import draw_flow_svg
from analysis.study.analysis import Options, analyse
from studyapp.exports.bundle import write_bundle
from tests.studyapp.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("public", [False, True])
def test_a_launched_study_without_participants(tmp_path, public):
    study = make_study(items=3, conditions=2)
    write_bundle(study, tmp_path / "out", public=public)
    frozen = load_frozen(tmp_path / "out")
    assert frozen.verified is True
    text = preregistration(frozen, Plan())
    definition = json.loads((tmp_path / "out" / "study_version.json").read_text("utf-8"))["versions"][0]
    assert definition["hash"] in text
    for condition in definition["conditions"]:
        assert f"(`{condition['name']}`)" in text
    for question in definition["item_questionnaire"] + definition["post_survey"]:
        assert question["text"] in text
    for rule in definition["definition"]["rules"]:
        assert f"`{rule['name']}`" in text
    assert "Items: 3" in text


def test_the_flow_of_a_running_study(tmp_path):
    study = make_study(items=3, conditions=2)
    for _ in range(4):
        make_participant(study=study, completed=True)
    make_participant(study=study, items=1)
    write_bundle(study, tmp_path / "out")
    analysed = analyse(load_bundle(tmp_path / "out"), Options(resamples=2))
    rules = [rule.name for rule in analysed.bundle.rules]
    modes = analysed.bundle.flow[analysed.mode]
    flow = participant_flow(analysed.conditions, modes, analysed.trials, analysed.exclusions.names, rules)
    assert flow.consented == 5
    assert sum(part.completed or 0 for part in flow.conditions) == 4
    assert [part.dropped_at for part in flow.conditions if part.dropped_at] == [{1: 1}]
    assert sum(part.trials for part in flow.conditions) == 13
    assert "Not completed: 1" in draw_flow_svg(flow)
    tested = completion_test(flow, rng=np.random.default_rng(1))
    assert tested.p == pytest.approx(1)
    assert position_test(flow, rng=np.random.default_rng(1)).p is None

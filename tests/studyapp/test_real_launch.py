"""The real run of released systems on HotpotQA: launch and report.

The launch asks for judges.
"""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analysis.participants.bundle import load_bundle
from analysis.report.sections.correctness import build_correctness_section
from analysis.report.tables import Table
from analysis.study.analysis import Options, analyse
from studyapp.actions.correctness import judge, queue_answers
from studyapp.exports.bundle import write_bundle
from studyapp.models import JudgedAnswer, Study
from studyapp.queries.design.correctness import find_missed_answers_of_design, list_shown_answers
from studyapp.queries.design.launches import plan_launch
from tests.paths import DATA
from tests.studyapp import factories

pytestmark = pytest.mark.django_db
REHEARSED = ("--accept", "rehearsal=walked through on paper")
DEFINITION = """
study: real
title: Real systems
dataset: hotpot
conditions: [{system: srlgrn}, {system: hp_model_9}]
items: {count: 25, seed: 2020}
consent: You take part.
exclusions: []
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    if not DATA.is_dir():
        pytest.skip("The real data are not on this machine; TOUCHSTONE_DATA names their folder.")
    call_command("import_dataset", "hotpot", str(DATA / "hotpot" / "hotpot_sample.json"), name="hotpot")
    for system in ("srlgrn", "hp_model_9"):
        path = DATA / "hotpot" / "predictions" / f"{system}.json"
        call_command("import_predictions", str(path), dataset="hotpot", system=system)
    path = tmp_path / "real.yaml"
    path.write_text(DEFINITION, encoding="utf-8")
    call_command("create_study", str(path))
    return Study.objects.get()


def test_it_launches_after_judging_and_its_report_states_it(study: Study, tmp_path: Path):
    plan = plan_launch(study)
    shown = list_shown_answers(plan)
    missed = [answer for answer in shown if not answer.verdict.exact_match]
    near = [answer for answer in shown if answer.verdict.is_open]
    assert (len(shown), len(missed)) == (50, 21)
    assert ("about 115 miles (185 km)", "115 miles") in {
        (answer.question.answer, answer.answer) for answer in near
    }
    refusal = f'{len(near)} of 50 shown answers resemble.*--accept judging="REASON"'
    with pytest.raises(CommandError, match=refusal):
        call_command("launch_study", "real", *REHEARSED)
    judges = [factories.make_user(), factories.make_user()]
    queue_answers(answers=find_missed_answers_of_design(plan), by=judges[0])
    for row in JudgedAnswer.objects.all():
        for by in judges:
            judge(judged=row, is_correct=row.answer in row.question.answer, by=by)
    call_command("launch_study", "real", *REHEARSED)
    for _number in range(4):
        factories.make_participant(study=study, completed=True)
    for public in (False, True):
        folder = tmp_path / str(public)
        write_bundle(study, folder, public=public)
        section = build_correctness_section(analyse(load_bundle(folder), Options(resamples=20)))
        tables = {block.name: block for block in section.blocks if isinstance(block, Table)}
        rows = {row[0].text: [cell.text for cell in row[1:]] for row in tables["correctness"].rows}
        assert {row[0] for row in rows.values()} == {"25"}
        assert "By two judges" in tables["correctness"].header
        assert {row[-1] for row in rows.values()} == {"0"}
        assert {row[0].text for row in tables["correctness-sources"].rows} >= {
            "Fraction of correct ratings",
            "Over-estimation",
        }
        both = tables["correctness-sources"].rows
        assert any(row[2].plain != row[3].plain for row in both)


def test_a_decision_launches_it_too_and_stands_in_the_report(study: Study, tmp_path: Path):
    call_command("launch_study", "real", *REHEARSED, "--accept", "judging=exact match was pre-registered")
    factories.make_participant(study=study, completed=True)
    write_bundle(study, tmp_path / "bundle")
    section = build_correctness_section(analyse(load_bundle(tmp_path / "bundle"), Options(resamples=0)))
    text = str(section.blocks)
    assert "exact match was pre-registered" in text
    assert "count as wrong, because nobody judged them" in text
    assert "The correctness of every answer is that of exact match." in text

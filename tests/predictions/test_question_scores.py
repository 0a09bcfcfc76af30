"""The parts that questions add to the scores are stored with the score.

They are exported, and a report of the export draws them.
"""

from io import StringIO

import pytest
from django.core.management import call_command

from analysis.participants.bundle import load_bundle
from analysis.report.page import Figure
from analysis.report.sections.against_scores import build_all_scores_section
from analysis.scores.per_question import check_agreement, read_question_scores
from analysis.scores.score_table import SCORES
from analysis.study.analysis import Options, analyse
from modelserver.serving.fake_server import FakeModelServer
from predictions.actions.scores import score_run
from predictions.models import PredictionRun, QuestionScore, Score
from predictions.scores.scoring import CHANGE_PARTS, PARTS, PLACE_PARTS
from studyapp.exports.bundle import write_bundle
from studyapp.exports.writers import FORMATS
from tests.studyapp.factories import make_link, make_participant, make_run, make_study
from tests.studyapp.questions import entry
from tests.studyapp.serving import eager, failing, made_dataset, model_server

__all__ = ["eager", "model_server"]

pytestmark = [pytest.mark.django_db, pytest.mark.database]

GIVEN = {score.key for score in SCORES}


def scored(rows) -> PredictionRun:
    """The run of the fake system over these questions, scored with FaRM."""
    dataset = made_dataset("films", rows)
    quiet = {"stdout": StringIO(), "stderr": StringIO()}
    call_command("predict", "--dataset", "films", "--system", "fake", "--wait", **quiet)
    call_command("score", "--dataset", "films", **quiet)
    return dataset.runs.get()


def varied(count: int = 12):
    """Return questions that the fake system answers rightly and wrongly.

    Its answers are a span or yes.
    """
    rows = [entry(number, answer="Oslo" if number % 3 == 0 else f"Paul Stone {'I' * (number + 1)}")
            for number in range(count - 1)]  # fmt: skip
    return [*rows, entry(count, question=f"Did Paul Stone direct Night Ferry {count}?", answer="yes")]


def part(run: PredictionRun, name: str) -> list[float | None]:
    column = PARTS.index(name)
    return [row.parts[column] for row in run.score.questions.order_by("question")]


def test_their_means_are_the_scores(model_server: FakeModelServer, eager: None):
    run = scored(varied())
    for name in (*PARTS[:12], *CHANGE_PARTS):
        assert sum(part(run, name)) / 12 == pytest.approx(run.score.values[name]), name
    spans, inside, outside = (sum(part(run, name)) for name in PLACE_PARTS)
    assert 0 < spans < 12
    assert inside / (spans + outside) == pytest.approx(run.score.values["loca"])


def test_scoring_again_replaces_them(model_server: FakeModelServer, eager: None):
    run = scored(varied())
    first = [row.parts for row in run.score.questions.order_by("question")]
    again = score_run(run=run, farm_reason=None)
    assert QuestionScore.objects.count() == 12
    assert [row.parts for row in again.questions.order_by("question")] == first


def test_parts_of_a_score_that_is_refused_are_unknown(model_server: FakeModelServer, eager: None):
    run = scored(varied())
    run.predictions.filter(pk=run.predictions.first().pk).update(location=None, answer_type=None)
    run.dataset.questions.filter(external_id="q1").update(supporting_facts=None)
    run.score = score_run(run=run, farm_reason="nobody asked")
    for name in (*PLACE_PARTS, *CHANGE_PARTS, "sp_f1", "joint_em"):
        assert set(part(run, name)) == {None}, name
    assert None not in part(run, "f1")


def test_a_question_without_prediction_counts_0_and_has_no_changes(
    model_server: FakeModelServer, eager: None
):
    rows = [*varied(), failing(13, "[fails]")]
    dataset = made_dataset("films", rows)
    run = make_run(dataset=dataset)
    run.predictions.filter(question__external_id="q13").delete()
    run.score = score_run(run=run, farm_reason="the predictions came from a file")
    assert (part(run, "em")[-1], part(run, "joint_f1")[-1]) == (0.0, 0.0)
    assert part(run, "span_answer")[-1] is None


def study_of(run: PredictionRun):
    """Return a study with four participants in each of two conditions.

    One has the run's system, the other a system of which only the answers are known.
    """
    other = make_run(dataset=run.dataset, system="answers only", right=3)
    score_run(run=other, farm_reason="the predictions came from a file")
    study = make_study(
        dataset=run.dataset.name, items=4, conditions=[{"system": "fake"}, {"system": "answers only"}]
    )
    link = make_link(study=study)
    for _ in range(8):
        make_participant(study=study, link=link, completed=True)
    return study


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_export_holds_them(model_server: FakeModelServer, eager: None, tmp_path, file_format):
    study = study_of(scored(varied()))
    written = write_bundle(study, tmp_path / "out", file_format=file_format)
    assert written.rows["question_scores"] == 24
    table = read_question_scores(tmp_path / "out" / f"question_scores.{file_format}")
    values = {score.run.system.name: score.values for score in Score.objects.select_related("run__system")}
    check_agreement(
        table,
        {
            name: {k: v for k, v in values_of_system.items() if k in GIVEN}
            for name, values_of_system in values.items()
        },
    )
    other = table[table["system"] == "answers only"]
    assert other[[*CHANGE_PARTS, *PLACE_PARTS]].isna().all().all()
    assert other["f1"].notna().all()


def test_a_report_of_the_export_has_intervals_of_the_scores(
    model_server: FakeModelServer, eager: None, tmp_path
):
    write_bundle(study_of(scored(varied())), tmp_path / "out")
    analysis = analyse(load_bundle(tmp_path / "out"), Options(resamples=200))
    scores = {score.key: score for score in analysis.retained.relations.scores}
    for key in ("em", "f1", "farm_4", "loca"):
        low, high = scores[key].interval(0)
        assert low <= scores[key].values[0] <= high
    assert scores["em"].interval(0)[0] < scores["em"].interval(0)[1]
    assert scores["farm_4"].interval(1) is None
    figures = [block for block in build_all_scores_section(analysis).blocks if isinstance(block, Figure)]
    assert all(
        "Horizontal lines are confidence intervals of the score" in figure.caption for figure in figures
    )


@pytest.mark.parametrize("file_format", FORMATS)
def test_nothing_scored_is_no_table_of_questions(tmp_path, file_format):
    study = make_study()
    make_participant(study=study, completed=True)
    write_bundle(study, tmp_path / "out", file_format=file_format)
    assert load_bundle(tmp_path / "out").question_scores is None

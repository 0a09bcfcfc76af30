"""Tests of probes for the right reasons, from questions to the score."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from celery import current_app
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from pytest_django.fixtures import Settings

from analysis.counterfactuals.alignment import alignments, judge, read_records
from analysis.counterfactuals.drafts import draft
from analysis.counterfactuals.instances import instances_text
from jobs import progress
from jobs.actions import slices
from modelserver.registry import load_system
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.wire.errors import DeadlineExceeded, Unavailable
from modelserver.wire.schema import QAItem, QAPrediction
from modelserver.world import generate
from predictions import tasks
from predictions.actions import reading
from predictions.models import ReadingInstance, ReadingProbe, ReadingRecord
from tests.modelserver.saliency.planted import systems
from tests.studyapp.questions import comparison
from tests.studyapp.serving import eager, made_dataset, model_server, no_model_server

__all__ = ["eager", "model_server", "no_model_server"]

pytestmark = pytest.mark.django_db


ROWS = [comparison(number) for number in (1, 2, 3, 25, 27, 29)]


@pytest.fixture
def planted(settings: Settings) -> Any:
    with FakeModelServer(*systems(), FakeSystem()) as server:
        settings.MODEL_SERVER_URL = server.url
        yield server


def probe(out: Path, *arguments: str, dataset: str = "people") -> tuple[str, str]:
    output, error = StringIO(), StringIO()
    call_command(
        "probe_reading", "--dataset", dataset, "--out", str(out), *arguments, stdout=output, stderr=error
    )
    return output.getvalue(), error.getvalue()


def scores(path: Path) -> dict[tuple[str, str, str], float]:
    alignment_rows = alignments(judge(read_records(path), rng=np.random.default_rng(1)))
    return {
        (alignment.group.system, alignment.group.method, alignment.group.distribution): alignment.score
        for alignment in alignment_rows
    }


def test_it_works(planted: FakeModelServer, eager: None, tmp_path: Path):
    """The system with the rule scores high, those with a shortcut low.

    This holds for every method.
    """
    made_dataset("people", ROWS)
    methods = ["integrated-gradients", "occlusion", "gradient-x-input"]
    out = tmp_path / "records.jsonl"
    output, _ = probe(
        out, "--system", "rule", "first", "heart", "--method", *methods,
        "--distribution", "in", "--context", "paragraphs",
    )  # fmt: skip
    assert "6 × comparison, paragraphs, in" in output
    assert f"{out}: 54 records" in output
    for method in methods:
        scores_by_group = scores(out)
        assert scores_by_group["rule", method, "in"] == 1.0
        assert scores_by_group["first", method, "in"] == 0.0
        assert scores_by_group["heart", method, "in"] == 0.0


def test_the_records_say_what_was_asked_and_answered(planted: FakeModelServer, eager: None, tmp_path: Path):
    made_dataset("people", ROWS[:1])
    probe(tmp_path / "r", "--system", "rule", "--distribution", "in", "--context", "facts")
    (record,) = map(json.loads, (tmp_path / "r").read_text(encoding="utf-8").splitlines())
    assert record["original_answer"] == record["original_gold"] == "Ann Lee1"
    assert record["counterfactual_answer"] == record["counterfactual_gold"] == "Bob Ray1"
    assert record["positive"] == pytest.approx(
        [0.095 / 2]
    )  # half the logit: 1931 lies 9.5 years below the mean
    assert record["negative"] == [0.0] * 6  # the words Who, of, the, two, singers and or; "is" is a verb
    assert (record["context"], record["step"], record["revision"]) == ("facts", "comparison", "rule-1")


def test_coreference_counts_the_mentions_in_the_context(
    planted: FakeModelServer, eager: None, tmp_path: Path
):
    row = comparison(1) | {
        "type": "bridge", "question": "Who was heard in Vienna?", "answer": "Ann Lee1",
        "context": [
            ["Ann Lee1", ["Ann Lee1 sang in 1931.", " She rested."]], ["Town", ["It rained in 1950."]],
        ],
        "supporting_facts": [["Ann Lee1", 0], ["Town", 0]],
    }  # fmt: skip
    made_dataset("people", [row])
    output, _ = probe(tmp_path / "r", "--system", "first", "--context", "paragraphs")
    assert "2 × coreference, paragraphs, in" in output
    records = [json.loads(line) for line in (tmp_path / "r").read_text(encoding="utf-8").splitlines()]
    assert [len(record["positive"]) for record in records] == [3, 3]  # Ann, Lee1, She
    assert (
        ReadingInstance.objects.get(content__id="q1:coreference:paragraphs:0")
        .content["counterfactual"]["context"][0][1][-1]
        .startswith(" That account is mistaken")
    )


def test_a_second_time_computes_nothing(
    planted: FakeModelServer, eager: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made_dataset("people", ROWS)
    probe(tmp_path / "first", "--system", "rule")
    monkeypatch.setattr(reading, "predict_items", None)
    probe(tmp_path / "second", "--system", "rule")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert ReadingProbe.objects.count() == 1


def test_a_slice_that_is_done_twice_stores_nothing_twice(
    planted: FakeModelServer, eager: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made_dataset("people", ROWS)

    def twice(**slice: int) -> None:
        reading.compute_records(**slice)
        before = list(ReadingRecord.objects.order_by("pk").values_list("result", flat=True))
        assert reading.compute_records(**slice) == 0
        assert list(ReadingRecord.objects.order_by("pk").values_list("result", flat=True)) == before

    monkeypatch.setattr(tasks, "compute_records", twice)
    probe(tmp_path / "r", "--system", "rule", "--slice", "2")
    assert ReadingRecord.objects.filter(result__isnull=True).count() == 0


def test_lost_slices_come_back(
    planted: FakeModelServer, eager: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A killed worker stores nothing, and its slices are enqueued again.

    The rest stays.
    """
    made_dataset("people", ROWS)
    lost: list[dict[str, int]] = []

    def loses_the_first(**slice: int) -> None:
        if not lost:
            lost.append(slice)
        else:
            reading.compute_records(**slice)

    monkeypatch.setattr(tasks, "compute_records", loses_the_first)
    monkeypatch.setattr(progress, "STALL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "list_workers", lambda: ["one"])
    monkeypatch.setattr(progress, "has_pending_slices", lambda *_: False)
    output, _ = probe(tmp_path / "r", "--system", "rule", "--slice", "5", "--context", "facts")
    assert lost
    assert ": 30 records" in output  # 6 within the words of training, 24 outside


def test_a_system_without_saliency_is_told_and_its_answers_are_kept(
    planted: FakeModelServer, eager: None, tmp_path: Path
):
    made_dataset("people", ROWS[:2])
    _, error = probe(tmp_path / "r", "--system", "fake", "--context", "facts", "--distribution", "in")
    assert "answers are recorded without saliency: fake has no saliency" in error
    (first, _) = (json.loads(line) for line in (tmp_path / "r").read_text(encoding="utf-8").splitlines())
    assert "positive" not in first
    assert first["original_f1"] >= 0


def test_a_failed_instance_is_told_and_tried_again(eager: None, tmp_path: Path, settings: Settings):
    made_dataset("people", ROWS[:2])
    failing = Broken()
    with FakeModelServer(failing) as server:
        settings.MODEL_SERVER_URL = server.url
        arguments = ("--system", "broken", "--method", "none", "--context", "facts", "--distribution", "in")
        _, error = probe(tmp_path / "r", *arguments)
        assert "1 instances failed; the first: original: prediction_failed" in error
        assert len((tmp_path / "r").read_text(encoding="utf-8").splitlines()) == 1
        failing.works = True
        _, error = probe(tmp_path / "r", *arguments)
    assert "failed" not in error
    assert len((tmp_path / "r").read_text(encoding="utf-8").splitlines()) == 2


class Broken(FakeSystem):
    works = False

    def __init__(self) -> None:
        super().__init__("broken")

    def _predict_one(self, item: QAItem) -> QAPrediction:
        if not self.works and "Lee1 " in item.question:
            raise RuntimeError("no")
        return super()._predict_one(item)


def test_checked_instances_take_the_place_of_drafts(planted: FakeModelServer, eager: None, tmp_path: Path):
    made_dataset("people", ROWS)
    drafts = draft(ROWS, extents=["facts"], distributions=["in"]).instances
    checked = [
        drafts[0].model_copy(update={"verdict": "valid"}),
        drafts[1].model_copy(update={"verdict": "rejected"}),
        drafts[2].model_copy(update={"verdict": "repaired", "positive": [(0, 3)], "negative": [(4, 6)]}),
    ]
    (tmp_path / "checked.jsonl").write_text(instances_text(checked), encoding="utf-8")
    _, error = probe(tmp_path / "r", "--system", "rule", "--instances", str(tmp_path / "checked.jsonl"))
    assert "left out: 1 × instances: rejected" in error
    records = [json.loads(line) for line in (tmp_path / "r").read_text(encoding="utf-8").splitlines()]
    assert [record["verdict"] for record in records] == ["valid", "repaired"]
    assert records[1]["positive"] == [0.0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", r"c\.jsonl: line 1, column id: is missing"),
        ('{"id": 3}', r"c\.jsonl: line 1, column id: Input should be a valid string"),
        ("", r"c\.jsonl: holds no instance"),
    ],
)
def test_a_malformed_file_of_instances_is_told(
    planted: FakeModelServer, tmp_path: Path, line: str, message: str
):
    made_dataset("people", ROWS)
    (tmp_path / "c.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(CommandError, match=message):
        probe(tmp_path / "r", "--system", "rule", "--instances", str(tmp_path / "c.jsonl"))


def test_instances_of_other_questions_are_refused(planted: FakeModelServer, tmp_path: Path):
    made_dataset("people", ROWS[:1])
    others = draft(ROWS[1:], extents=["facts"]).instances
    (tmp_path / "c.jsonl").write_text(instances_text(others), encoding="utf-8")
    with pytest.raises(CommandError, match="the dataset 'people' has no question 'q2'"):
        probe(tmp_path / "r", "--system", "rule", "--instances", str(tmp_path / "c.jsonl"))
    assert not ReadingInstance.objects.exists()


def test_questions_without_an_instance_are_told(planted: FakeModelServer, tmp_path: Path):
    made_dataset("people", [ROWS[0] | {"question": "Who of the two is taller, A or B?"}])
    with pytest.raises(CommandError, match="people: no question gives an instance"):
        probe(tmp_path / "r", "--system", "rule")


def test_wrong_numbers_are_wrong_usage(planted: FakeModelServer, tmp_path: Path):
    made_dataset("people", ROWS)
    with pytest.raises(CommandError, match="--integration-steps: Input should be") as error:
        probe(tmp_path / "r", "--system", "rule", "--integration-steps", "0")
    assert error.value.returncode == 2


def test_a_place_that_cannot_be_written_is_told_first(no_model_server: None, tmp_path: Path):
    with pytest.raises(CommandError, match="cannot be written"):
        probe(tmp_path, "--system", "rule")


def test_a_server_that_is_away_is_told(no_model_server: None, tmp_path: Path):
    made_dataset("people", ROWS)
    with pytest.raises(CommandError, match="cannot be reached"):
        probe(tmp_path / "r", "--system", "rule")


def test_the_task_tries_again(monkeypatch: pytest.MonkeyPatch):
    tries = []

    def flaky(**slice: int) -> None:
        tries.append(slice)
        if len(tries) < 3:
            raise Unavailable("restarting")

    monkeypatch.setattr(tasks, "compute_records", flaky)
    tasks.read_slice.apply((1, 2, 3))
    assert tries == [{"probe_id": 1, "first": 2, "last": 3}] * 3


def test_a_slice_that_is_too_slow_is_given_up(monkeypatch: pytest.MonkeyPatch):
    tries = []

    def slow(**slice: int) -> None:
        tries.append(slice)
        raise DeadlineExceeded("too slow")

    monkeypatch.setattr(tasks, "compute_records", slow)
    current_app.conf.update(task_eager_propagates=False)
    tasks.read_slice.apply((1, 2, 3))
    assert len(tries) == 1 + slices.SLOW_TRIES


def test_a_record_has_a_result_or_an_error(planted: FakeModelServer, eager: None, tmp_path: Path):
    made_dataset("people", ROWS[:1])
    probe(tmp_path / "r", "--system", "rule", "--distribution", "in", "--context", "facts")
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadingRecord.objects.update(error="both")
    record = ReadingRecord.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadingRecord.objects.create(probe=record.probe, instance=record.instance)
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadingInstance.objects.create(
            question=record.instance.question, digest=record.instance.digest, content={}
        )
    with pytest.raises(IntegrityError), transaction.atomic():
        ReadingProbe.objects.create(
            dataset=record.probe.dataset, system=record.probe.system, revision=record.probe.revision,
            method=record.probe.method,
        )  # fmt: skip


def test_the_shipped_systems_on_the_generated_world(eager: None, tmp_path: Path, settings: Settings):
    rows = [row for row in generate("test", 60, 1) if row["type"] == "comparison"]
    made_dataset("world", [dict(row) for row in rows])
    shipped = [load_system("qi2019"), load_system("select-and-forget")]
    with FakeModelServer(*shipped) as server:
        settings.MODEL_SERVER_URL = server.url
        arguments = (
            "--system", "qi2019", "select-and-forget", "--context", "paragraphs",
            "--distribution", "in", "--integration-steps", "5",
        )  # fmt: skip
        output, _ = probe(tmp_path / "r", *arguments, dataset="world")
    records = read_records(tmp_path / "r")
    assert f"{len(records) // 2} × comparison, paragraphs, in" in output
    assert {record.system for record in records} == {"qi2019", "select-and-forget"}
    assert all(record.positive is not None for record in records)
    assert any(record.original_correct and record.positive and record.negative for record in records)

"""A run of a language model, by the model server: cost, budget and scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from analysis.scores.erasure import DIFFERENCES
from modelserver.evaluation.predict_file import write_predictions
from modelserver.serving.fake_server import FakeModelServer
from modelserver.serving.model_cache import Source
from modelserver.systems.language import chat_requests
from modelserver.systems.language.chat import open_chat
from predictions.models import Dataset, PredictionRun, Score
from predictions.scores.scoring import PARTS
from tests.fake_openai import REFUSAL, FakeOpenAI, error
from tests.studyapp.factories import make_user
from tests.studyapp.questions import entries
from tests.studyapp.serving import eager, made_dataset

__all__ = ["eager"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("eager")]

KEY = "sk-very-secret-0815"
Serve = Callable[..., FakeOpenAI]


@pytest.fixture
def serve(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Serve the system "model" of a file on a fake server.

    Another call restarts the model server.
    """
    monkeypatch.setenv("FAKE_KEY", KEY)
    monkeypatch.setattr(chat_requests, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr("jobs.model_servers.served_systems.KEPT_SECONDS", 0)
    stack, path = ExitStack(), tmp_path / "model.yaml"

    def start(server: FakeOpenAI, **fields: Any) -> FakeOpenAI:
        stack.close()
        content = {"url": server.url, "model": "fake-1", "key_env": "FAKE_KEY"} | fields
        path.write_text(yaml.safe_dump(content))
        system = open_chat(path, "model")
        stack.callback(system.unload)
        source = Source(lambda: system, is_remote=True)
        model_server = FakeModelServer(sources={"model": source})
        stack.callback(model_server.close)
        settings.MODEL_SERVER_URL = model_server.url
        return server

    yield start
    stack.close()


@pytest.fixture
def openai() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


def run(command: str, *arguments: str, dataset: str = "films") -> str:
    output = StringIO()
    call_command(command, "--dataset", dataset, "--system", "model", *arguments, stdout=output)
    return output.getvalue()


predict = partial(run, "predict")


def page(path: str) -> str:
    client = Client()
    client.force_login(make_user(Role.RESEARCHER))
    return client.get(path).content.decode()


def test_it_works(serve: Serve, openai: FakeOpenAI) -> None:
    serve(openai, prices={"input": 1.0, "output": 2.0, "currency": "EUR"})
    made_dataset("films", entries(3))
    output = predict("--wait")

    stored = PredictionRun.objects.get()
    first = stored.predictions.get(question__external_id="q0")
    assert first.rationale == "The first sentence says so."
    assert first.answer_logprob == pytest.approx(-0.23)  # 11 words, 10 spaces, 2 quotes
    assert first.usage["input_tokens"] > 0
    assert stored.asked is not None
    assert stored.asked.recipient == openai.url
    assert "EUR" in output
    assert "tokens sent" in output
    shown = page(_address(stored))
    assert f"sent to {openai.url}" in shown
    assert "fake-1" in shown


def test_the_page_of_a_question_shows_the_rationale(serve: Serve, openai: FakeOpenAI) -> None:
    serve(openai)
    dataset = made_dataset("films", entries(1))
    predict("--wait")
    question = dataset.questions.get()
    assert "The first sentence says so." in page(reverse("data:question", args=[question.pk]))


def test_rationales_and_logprobs_go_through_a_predictions_file(
    serve: Serve, openai: FakeOpenAI, tmp_path: Path
) -> None:
    serve(openai)
    dataset = made_dataset("films", entries(1))
    predict("--wait")
    answered = PredictionRun.objects.get().predictions.get()
    write_predictions(tmp_path / "predictions.json", [answered.wire("q0")])
    call_command(
        "import_predictions", str(tmp_path / "predictions.json"), "--dataset", "films", "--system", "copy"
    )
    copy = dataset.runs.get(system__name="copy").predictions.get()
    assert (copy.rationale, copy.answer_logprob) == (answered.rationale, answered.answer_logprob)


def _address(stored: PredictionRun) -> str:
    return reverse("data:run", args=[stored.pk])


def test_the_cost_is_known_before_and_nothing_is_sent(serve: Serve, openai: FakeOpenAI) -> None:
    serve(openai, prices={"input": 1.0, "output": 2.0})
    dataset = made_dataset("films", entries(3))
    output = predict("--dry-run")
    assert f"texts go to: {openai.url} (fake-1)" in output
    assert "requests: 3\n" in output
    assert "output tokens, at most: 1536\n" in output
    planned = json.loads(predict("--dry-run", "--json"))
    assert (planned["language_model"], planned["recipient"]) == ("fake-1", openai.url)
    assert (planned["cost"]["requests"], planned["cost"]["output_tokens"]) == (3, 1536)
    assert not PredictionRun.objects.exists()
    chosen = f"?dataset={dataset.pk}&system=model"
    assert f"sent to {openai.url}" in page(reverse("data:start_predict") + chosen)
    assert openai.requests == []


def test_the_estimate_is_near_what_the_server_counts(serve: Serve, openai: FakeOpenAI) -> None:
    serve(openai)
    made_dataset("films", entries(5))
    estimated = int(predict("--dry-run").split("input tokens, about: ")[1].split()[0])
    predict("--wait")
    counted = sum(
        prediction.usage["input_tokens"] for prediction in PredictionRun.objects.get().predictions.all()
    )
    assert estimated == pytest.approx(counted, rel=0.1)


def test_a_spent_budget_pauses_the_run_and_a_larger_one_resumes_it(serve: Serve, openai: FakeOpenAI) -> None:
    decoding = {"max_tokens": 50}
    serve(openai, decoding=decoding, limits={"budget_tokens": 900, "concurrency": 1})
    made_dataset("films", entries(6))
    with pytest.raises(CommandError, match=r"of 900 tokens"):
        predict("--wait", "--slice", "2")
    paused = PredictionRun.objects.get()
    assert paused.status == "paused"
    assert 0 < paused.predictions.count() < 6
    assert "budget of the system is spent" in page(_address(paused))

    serve(openai, decoding=decoding)
    predict("--wait", "--slice", "2")
    paused.refresh_from_db()
    assert (paused.status, paused.predictions.count()) == ("done", 6)
    assert len(openai.requests) == 6  # nothing was paid twice


def test_failures_are_typed(serve: Serve) -> None:
    with FakeOpenAI([REFUSAL, REFUSAL]) as server:
        serve(server, limits={"concurrency": 1})
        made_dataset("films", entries(2))
        predict("--wait")
        assert [failure.kind for failure in PredictionRun.objects.get().failures.all()] == ["refused"]


def test_a_wrong_key_fails_the_run(serve: Serve) -> None:
    with FakeOpenAI([error(401, message=f"wrong key {KEY}")] * 2) as server:
        serve(server, limits={"concurrency": 1})
        made_dataset("films", entries(1))
        with pytest.raises(CommandError, match="401"):
            predict("--wait")


def test_no_key_is_stored_logged_or_exported(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with FakeOpenAI([error(400, message=f"the key {KEY} is odd")]) as server:
        serve(server, limits={"concurrency": 1})
        made_dataset("films", entries(2))
        output = predict("--wait")
        assert f"Bearer {KEY}" in server.keys
    run("score", "--out", str(tmp_path / "scores.json"))
    dumped = StringIO()
    call_command("dumpdata", stdout=dumped)
    assert "fake-1" in dumped.getvalue()
    assert "[key]" in dumped.getvalue()
    files = [file.read_bytes().decode("latin1") for file in tmp_path.iterdir()]
    texts = [output, dumped.getvalue(), caplog.text, *files]
    assert not any(KEY in text for text in texts)


def test_farm_loca_and_erasure(serve: Serve, openai: FakeOpenAI) -> None:
    serve(openai)
    made_dataset("films", entries(3))
    predict("--wait")
    run("score")
    values = PredictionRun.objects.get().score.values
    # Its answer is the first sentence, which it cites: without that, the next one is the first.
    assert values["farm_1"] == pytest.approx(1.0)
    assert values["loca"] == pytest.approx(1.0)
    assert values["comprehensiveness"] > 0.5
    assert values["sufficiency"] == pytest.approx(0.0)
    assert json.dumps(values)
    score = Score.objects.get()
    rows = [dict(zip(PARTS, row.parts, strict=True)) for row in score.questions.all()]
    for name in DIFFERENCES:
        assert sum(row[name] for row in rows) / 3 == pytest.approx(values[name]), name


def test_a_dataset_of_another_system_has_no_language_model(serve: Serve, openai: FakeOpenAI) -> None:
    serve(openai)
    made_dataset("films", entries(1))
    output = StringIO()
    call_command("predict", "--dataset", "films", "--system", "fake", "--dry-run", stdout=output)
    assert "asks no language model" in output.getvalue()
    assert Dataset.objects.get().runs.count() == 0

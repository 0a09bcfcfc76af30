"""Ray Data and Ray Serve give what the site and a bare model server give.

``make soak`` runs it (suite "ray"), because it installs Ray in an environment of its own.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command

from analysis.scores.hotpotqa import KEYS
from modelserver.__main__ import main as modelserver
from modelserver.wire.client import ModelClient
from modelserver.wire.schema import QAItem
from modelserver.world import generate
from scripts.sites.environments import add_ours, install_environment
from scripts.sites.processes import ROOT, Part, Supervisor, free_port, is_url_answering
from tests.studyapp.serving import eager, made_dataset
from tests.waiting import eventually

__all__ = ["eager"]

pytestmark = [pytest.mark.service, pytest.mark.soak]
REQUIREMENTS = ("ray[data,serve]==2.60.0",)
SYSTEM = "qi2019"
MARK = "TOUCHSTONE_RAY_TEST"


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    return list(generate("test", int(os.environ["SOAK_COUNT"]), int(os.environ["SOAK_SEED"])))


@pytest.fixture(scope="module")
def parquet(questions: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of questions, in the form of the Hugging Face hub."""
    folder = tmp_path_factory.mktemp("questions")
    rows = [
        {
            "id": row["_id"], "question": row["question"], "answer": row["answer"],
            "context": {
                "title": [title for title, _ in row["context"]],
                "sentences": [list(sentences) for _, sentences in row["context"]],
            },
            "supporting_facts": {
                "title": [title for title, _ in row["supporting_facts"]],
                "sent_id": [at for _, at in row["supporting_facts"]],
            },
        }
        for row in questions
    ]  # fmt: skip
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        pq.write_table(pa.Table.from_pylist(part), folder / f"{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment with Ray."""
    programs = install_environment(Path(tempfile.gettempdir()) / "touchstone-ray", *REQUIREMENTS)
    add_ours(programs)
    return programs / "python"


@pytest.fixture
def env() -> Iterator[dict[str, str]]:
    """Settings of a cluster of its own on this machine.

    None of its programs outlives the test.
    """
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        yield os.environ | {
            "RAY_ADDRESS": "local", "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",  # by default a busy machine leaves its workers no time
            MARK: mark,
        }  # fmt: skip
        left = set(processes_of(mark))
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        eventually(lambda: not list(processes_of(mark)))
    sys.stderr.write(f"processes of Ray that had to be killed: {len(left)}\n")


def processes_of(mark: str) -> Iterator[int]:
    """The processes that were started with a mark in their environment."""
    setting = f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has just ended
            if int(path.parent.name) != os.getpid() and setting in path.read_bytes().split(b"\0"):
                yield int(path.parent.name)


@contextmanager
def served(name: str, command: list[str], env: dict[str, str], log: Path) -> Iterator[str]:
    """Run a server until it is ready; give its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    part = Part(
        name=name, command=[*command, "--systems", SYSTEM, "--port", str(port)], log=log, env=env,
        ready=lambda: is_url_answering(f"{url}/ready"), seconds=600.0, grace=60.0,
    )  # fmt: skip
    with Supervisor() as parts:
        parts.start(part)
        parts.wait_ready()
        yield url


BARE = [sys.executable, "-m", "modelserver", "serve", "--processes", "1"]


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in pq.read_table(folder).to_pylist()}


def test_ray_data_predicts_and_scores_as_the_command_and_the_site(
    questions: list[dict[str, Any]],
    parquet: Path,
    python: Path,
    env: dict[str, str],
    eager: None,
    db: None,
    settings: Any,
    tmp_path: Path,
) -> None:
    by_ray, by_command = tmp_path / "ray", tmp_path / "command"
    script = [str(python), "deploy/ray/score_parquet.py", SYSTEM, str(parquet), str(by_ray), "--batch", "8"]
    done = subprocess.run(script, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    means = json.loads(done.stdout.splitlines()[-1])

    assert modelserver(["predict-parquet", SYSTEM, str(parquet), "--out", str(by_command)]) == 0
    theirs, ours = rows_of(by_ray), rows_of(by_command)
    assert theirs.keys() == ours.keys() == {row["_id"] for row in questions}
    for name, row in ours.items():
        same = ("answer", "type", "facts", "rationale", "error")
        assert {key: theirs[name][key] for key in same} == {key: row[key] for key in same}
        assert [fact["probability"] for fact in theirs[name]["fact_probabilities"]] == pytest.approx(
            [fact["probability"] for fact in row["fact_probabilities"]], abs=1e-5
        )

    with served("model server", BARE, dict(os.environ), tmp_path / "server.log") as url:
        settings.MODEL_SERVER_URL = url
        scores = scores_of_the_site(questions, tmp_path / "scores.json")
    assert means == pytest.approx({key: scores[key] for key in KEYS}, abs=1e-9)
    sys.stderr.write(
        f"{len(ours)} questions by Ray Data: em {means['em']:.3f}, joint_f1 {means['joint_f1']:.3f}\n"
    )


def scores_of_the_site(questions: list[dict[str, Any]], out: Path) -> dict[str, float]:
    """Have the site predict and score the questions."""
    made_dataset("world", questions)
    quiet = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    call_command("predict", "--dataset", "world", "--system", SYSTEM, "--wait", **quiet)
    call_command("score", "--dataset", "world", "--out", str(out), **quiet)
    scores: dict[str, float] = json.loads(out.read_text("utf-8"))["systems"][SYSTEM]["scores"]
    return scores


def test_ray_serve_answers_as_a_bare_model_server(
    questions: list[dict[str, Any]], python: Path, env: dict[str, str], tmp_path: Path
) -> None:
    token = {"MODELSERVER_TOKEN": "of-a-test"}
    command = [str(python), "deploy/ray/model_server.py", "--replicas", "2"]
    with (
        served("model server", BARE, os.environ | token, tmp_path / "server.log") as bare,
        served("Ray Serve", command, env | token, tmp_path / "ray.log") as by_ray,
    ):
        requests = list(build_requests(questions))
        for method, path, body in requests:
            ours, theirs = (answer(url, method, path, body) for url in (bare, by_ray))
            assert theirs == ours, (method, path)
        no_token = [httpx.get(f"{url}/v1/systems", trust_env=False).status_code for url in (bare, by_ray)]
        assert no_token == [401, 401]
        with ModelClient(by_ray, token=token["MODELSERVER_TOKEN"]) as client:
            items = [item_of(row) for row in questions]
            assert [prediction.id for prediction in client.predict(SYSTEM, items).predictions] == [
                item.id for item in items
            ]
    sys.stderr.write(f"{len(requests)} requests: Ray Serve with 2 replicas answered as a bare model server\n")


def item_of(row: dict[str, Any]) -> QAItem:
    return QAItem(id=row["_id"], question=row["question"], context=row["context"])


def build_requests(questions: list[dict[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """Yield requests of all kinds that a reader's server takes or refuses."""
    items = [item_of(row).model_dump(mode="json") for row in questions]
    yield "GET", "/v1/systems", None
    yield "GET", "/health", None
    for at in range(0, len(items), 5):
        yield "POST", "/v1/predict", {"system": SYSTEM, "items": items[at : at + 5]}
    yield "POST", "/v1/explain", {"system": SYSTEM, "items": items[:1]}
    yield "POST", "/v1/load", {"system": SYSTEM}
    yield "POST", "/v1/predict", {"system": SYSTEM, "items": [items[0] | {"context": []}, items[1]]}
    yield "POST", "/v1/predict", {"system": "nobody", "items": items[:1]}
    yield "POST", "/v1/execute", {"system": SYSTEM, "items": []}
    yield "POST", "/v1/predict", "no object"
    yield "GET", "/v1/nowhere", None


def answer(url: str, method: str, path: str, body: Any) -> tuple[int, Any]:
    headers = {"Authorization": "Bearer of-a-test", "X-Request-ID": "one"}
    response = httpx.request(method, url + path, json=body, headers=headers, trust_env=False, timeout=300)
    return response.status_code, response.json()

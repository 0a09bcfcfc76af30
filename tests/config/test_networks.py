"""The shipped networks execute the demo's items through server and site.

Their outputs are scored.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.actions.data import import_items
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from annotation.models import OutputRun, SystemOutput
from annotation.queries.node_outputs import describe_steps
from annotation.queries.outputs import score_faithfulness
from config.demo.annotation import NETWORKS, PROJECTS
from config.programs import build_executions, build_questions
from modelserver.__main__ import main
from modelserver.registry import WEIGHTS
from modelserver.serving.devices import Hardware
from modelserver.serving.fake_server import FakeModelServer, FakeSystem
from modelserver.serving.loading import list_sources
from modelserver.serving.system_spec import parse, select_local_specs
from tests.annotation.factories import make_project
from tests.studyapp.serving import eager

__all__ = ["eager"]

pytestmark = pytest.mark.django_db

ITEMS = 6


@pytest.fixture(params=sorted(NETWORKS))
def slug(request) -> str:
    if not (WEIGHTS / NETWORKS[request.param]).is_dir():
        pytest.skip(f"{NETWORKS[request.param]} has no shipped weights.")
    return request.param


@pytest.fixture
def server(slug, settings) -> Iterator[FakeModelServer]:
    """The server, with the real network."""
    sources = list_sources(
        select_local_specs(parse(f"{NETWORKS[slug]}={WEIGHTS / NETWORKS[slug]}")), Hardware()
    )
    with FakeModelServer(FakeSystem(), sources=sources, preload=False) as running:
        settings.MODEL_SERVER_URL = running.url
        yield running


def generated(slug: str, folder: Path) -> Path:
    """Items as the demo makes them."""
    sizes = ["--train", "0", "--dev", "0", "--test", str(ITEMS)]
    assert main([slug, "--out", str(folder), "--world-seed", "20", *sizes]) == 0
    return folder / "test.jsonl"


def test_it_works(slug, server, eager, tmp_path, settings) -> None:
    settings.VAR_DIR = tmp_path / "var"
    project = make_project(slug=slug, kind=PROJECTS[slug].kind)
    path = generated(slug, tmp_path / "items")
    import_items(records=read_jsonl(Source(path)), project=project, image_folder=path.parent)
    call_command("execute_programs", slug, "--system", NETWORKS[slug], "--wait")
    run = OutputRun.objects.get()
    assert [(failure.item.external_id, failure.message) for failure in run.failures.all()] == []
    outputs = SystemOutput.objects.select_related("item")
    assert outputs.count() == ITEMS
    scores = score_faithfulness(project, run.system, run.revision)
    assert scores.items == ITEMS
    assert all(describe_steps(output, output.item, project) for output in outputs)
    ids = [question.external_id for question in build_questions(project)[0]]
    executions = build_executions(project, run.system, run.revision, ids)
    assert len(executions) == ITEMS
    assert all(execution.steps and execution.answer for execution in executions)

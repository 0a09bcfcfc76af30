"""Fixtures around a fake model server.

Tasks run at once in this process.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from pytest_django.fixtures import Settings

from modelserver.serving.fake_server import FakeModelServer
from predictions.actions.data import import_questions
from predictions.formats.records import QuestionRecord
from predictions.models import Dataset
from tests import workspaces
from tests.studyapp.questions import entry


@pytest.fixture
def model_server(settings: Settings) -> Iterator[FakeModelServer]:
    """A fake model server that the site asks; it serves the system "fake"."""
    with FakeModelServer() as server:
        settings.MODEL_SERVER_URL = server.url
        yield server


@pytest.fixture
def no_model_server(settings: Settings) -> None:
    """A site whose model server is not there."""
    settings.MODEL_SERVER_URL = "http://127.0.0.1:9"


@pytest.fixture
def eager() -> Iterator[None]:
    """Tasks run where they are enqueued. The real queue is in tests/fault."""
    current_app.conf.update(task_always_eager=True, task_eager_propagates=True)
    yield
    current_app.conf.update(task_always_eager=False, task_eager_propagates=False)


def made_dataset(name: str, rows: list[dict[str, Any]]) -> Dataset:
    """A dataset of entries in the HotpotQA form."""
    records = [
        QuestionRecord(
            external_id=row["_id"], text=row["question"], answer=row["answer"],
            kind=row["type"], level=row["level"], context=row["context"],
            supporting_facts=row["supporting_facts"],
        )
        for row in rows
    ]  # fmt: skip
    import_questions(workspace=workspaces.main(), records=records, name=name, source_format="hotpot")
    return Dataset.objects.get(name=name)


def failing(number: int, mark: str) -> dict[str, Any]:
    """Return an entry that the fake system cannot answer.

    ``mark`` is one of modelserver.serving.fake_server's.
    """
    return entry(number, question=f"Who directed the film Night Ferry {number}? {mark}")

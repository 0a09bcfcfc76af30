"""Uploads with an ``Idempotency-Key``: stored block by block, and once."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import AnsweredRequest, Role, User
from accounts.rest import bodies
from jobs.actions import jobs
from jobs.models import Job
from tests import workspaces

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/imports/?kind=dataset&workspace=main&name=new&format=hotpot&file_name=dev.json"
CONTENT = json.dumps([{"number": number} for number in range(200)]).encode()


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.JOB_FOLDER = tmp_path / "jobs"
    return tmp_path / "jobs"


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(workspaces.give(User.objects.create_user("ada"), Role.RESEARCHER))
    return client


def upload(client: Client, key: str | None, content: bytes = CONTENT) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(ADDRESS, content, content_type="application/octet-stream", headers=headers)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_it_works(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BLOCK", 64)  # of a body of many blocks
    first, again = upload(client, "k"), upload(client, "k")
    assert first.status_code == 202, first.content
    assert (again.json()["id"], again["Idempotency-Replayed"]) == (first.json()["id"], "true")
    job = Job.objects.get()
    assert jobs.upload_of(job).read_bytes() == CONTENT
    assert files(folder) == [jobs.upload_of(job)]
    assert jobs.upload_of(job).name == "dev.json"


def test_another_file_with_the_same_key_is_refused(client: Client, folder: Path) -> None:
    upload(client, "k")
    response = upload(client, "k", CONTENT + b" ")
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "Idempotency-Key"
    assert len(files(folder)) == Job.objects.count() == 1


def test_without_a_key_each_upload_is_a_job(client: Client, folder: Path) -> None:
    assert upload(client, None).json()["id"] != upload(client, None).json()["id"]
    assert len(files(folder)) == 2
    assert not AnsweredRequest.objects.exists()


def test_a_key_that_is_too_long_is_refused_before_the_upload(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "allocate_file", None)
    assert upload(client, "k" * 201).status_code == 422
    assert files(folder) == []


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_the_file_arrives(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    read = bodies.read_blocks

    def watched(request: Any) -> Any:
        for block in read(request):
            inside.append(connection.in_atomic_block)
            yield block

    monkeypatch.setattr("jobs.rest.uploads.read_blocks", watched)
    assert upload(client, "k").status_code == 202
    assert inside == [False]

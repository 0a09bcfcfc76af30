"""Datasets of the hub by name, from a stand-in for the hub."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import Role as WorkspaceRole
from annotation.models import Role
from foundation.errors import Conflict, NotFound
from foundation.imports import hub_datasets
from foundation.imports.dataset_rows import read_rows
from foundation.imports.hub_datasets import HubDataset, fetch_dataset
from jobs.actions.jobs import run_job
from jobs.models import Job
from predictions.models import Dataset
from tests import workspaces
from tests.annotation.factories import make_member, make_user
from tests.annotation.queries.test_suggestions import labelled

HUB = "https://hub.test"
FILES: dict[str, Any] = {"plain": {"test": ["a", "b"], "train": ["c"], "partial-big": ["d"]}}
PAIR = {"premise": "Two women hug.", "hypothesis": "The sisters hug.", "label": "neutral"}


def parquet(*rows: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([*rows]), sink)
    return bytes(sink.getvalue())


def hub(files: object = FILES, addresses: list[str] | None = None) -> httpx.MockTransport:
    """Return a hub with ada/pairs that redirects to its store as the real one."""

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if addresses is not None:
            addresses.append(str(request.url))
        if request.url.host == "store.test":
            number = int(path.split("/")[-1])
            return httpx.Response(
                200, content=parquet({"id": f"p{number}", "text": f"Text {number}.", **PAIR})
            )
        if path == "/api/datasets/ada/pairs/parquet":
            return httpx.Response(200, content=json.dumps(files))
        if path.startswith("/api/datasets/ada/pairs/parquet/plain/test/"):
            name = path.split("/")[-1].removesuffix(".parquet")
            return httpx.Response(302, headers={"Location": f"https://store.test/{name}"})
        return httpx.Response(404)

    return httpx.MockTransport(answer)


@pytest.fixture(autouse=True)
def _allowed(settings: Any, tmp_path: Path) -> None:
    settings.HUB_URL = HUB
    settings.JOB_FOLDER = tmp_path / "jobs"


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the site find the stand-in."""
    real: Callable[..., httpx.Client] = httpx.Client
    monkeypatch.setattr(
        hub_datasets.httpx, "Client", lambda **options: real(**{**options, "transport": hub()})
    )


def test_it_works(tmp_path: Path) -> None:
    addresses: list[str] = []
    dataset = HubDataset(name="ada/pairs", split="test")
    folder = fetch_dataset(dataset, tmp_path / "hub", transport=hub(addresses=addresses))
    assert [row.value["id"] for row in read_rows(folder)] == ["p0", "p1"]
    assert addresses[0] == f"{HUB}/api/datasets/ada/pairs/parquet"
    assert "https://store.test/1" in addresses


def test_what_is_not_there_is_one_sentence(tmp_path: Path, settings: Any) -> None:
    def fetch(transport: httpx.BaseTransport, **fields: str) -> None:
        fetch_dataset(HubDataset(**{"name": "ada/pairs", **fields}), tmp_path / "hub", transport=transport)

    def down(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    with pytest.raises(Conflict, match="choose a split of the dataset: there are partial-big, test, train"):
        fetch(hub())
    with pytest.raises(Conflict, match="choose a subset of the dataset: there are plain"):
        fetch(hub(), subset="other")
    with pytest.raises(Conflict, match="only a part of ada/pairs"):
        fetch(hub(), split="partial-big")
    for transport, name in (
        (hub(), "ada/none"),
        (hub(["no", "files"]), "ada/pairs"),
        (httpx.MockTransport(down), "ada/pairs"),
    ):
        with pytest.raises(NotFound, match=f"the hub gives no dataset {name}"):
            fetch(transport, name=name)
    settings.HUB_URL = ""
    with pytest.raises(Conflict, match="HUB_URL"):
        fetch(hub())


@pytest.mark.parametrize("name", ["", "a/b/c", "../etc", "ada/pairs?x", "http://hub.test/a", "ada /pairs"])
def test_names_lead_nowhere_else(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        HubDataset(name=name)


@pytest.mark.django_db
def test_the_command_imports_by_name(reachable: None) -> None:
    workspaces.main()
    call_command("import_dataset", "esnli", "ada/pairs", hub=True, split="test", name="pairs", verbosity=0)
    assert sorted(Dataset.objects.get().questions.values_list("external_id", flat=True)) == ["p0", "p1"]
    with pytest.raises(CommandError, match="choose a split"):
        call_command("import_dataset", "esnli", "ada/pairs", hub=True, name="pairs")
    with pytest.raises(CommandError, match="such as owner/name"):
        call_command("import_dataset", "esnli", "../pairs", hub=True, name="pairs")


@pytest.mark.django_db
def test_questions_are_imported_by_name_on_the_page(reachable: None) -> None:
    user = make_user()
    workspaces.give(user, WorkspaceRole.RESEARCHER)
    client = Client()
    client.force_login(user)
    body = {"format": "esnli", "name": "pairs", "workspace": workspaces.main().pk}
    both = client.post("/data/new/", body)
    assert "Choose a file, or name a dataset" in both.content.decode()
    assert "such as owner/name." in client.post("/data/new/", {**body, "hub_name": "a b"}).content.decode()
    response = client.post("/data/new/", {**body, "hub_name": "ada/pairs", "hub_split": "test"})
    assert response.status_code == 302, response.content.decode()
    for _ in ("preview", "import"):
        job = Job.objects.latest("pk")
        run_job(job_id=job.pk)
        job.refresh_from_db()
        assert job.result is not None, job.error
        assert job.result["added"] == 2
        client.post(f"/data/imports/{job.pk}/apply/")
    assert Dataset.objects.get().questions.count() == 2


@pytest.mark.django_db
def test_texts_are_imported_by_name_into_a_project_of_labels(reachable: None, settings: Any) -> None:
    manager = make_member(labelled(), Role.MANAGER)
    client = Client()
    client.force_login(manager.user)
    address = f"/annotate/{manager.project.slug}/items/upload/"
    body = {"format": "plain", "purpose": "ordinary", "hub_name": "ada/pairs", "hub_split": "test"}
    assert client.post(address, body).status_code == 302
    job = Job.objects.latest("pk")
    run_job(job_id=job.pk)
    client.post(f"/annotate/{manager.project.slug}/imports/{job.pk}/apply/")
    run_job(job_id=Job.objects.latest("pk").pk)
    assert sorted(manager.project.items.values_list("passage", flat=True)) == ["Text 0.", "Text 1."]
    settings.HUB_URL = ""
    assert "hub_name" not in client.get(address).content.decode()
    assert client.post(address, body).status_code == 422

"""Tests of uploads of model outputs: preview, refusals and deletion.

Refusals name line and field. There is one import, however often a worker begins.
"""

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.actions.outputs import note_shown
from annotation.models import Annotation, AuditEvent, OutputRun, Project, Role, SystemOutput
from jobs.actions.jobs import run_job
from jobs.models import Job
from tests.annotation.factories import make_annotation, make_items, make_member, make_project
from tests.annotation.pairs import lines
from tests.annotation.rest.test_annotations import client_of
from tests.studyapp.serving import no_model_server

__all__ = ["no_model_server"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model_server")]

FIND = [{"module": "find", "value": 1}]
OUTPUTS = [{"id": "i1", "answer": True, "modules": FIND}, {"id": "i2", "modules": FIND}]


@pytest.fixture
def project(settings: Any, tmp_path: Path) -> Project:
    settings.JOB_FOLDER = tmp_path / "jobs"
    project = make_project()
    make_items(project, 2)
    return project


@pytest.fixture
def client(project: Project) -> Client:
    return client_of(make_member(project, Role.MANAGER).user)


def upload(client: Client, project: Project, content: bytes, name: str = "out.jsonl") -> str:
    """Upload a file, let a worker read it, and return its preview's address."""
    body = {"file": SimpleUploadedFile(name, content), "system": "org/net", "revision": "1"}
    response = client.post(f"/annotate/{project.slug}/outputs/upload/", body)
    assert response.status_code == 302, response.content.decode()
    run_last()
    return response["Location"]


def run_last() -> Job:
    job = Job.objects.latest("pk")
    run_job(job_id=job.pk)
    job.refresh_from_db()
    return job


def page(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def delete(client: Client, project: Project) -> str:
    form = {"system": "org/net", "revision": "1"}
    return client.post(f"/annotate/{project.slug}/outputs/delete/", form, follow=True).content.decode()


def test_outputs_are_previewed_imported_once_and_deleted(client: Client, project: Project) -> None:
    outputs = f"/annotate/{project.slug}/outputs/"
    assert f'href="{outputs}upload/"' in page(client, outputs)
    preview = upload(client, project, lines(OUTPUTS))
    assert "Import 2 outputs" in page(client, preview)
    assert "New outputs" in page(client, f"/jobs/{Job.objects.get().pk}/")
    assert not SystemOutput.objects.exists()
    imported = client.post(f"{preview}apply/")["Location"]
    client.post(f"{preview}apply/")  # a second click makes no second job
    assert Job.objects.count() == 2
    assert run_last().result["added"] == 2
    assert "The import is done" in page(client, imported)
    again = upload(client, project, gzip.compress(lines(OUTPUTS)), "out.jsonl.gz")
    assert "The file holds nothing new" in page(client, again)
    assert "Delete the 2 outputs of this system?" in page(client, outputs)
    assert "Deleted 2 outputs." in delete(client, project)
    assert not SystemOutput.objects.exists()
    assert AuditEvent.objects.latest("pk").kind == "outputs_deleted"


def test_every_mistake_is_named_and_nothing_is_stored(client: Client, project: Project) -> None:
    wrong = [OUTPUTS[0], {"id": "i2", "modules": FIND, "score": 7}, {"id": "i9", "modules": FIND}]
    shown = page(client, upload(client, project, lines(wrong)))
    assert all(cell in shown for cell in ("The file has 2 mistakes", ">out.jsonl<", ">2<", ">3<", ">score<"))
    assert "has no item of this id" in shown
    assert "apply/" not in shown
    assert not SystemOutput.objects.exists()


def test_the_form_says_what_is_missing(client: Client, project: Project) -> None:
    response = client.post(f"/annotate/{project.slug}/outputs/upload/", {"system": " ", "revision": "1"})
    assert response.status_code == 422
    assert response.content.decode().count("This field is required") >= 2
    assert not Job.objects.exists()


def test_outputs_that_somebody_saw_or_a_run_made_stay(client: Client, project: Project) -> None:
    client.post(f"{upload(client, project, lines(OUTPUTS))}apply/")
    run_last()
    annotation = make_annotation(make_member(project))
    note_shown(annotation=annotation, outputs=["org/net@1"], by=annotation.annotator)
    assert "Delete outputs" not in page(client, f"/annotate/{project.slug}/outputs/")
    assert "annotators have seen some" in delete(client, project)
    Annotation.objects.update(predictions_shown=[])
    run = OutputRun.objects.create(
        project=project, system="org/net", revision="1", progressed_at=annotation.started_at
    )
    assert "annotators have seen some" in delete(client, project)
    assert SystemOutput.objects.count() == 2
    run.delete()
    assert "Deleted 2 outputs." in delete(client, project)


def test_previews_belong_to_the_person_and_the_project(client: Client, project: Project) -> None:
    preview = upload(client, project, lines(OUTPUTS))
    other = client_of(make_member(project, Role.MANAGER).user)
    assert other.get(preview).status_code == 404
    assert client.get(preview.replace("output-imports", "imports")).status_code == 404
    adjudicator = client_of(make_member(project, Role.ADJUDICATOR).user)
    assert adjudicator.get(f"/annotate/{project.slug}/outputs/upload/").status_code == 403
    assert "Upload outputs" not in page(adjudicator, f"/annotate/{project.slug}/outputs/")

"""Exports of a project: a file or zip file, noted in the audit log."""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from accounts.models import AuditEntry
from annotation.actions.data import import_items
from annotation.actions.review import set_gold
from annotation.content.labels import read_label_task
from annotation.content.schemas import AnnotationRecord, Document
from annotation.formats.labelled.losses import PEOPLE, UNLABELLED_ITEMS
from annotation.models import Gold, Project
from jobs.actions.jobs import create_job, get_job_folder, run_job
from jobs.models import Job
from tests.annotation.factories import (
    finished,
    make_annotation,
    make_member,
    make_project,
    make_record,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"


def export(project: Project, **options: Any) -> Job:
    job = create_job(
        kind="export_annotations",
        workspace=project.workspace,
        by=make_user(),
        options={"project": project.pk, **options},
    )
    run_job(job_id=job.pk)
    job.refresh_from_db()
    return job


@pytest.mark.parametrize("name", ["jsonl", "parquet", "w3c"])
def test_a_project_becomes_a_file(name: str) -> None:
    project = make_project()
    finished(make_annotation(member=make_member(project)))
    job = export(project, format=name)
    assert (job.status, job.result) == (Job.Status.DONE, {"items": 1, "gold": 0, "losses": []}), job.error
    assert (get_job_folder() / job.file).stat().st_size
    assert job.file_name.startswith(f"{project.slug}-{name}.")
    assert AuditEntry.objects.get(kind="export_downloaded").subject == project.slug


def test_a_format_of_several_files_becomes_a_zip_file() -> None:
    project = make_project(kind="spans")
    annotation = make_annotation(member=make_member(project))
    set_gold(item=annotation.item, document=Document(), method=Gold.Method.IMPORTED, by=annotation.annotator)
    job = export(project, format="brat")
    assert job.file_name == f"{project.slug}-brat.zip", job.error
    assert {Path(name).suffix for name in ZipFile(get_job_folder() / job.file).namelist()} >= {".txt", ".ann"}


def test_gold_only_leaves_out_the_rest() -> None:
    project = make_project()
    make_annotation(member=make_member(project))
    assert export(project, format="jsonl", gold_only=True).result["items"] == 0


def test_a_format_that_cannot_hold_the_items_says_so() -> None:
    project = make_project()
    make_annotation(member=make_member(project))
    job = export(project, format="drop")
    assert (job.status, bool(job.error), job.file) == (Job.Status.FAILED, True, "")


def test_what_a_format_cannot_hold_is_counted() -> None:
    task = read_label_task("layers: [{type: spans, name: Entities, labels: [PER]}]")
    project = make_project(kind="spans", labels=task)
    person = AnnotationRecord(annotator="ann", document=Document())
    record = make_record("one", kind="spans", program=task.text, answer=None, annotations=(person,))
    import_items(records=[record], project=project)
    job = export(project, format="conll")
    assert job.file_name == f"{project.slug}-conll.conll", job.error
    assert sorted(loss["kind"] for loss in job.result["losses"]) == [PEOPLE, UNLABELLED_ITEMS]
    assert export(project, format="labelstudio").result["losses"] == []

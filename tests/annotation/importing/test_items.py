"""Tests of uploads of items: preview, refusals, images and undo.

There is one import, however often a worker begins.
"""

import html
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from annotation.actions.assignments import assign_next_annotation
from annotation.actions.data import import_items, import_project
from annotation.actions.imports import correct_item, delete_item, undo_import
from annotation.actions.projects import set_member
from annotation.content.labels import read_label_task
from annotation.content.schemas import Document
from annotation.errors import Conflict
from annotation.formats import registry
from annotation.formats.jsonl import read_jsonl
from annotation.formats.source import Source
from annotation.formats.uploads import UNREAD_FILE
from annotation.models import Annotation, AuditEvent, Gold, ImageFile, Item, ItemImport, Project, Role
from annotation.queries.export import read_item_records
from foundation import errors
from foundation.images import image_storage
from foundation.imports.findings import Refusal
from jobs.actions.jobs import cancel_job, create_job, run_job, upload_of
from jobs.actions.previews import apply_preview
from jobs.job_progress import note_progress
from jobs.models import Job
from tests.annotation.factories import make_member, make_project, make_record, make_user, span
from tests.annotation.pairs import example, lines, pairs, picture, pictures, zipped

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def _folders(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.JOB_FOLDER = tmp_path / "jobs"
    monkeypatch.setattr(image_storage, "get_image_folder", lambda: tmp_path / "images")


@pytest.fixture
def project() -> Project:
    return make_project()


@pytest.fixture
def user() -> User:
    return make_user()


def upload(project: Project, user: User, content: bytes, name: str = "pairs.zip", **options: Any) -> Job:
    job = create_job(
        kind="import_items",
        workspace=project.workspace,
        by=user,
        subject=project.slug,
        options={"project": project.pk, "format": "nlvr2", **options},
        upload=[content],
        upload_name=name,
    )
    return run(job)


def run(job: Job) -> Job:
    run_job(job_id=job.pk)
    job.refresh_from_db()
    return job


def listed(job: Job) -> list[str]:
    return [str(Refusal(**refusal)) for refusal in job.result["refused"]]


def test_a_zip_of_pairs_is_previewed_and_applied_once(project: Project, user: User) -> None:
    preview = upload(project, user, zipped(pairs(3)), dry_run=True)
    assert preview.status == Job.Status.DONE, preview.error
    assert (preview.result["added"], preview.result["images"], preview.result["refused"]) == (3, 6, [])
    assert preview.result["first"][0]["images"] == ["pictures/dev-0-0-img0.png", "pictures/dev-0-0-img1.png"]
    assert not Item.objects.exists()
    applied, _is_new = apply_preview(preview=preview, by=user)
    job = run(applied)
    assert (job.status, job.result["added"]) == (Job.Status.DONE, 3)
    assert ImageFile.objects.exclude(path="").count() == 6
    assert apply_preview(preview=preview, by=user) == (job, False)


def test_an_upload_that_was_deleted_is_asked_for_again(project: Project, user: User) -> None:
    job = upload(project, user, zipped(pairs(2)))
    upload_of(job).unlink()
    Job.objects.filter(pk=job.pk).update(status=Job.Status.PENDING, finished_at=None, result=None)
    job = run(job)
    assert (job.status, "Upload it again" in job.error) == (Job.Status.FAILED, True)


def test_a_worker_that_ended_after_storing_doubles_nothing(project: Project, user: User) -> None:
    job = upload(project, user, zipped(pairs(2)))
    Job.objects.filter(pk=job.pk).update(status=Job.Status.PENDING, finished_at=None, result=None)
    job = run(job)
    assert (job.result["added"], Item.objects.count(), ItemImport.objects.count()) == (2, 2, 1)


def test_a_preview_lists_every_refusal_with_file_line_and_field(project: Project, user: User) -> None:
    broken = [{**example(0), "sentence": 5}, example(1), {"sentence": "x"}]
    preview = upload(project, user, lines(broken), "dev.jsonl", dry_run=True)
    assert listed(preview) == [
        "dev.jsonl:1: sentence: must be text; found 5",
        "dev.jsonl:3: identifier: is missing; add it",
    ]
    assert preview.result["repairs"][0]["kind"] == "item without a program, left out"
    with pytest.raises(errors.Conflict, match="Correct it and upload it again"):
        apply_preview(preview=preview, by=user)
    job = upload(project, user, lines(broken), "dev.jsonl")
    assert (job.status, job.error) == (Job.Status.FAILED, "\n".join(listed(preview)))
    assert job.result["refused"] == preview.result["refused"]
    assert not Item.objects.exists()


def test_a_preview_lists_the_first_hundred_refusals_and_counts_the_others(
    project: Project, user: User
) -> None:
    job = upload(project, user, lines([{}] * 70), "dev.jsonl")
    assert (len(job.result["refused"]), job.result["refused_count"]) == (100, 140)
    assert job.error.endswith("\nand 40 more")


def test_a_picture_that_is_missing_or_broken_is_named_without_our_folders(
    project: Project, user: User
) -> None:
    files = pairs(2)
    del files["pictures/dev-0-0-img1.png"]
    files["pictures/dev-1-0-img0.png"] = b"no picture"
    assert listed(upload(project, user, zipped(files), dry_run=True)) == [
        "items.jsonl:1: dev-0-0-0: the image 'dev-0-0-img1.png' is not among the files; add it, or correct "
        "its name",
        "pictures/dev-1-0-img0.png: is not an image in a format that browsers show (JPEG, PNG, WEBP, GIF, "
        "BMP)",
    ]


def test_items_of_another_kind_are_refused(user: User) -> None:
    project = make_project(kind="spans")
    assert listed(upload(project, user, zipped(pairs(1)), dry_run=True)) == [
        "items.jsonl:1: dev-0-0-0: kind: the project marks spans, not boxes"
    ]


def test_a_name_of_600_characters_is_one_sentence(project: Project, user: User) -> None:
    record = make_record().model_dump(mode="json") | {"images": [{"name": "x" * 600}, {"name": "right.png"}]}
    job = upload(project, user, lines([record]), "items.jsonl", format="jsonl")
    assert job.error.startswith("items.jsonl:1: images[0].name: must have at most 500 characters;")
    named = {**example(0), "left_url": "x" * 600}
    job = upload(project, user, lines([named]), "dev.jsonl")
    assert job.error.startswith("dev.jsonl:1: dev-0-0-0: name: must have at most 500 characters;")
    job = upload(project, user, zipped({"dev.jsonl": lines([named]), "left.png": picture()}))
    assert job.error.startswith("dev.jsonl:1: dev-0-0-0: the name of an image has 600 characters")


def test_images_come_later(project: Project, user: User) -> None:
    files = pairs(2)
    upload(project, user, zipped({name: files[name] for name in ("items.jsonl", "programs.tsv")}))
    assert ImageFile.objects.filter(path="").count() == 4
    job = upload(project, user, zipped(pictures(1)), format="images")
    assert (job.status, job.result["images"]) == (Job.Status.DONE, 2)
    assert ImageFile.objects.filter(path="").count() == 2
    job = upload(project, user, zipped({"a.txt": b""}), format="images")
    assert job.error == "pairs.zip: holds no images; add them"


def test_a_zip_needs_one_file_of_items(project: Project, user: User) -> None:
    job = upload(project, user, zipped(pictures(1)))
    assert job.error == "pairs.zip: holds no file of items, which ends in .json or .jsonl"
    job = upload(project, user, zipped({"a.json": b"", "b.jsonl": b""}))
    assert "holds 2 files that end in .json or .jsonl, not one: a.json, b.jsonl" in job.error


def make_image_project() -> Project:
    task = read_label_task("layers: [{type: polygons, name: shape, labels: [field, lake]}]")
    return make_project(slug="shapes", labels=task)


def test_images_without_a_list_are_an_item_each(user: User) -> None:
    project = make_image_project()
    job = upload(project, user, zipped({"b/2.png": picture(), "1.png": picture()}), format="plain")
    assert (job.error, list(project.items.values_list("external_id", flat=True))) == (
        "",
        ["1.png", "b/2.png"],
    )
    upload(project, user, picture(), "3.png", format="plain")
    assert project.items.get(external_id="3.png").images == ["3.png"]
    assert not ImageFile.objects.filter(path="").exists()


def test_a_file_that_is_not_text_is_one_sentence(user: User) -> None:
    project = make_image_project()
    preview = upload(project, user, picture(), "items.jsonl", format="plain", dry_run=True)
    reason = "not UTF-8 text: byte 0x89 at position 0; save the file as UTF-8"
    assert listed(preview) == [f"items.jsonl:1: {reason}"]


def german(job: Job) -> str:
    """Return the German page of a job.

    Its texts stay English in the database.
    """
    project = Project.objects.get(pk=job.options["project"])
    set_member(project=project, user=job.created_by, role=Role.MANAGER, by=None)
    client = Client(headers={"Accept-Language": "de"})
    client.force_login(job.created_by)
    return html.unescape(client.get(f"/jobs/{job.pk}/").content.decode())


def test_reasons_are_german_on_german_pages(project: Project, user: User) -> None:
    files = pairs(2)
    del files["pictures/dev-0-0-img1.png"]
    page = german(upload(project, user, zipped(files), dry_run=True))
    assert "das Bild 'dev-0-0-img1.png' ist nicht" in page
    page = german(upload(project, user, lines([{**example(0), "sentence": 5}]), "dev.jsonl"))
    assert "muss ein Text sein; gefunden: 5" in page
    job = upload(make_project(kind="spans"), user, zipped(pairs(1)))
    assert (job.status, "das Projekt markiert Abschnitte, nicht Kästen" in german(job)) == ("failed", True)
    page = german(upload(project, user, zipped({"../a.json": b"[]"}), dry_run=True))
    assert "liegt außerhalb des Ordners der Zip-Datei" in page


def test_a_cancelled_import_stores_nothing(
    project: Project, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(job_id: int, done: int, total: int | None) -> None:
        cancel_job(job=Job.objects.get(pk=job_id), by=user)
        note_progress(job_id, done, total)

    monkeypatch.setattr("jobs.actions.jobs.note_progress", cancel)
    job = upload(project, user, zipped(pairs(2)))
    assert job.status == Job.Status.CANCELLED
    assert not Item.objects.exists()
    assert not (upload_of(job).parent / "unpacked").exists()


def test_an_import_is_undone_with_what_came_with_it(project: Project, user: User) -> None:
    upload(project, user, zipped(pairs(2)))
    record = make_record("with-gold", gold={"layers": {}}).model_dump(mode="json")
    upload(project, user, lines([record]), "items.jsonl", format="jsonl")
    first, second = ItemImport.objects.all()
    assert undo_import(item_import=second, by=user) == 1
    assert not Gold.objects.exists()
    assert undo_import(item_import=first, by=user) == 2
    assert not ImageFile.objects.exists()
    with pytest.raises(Conflict, match="undone already"):
        undo_import(item_import=first, by=user)


def test_positions_of_an_undone_import_are_not_given_out_again(project: Project, user: User) -> None:
    upload(project, user, zipped(pairs(2)))
    undo_import(item_import=ItemImport.objects.get(), by=user)
    upload(project, user, zipped(pairs(2)))
    assert [item.position for item in project.items.all()] == [3, 4]


def test_an_import_somebody_has_worked_on_stays(project: Project, user: User) -> None:
    upload(project, user, zipped(pairs(2)))
    assign_next_annotation(member=make_member(project))
    with pytest.raises(Conflict, match="Somebody has worked"):
        undo_import(item_import=ItemImport.objects.get(), by=user)
    assert (Item.objects.count(), Annotation.objects.count()) == (2, 1)


def test_a_single_item_is_corrected_and_deleted_until_it_is_used(project: Project, user: User) -> None:
    upload(project, user, zipped(pairs(2)))
    first, second = project.items.all()
    correct_item(item=first, by=user, text="Dogs.", program="find[dogs]", answer=None)
    first.refresh_from_db()
    assert (first.text, first.program, first.answer) == ("Dogs.", "find[dogs]", None)
    delete_item(item=first, by=user)
    assert ImageFile.objects.count() == 2
    assign_next_annotation(member=make_member(project))
    with pytest.raises(Conflict, match="neither changed nor deleted"):
        delete_item(item=second, by=user)


def test_texts_become_items_of_the_label_configuration(user: User) -> None:
    task = read_label_task("layers: [{type: choice, name: Topic, labels: [sport, politics]}]")
    project = make_project(kind="spans", labels=task)
    content = b'{"id": "a", "text": "Ada won."}\n{"id": "b"}\n'
    preview = upload(project, user, content, "texts.jsonl", format="plain", dry_run=True)
    assert listed(preview) == [
        "texts.jsonl:2: text: is missing or empty; this project annotates texts",
    ]
    job = upload(project, user, b"id,text\na,Ada won.\n", "texts.csv", format="plain")
    assert job.status == Job.Status.DONE, job.error
    [item] = project.items.all()
    assert (item.passage, item.program) == ("Ada won.", task.text)
    other = make_record(kind="spans")
    with pytest.raises(Conflict, match="program: differs from the label configuration of the project"):
        import_items(records=[other], project=project)
    with pytest.raises(Conflict, match="is a plain task, but the project has no label configuration"):
        import_items(
            records=[other.model_copy(update={"program": task.text})], project=make_project(kind="spans")
        )


def test_a_plain_task_is_exported_and_imported_again(tmp_path: Path) -> None:
    task = read_label_task("layers: [{type: spans, name: Who, labels: [Person]}]")  # words: allow - data
    project = make_project(kind="spans", labels=task)
    mark = span("a", 0, 1, label="Person")
    gold = Document.model_validate({"layers": {1: {"state": "done", "objects": [mark]}}})
    import_items(records=[make_record("one", kind="spans", program=task.text, gold=gold)], project=project)
    registry.write("jsonl", read_item_records(project), tmp_path / "out.jsonl")
    [record] = read_jsonl(Source(tmp_path / "out.jsonl"))
    import_project(slug="again", workspace=project.workspace, records=[record])
    again = Project.objects.get(slug="again")
    assert again.labels["layers"][0]["labels"][0]["name"] == "Person"
    assert Gold.objects.get(item__project=again).document == Gold.objects.get(item__project=project).document
    with pytest.raises(Conflict, match="parquet cannot hold the labels of a plain task; use brat, coco"):
        registry.write("parquet", read_item_records(project), tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


COCO = {
    "images": [{"id": 1, "file_name": "a.png", "width": 40, "height": 30}],
    "categories": [{"id": 1, "name": "dog"}, {"id": 5, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 5, "bbox": [4, 3, 20, 15]}],
}


def test_the_labels_of_a_file_become_those_of_an_empty_project(project: Project, user: User) -> None:
    content = json.dumps(COCO).encode()
    options = {"format": "coco", "labels_from_file": True}
    preview = upload(project, user, content, "coco.json", dry_run=True, **options)
    assert (preview.status, preview.result["added"]) == (Job.Status.DONE, 1), preview.error
    project.refresh_from_db()
    assert project.labels == {}
    job = run(apply_preview(preview=preview, by=user)[0])
    assert job.status == Job.Status.DONE, job.error
    project.refresh_from_db()
    [layer] = project.labels["layers"]
    assert (layer["name"], [label["name"] for label in layer["labels"]]) == ("Objects", ["dog", "cat"])
    assert AuditEvent.objects.filter(project=project, kind="labels_replaced").count() == 1
    more = upload(project, user, content.replace(b"a.png", b"b.png"), "coco.json", format="coco")
    assert (more.status, Item.objects.count()) == (Job.Status.DONE, 2), more.error
    refused = upload(project, user, content, "coco.json", **options)
    assert "the project has items already, so its labels stay" in refused.error


def test_a_format_of_several_files_is_read_from_a_zip_file(user: User) -> None:
    task = read_label_task("layers: [{type: spans, name: Entities, labels: [PER]}]")
    project = make_project(kind="spans", labels=task)
    files = {"a/one.txt": b"Ada won.", "a/one.ann": b"T1\tPER 0 3\tAda\n", "a/notes.pdf": b""}
    preview = upload(project, user, zipped(files), "texts.zip", format="brat", dry_run=True)
    assert (preview.result["added"], preview.result["with_gold"]) == (1, 1), preview.result
    assert [repair["kind"] for repair in preview.result["repairs"]] == [UNREAD_FILE]
    files["a/one.ann"] = b"T1\tPER 0 3\tAda\nT2 PER\n"
    job = upload(project, user, zipped(files), "texts.zip", format="brat")
    assert job.error == (
        "texts.zip/a/one.ann:2: 'T2 PER' is not a type with the numbers of its first and last character"
    )
    job = upload(project, user, zipped({"a.png": picture()}), "texts.zip", format="brat")
    assert job.error == "texts.zip: holds no items"
    assert not Item.objects.exists()

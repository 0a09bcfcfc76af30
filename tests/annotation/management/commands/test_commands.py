"""The commands: one import for every format, exports, outputs, members."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import PIL.Image
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from accounts.models import Role
from annotation.actions.editing import save_operations
from annotation.content.schemas import AnnotationRecord, Document, Image, ItemRecord
from annotation.formats.jsonl import read_jsonl, write_jsonl
from annotation.formats.source import Source
from annotation.models import Gold, ImageFile, Item, Membership, Project, SystemOutput
from foundation.images import image_storage
from predictions.models import Dataset
from scripts.sites.processes import ROOT
from tests.analysis.data import real_data
from tests.annotation.factories import (
    box,
    finished,
    make_annotation,
    make_member,
    make_project,
    make_record,
    make_user,
    operation,
)
from tests.annotation.pairs import zipped
from tests.workspaces import give

pytestmark = [pytest.mark.django_db, pytest.mark.database]

DRAWN = Document.model_validate(
    {"layers": {"3": {"state": "done", "objects": [box("a"), box("b", image=1)]}, "2": {"state": "nothing"}}}
)


def run(*arguments: Any) -> str:
    output = StringIO()
    call_command(*(str(argument) for argument in arguments), stdout=output, stderr=output)
    return output.getvalue()


def records(number: int, **fields: Any) -> list[ItemRecord]:
    return [make_record(f"q{index}", **fields) for index in range(number)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    write_jsonl(records(3, gold=DRAWN), path)
    return path


def test_it_works(file: Path, tmp_path: Path) -> None:
    output = run("import_dataset", "jsonl", file, "--name", "dogs", "--annotators", 3)
    assert output.splitlines() == [
        "dogs: 3 items added, 0 were there already",
        "3 items with gold, 0 annotations, 2 images",
    ]
    project = Project.objects.get(slug="dogs")
    assert (project.kind, project.annotators_per_item) == ("boxes", 3)
    assert [item.annotators_wanted for item in project.items.all()] == [3, 3, 3]
    out = tmp_path / "out.jsonl"
    output = run("export_gold", "dogs", "--out", out, "--format", "jsonl")
    assert output == f"{out}: 3 items, 3 with gold\n"
    for before, after in zip(read_jsonl(Source(file)), read_jsonl(Source(out)), strict=True):
        assert after.model_copy(update={"extra": {}}) == before
        assert after.extra["touchstone"]["gold"]["version"] == 1


def test_the_same_again_changes_nothing(file: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs")
    output = run("import_dataset", "jsonl", file, "--name", "dogs")
    assert output.startswith("dogs: 0 items added, 3 were there already")
    assert Item.objects.count() == 3
    assert Gold.objects.count() == 3


def test_a_dry_run_makes_not_even_a_project(file: Path) -> None:
    assert "3 items would be added" in run("import_dataset", "jsonl", file, "--name", "dogs", "--dry-run")
    assert not Project.objects.exists()


def test_an_item_that_changed_is_refused(file: Path, tmp_path: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs")
    other = tmp_path / "other.jsonl"
    write_jsonl([make_record("new"), make_record("q1", text="There are three.")], other)
    with pytest.raises(CommandError, match="q1: text: differs"):
        run("import_dataset", "jsonl", other, "--name", "dogs")
    assert Item.objects.count() == 3


def test_a_mistake_makes_no_project(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_jsonl(records(2), path)
    path.write_text(path.read_text() + '{"external_id": "q9", "kind": "boxes", "text": 3}\n')
    with pytest.raises(CommandError, match=r"items.jsonl:3: program: is missing"):
        run("import_dataset", "jsonl", path, "--name", "dogs")
    assert not Project.objects.exists()


def test_questions_and_items_have_options_of_their_own(file: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--annotators is for items"):
        run("import_dataset", "hotpot", file, "--name", "films", "--annotators", 2)
    with pytest.raises(CommandError, match="--programs"):
        run("import_dataset", "faithful-nmn", file, "--name", "dogs")
    assert not Dataset.objects.exists()


def test_another_number_of_annotators_is_refused(file: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs")
    with pytest.raises(CommandError, match="has 1 annotators per item"):
        run("import_dataset", "jsonl", file, "--name", "dogs", "--annotators", 2)


def test_items_without_a_program_are_left_out_and_told(tmp_path: Path) -> None:
    path, programs = tmp_path / "dev.json", tmp_path / "programs.tsv"
    rows = [{"identifier": f"dev-{n}-0-0", "sentence": "There are dogs.", "label": "True"} for n in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    programs.write_text("dev-1-0-0\texist(find[dogs])\n")
    with pytest.raises(CommandError, match="no item that can be annotated"):
        run("import_dataset", "nlvr2", path, "--name", "pairs")
    output = run("import_dataset", "nlvr2", path, "--name", "pairs", "--programs", programs)
    assert "pairs: 1 items added" in output
    assert "2 × item without a program, left out (dev-0-0-0, dev-2-0-0)" in output


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    PIL.Image.new("RGB", (64, 48)).save(folder / "left.png")
    PIL.Image.new("RGB", (32, 48), "red").save(folder / "right.png")
    return folder


def test_images_are_copied_and_measured(file: Path, pictures: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs", "--images", pictures)
    left, right = ImageFile.objects.order_by("name")
    assert (left.width, left.height, right.width, right.height) == (64, 48, 32, 48)
    assert (image_storage.get_image_folder() / left.path).read_bytes() == (pictures / "left.png").read_bytes()


def test_images_that_come_later_are_filled_in(file: Path, pictures: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs")
    assert ImageFile.objects.filter(path="").count() == 2
    run("import_dataset", "jsonl", file, "--name", "dogs", "--images", pictures)
    assert not ImageFile.objects.filter(path="").exists()


def test_an_image_of_another_shape_is_refused(tmp_path: Path, pictures: Path) -> None:
    path = tmp_path / "items.jsonl"
    wrong = (Image(name="left.png", width=48, height=64), Image(name="right.png", width=320, height=480))
    write_jsonl(records(1, images=wrong), path)
    with pytest.raises(CommandError, match=r"left.png: is 64 × 48 pixels"):
        run("import_dataset", "jsonl", path, "--name", "dogs", "--images", pictures)
    (pictures / "left.png").unlink()
    with pytest.raises(CommandError, match=r"left.png"):
        run("import_dataset", "jsonl", path, "--name", "dogs", "--images", pictures)
    assert not ImageFile.objects.exists()


def test_annotations_of_earlier_people_come_with_their_times(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    drawn = [
        AnnotationRecord(annotator="ada", document=DRAWN, revision=7, started="2026-01-02T03:04:05Z",
                   submitted="2026-01-02T03:09:05Z", predictions_shown=("nmn@1",)),
        AnnotationRecord(annotator="bo", document=DRAWN, status="expired", started="2026-01-02T03:04:05Z"),
    ]  # fmt: skip
    write_jsonl(records(2, annotations=tuple(drawn)), path)
    output = run("import_dataset", "jsonl", path, "--name", "dogs")
    assert "4 annotations" in output
    item = Item.objects.get(external_id="q0")
    assert (item.annotators_wanted, item.assigned, item.submitted) == (1, 1, 1)  # who gave up holds no place
    assert not Membership.objects.filter(active=True).exists()
    out = tmp_path / "out.jsonl"
    run("export_gold", "dogs", "--out", out, "--format", "jsonl")
    assert next(read_jsonl(Source(out))).annotations == tuple(drawn)


def test_somebody_who_annotated_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_jsonl(records(1, annotations=(AnnotationRecord(annotator="ada", document=DRAWN),) * 2), path)
    with pytest.raises(CommandError, match="q0: annotations: somebody has annotated the item twice"):
        run("import_dataset", "jsonl", path, "--name", "dogs")


def test_texts_that_no_database_stores_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_jsonl([make_record("q1", text="a\0b")], path)
    with pytest.raises(CommandError, match="q1: holds the character NUL"):
        run("import_dataset", "jsonl", path, "--name", "dogs")
    write_jsonl([make_record("q1", extra={"note": {"deep": ["a\0"]}})], path)
    with pytest.raises(CommandError, match="q1: holds the character NUL"):
        run("import_dataset", "jsonl", path, "--name", "dogs")
    write_jsonl([make_record("q1", extra={"note": "the text \\u0000 is none"})], path)
    run("import_dataset", "jsonl", path, "--name", "dogs")
    assert Item.objects.get().extra == {"note": "the text \\u0000 is none"}


def test_work_under_way_is_in_the_export(tmp_path: Path) -> None:
    annotation = finished(make_annotation())
    begun = make_annotation(make_member(annotation.project))
    save_operations(annotation=begun.pk, operations=[operation(0, 3, put=[box("x")])], by=begun.annotator)
    out = tmp_path / "out.parquet"
    run("export_gold", annotation.project.slug, "--out", out, "--format", "parquet")
    rows = pq.read_table(out).to_pylist()
    assert {row["annotator"] for row in rows if row["annotator"]} == {
        annotation.annotator.username,
        begun.annotator.username,
    }
    (first,) = {row["revision"] for row in rows if row["annotator"] == annotation.annotator.username}
    assert first == 2


@pytest.mark.parametrize("name", ["jsonl", "parquet", "coco", "labelstudio", "w3c", "faithful-nmn"])
def test_every_format_of_boxes_is_written(name: str, file: Path, pictures: Path, tmp_path: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs", "--images", pictures)
    out = tmp_path / "out"
    assert "3 items, 3 with gold" in run("export_gold", "dogs", "--out", out, "--format", name)
    assert out.exists()


def test_spans_are_written_for_brat_and_boxes_are_not(file: Path, tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    write_jsonl([make_record("q1", kind="spans")], spans)
    run("import_dataset", "jsonl", spans, "--name", "goals")
    run("export_gold", "goals", "--out", tmp_path / "brat", "--format", "brat")
    run("import_dataset", "jsonl", file, "--name", "dogs")
    with pytest.raises(CommandError, match="spans in passages only"):
        run("export_gold", "dogs", "--out", tmp_path / "other", "--format", "brat")
    assert not (tmp_path / "other").exists()


def test_gold_only(file: Path, tmp_path: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs")
    more = tmp_path / "more.jsonl"
    write_jsonl([make_record("without")], more)
    run("import_dataset", "jsonl", more, "--name", "dogs")
    out = tmp_path / "out.jsonl"
    assert "3 items, 3 with" in run("export_gold", "dogs", "--out", out, "--format", "jsonl", "--gold-only")
    assert "4 items, 3 with" in run("export_gold", "dogs", "--out", out, "--format", "jsonl")
    with pytest.raises(CommandError, match="there are: dogs"):
        run("export_gold", "cats", "--out", out, "--format", "jsonl")


def test_outputs_of_a_system(file: Path, tmp_path: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs")
    path = tmp_path / "out.jsonl"
    module = {"index": 3, "module": "find", "probabilities": [0.5]}
    line = {"id": "q1", "proposals": [[[0, 0, 1, 1]], []], "modules": [module]}
    path.write_text(json.dumps(line) + "\n")
    output = run("import_outputs", "dogs", path, "--system", "nmn", "--revision", "r1")
    assert output == "dogs: outputs of nmn@r1 for 1 items added\n"
    path.write_text(json.dumps(line) + "\n" + json.dumps({**line, "id": "unknown"}) + "\n")
    with pytest.raises(CommandError, match="unknown: the project 'dogs' has no item"):
        run("import_outputs", "dogs", path, "--system", "nmn", "--revision", "r2")
    path.write_text(json.dumps({**line, "modules": [{**module, "probabilities": [1.5]}]}) + "\n")
    with pytest.raises(CommandError, match=r"out.jsonl:1: modules\[0\].probabilities\[0\]"):
        run("import_outputs", "dogs", path, "--system", "nmn", "--revision", "r2")
    assert SystemOutput.objects.count() == 1


def test_the_lines_in_the_documentation_come_in(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/annotate-import-export.md").read_text(encoding="utf-8")
    shown = page.partition("```json\n")[2].partition("```")[0].splitlines()
    for number, line in enumerate(shown):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(line)
        assert "1 items added" in run("import_dataset", "jsonl", path, "--name", f"shown{number}")
    assert {project.kind for project in Project.objects.all()} == {"boxes", "spans"}


def test_members() -> None:
    project, user = make_project(), make_user()
    assert (
        run("annotation_members", project.slug, user.username)
        == f"{project.slug}: {user.username} is annotator\n"
    )
    run("annotation_members", project.slug, user.username, "manager")
    assert run("annotation_members", project.slug) == f"{user.username}\tmanager\n"
    assert "no longer" in run("annotation_members", project.slug, user.username, "--end")
    with pytest.raises(CommandError, match="there is no user"):
        run("annotation_members", project.slug, "nobody")
    (listed,) = json.loads(run("annotation_members", project.slug, "--json"))
    assert listed == {
        "user": user.username, "role": "annotator", "active": False, "roles": [], "qualified": None,
    }  # fmt: skip
    with pytest.raises(CommandError, match="leave out the person"):
        run("annotation_members", project.slug, user.username, "--json")


def test_a_failed_qualification_is_lifted_by_command() -> None:
    member = make_member()
    Membership.objects.update(qualified=False)
    output = run("annotation_members", member.project.slug, member.user.username, "--qualify")
    assert output == f"{member.project.slug}: {member.user.username} is qualified\n"
    assert Membership.objects.get().qualified is True
    with pytest.raises(CommandError, match="has no role"):
        run("annotation_members", member.project.slug, make_user().username, "--qualify")


def test_the_released_boxes_come_in_and_go_out_byte_for_byte(tmp_path: Path) -> None:
    """The 536 usable examples of the paper, by way of the database."""
    csv = real_data("faithful_nmn/nlvr2_test_box_annotations.csv")
    output = run(
        "import_dataset", "faithful-nmn", csv, "--name", "release",
        "--programs", real_data("faithful_nmn/all_annotations_round4.tsv"),
        "--nlvr2", real_data("nlvr2/dev.json"),
    )  # fmt: skip
    assert output.startswith("release: 536 items added, 0 were there already\n536 items with gold")
    assert "276 × box past the edge" in run_report(output)
    out = tmp_path / "again"
    run("export_gold", "release", "--out", out, "--format", "faithful-nmn")
    assert (out / "boxes.csv").read_bytes() == csv.read_bytes()


def run_report(output: str) -> str:
    """Return the part of the output that lists what the import repaired."""
    return output.partition("repaired or left out:\n")[2]


def test_the_released_spans_come_in(tmp_path: Path) -> None:
    path = real_data("faithful_nmn/drop_module_output_annotations.json")
    assert "drop: 215 items added" in run("import_dataset", "drop", path, "--name", "drop")
    assert len({item.text_hash for item in Item.objects.all()}) == 149
    out = tmp_path / "drop.json"
    run("export_gold", "drop", "--out", out, "--format", "drop")
    assert json.loads(out.read_text()) == json.loads(path.read_text())


def test_members_are_changed_with_the_rights_of_a_user() -> None:
    project, user = make_project(), make_user()
    manager = give(make_user(), Role.MANAGER).username
    run("annotation_members", project.slug, user.username, "adjudicator", "--as", manager)
    assert Membership.objects.get().role == "adjudicator"
    adjudicator = user.username
    for name, message in (
        (adjudicator, "With the role Adjudicator you may not create or manage annotation projects"),
        (give(make_user(), Role.RESEARCHER).username, "With the role Researcher you may not"),
        (make_user(is_superuser=True).username, "You have no role here"),
    ):
        with pytest.raises(CommandError, match=message):
            run("annotation_members", project.slug, user.username, "manager", "--as", name)
    assert Membership.objects.get().role == "adjudicator"
    run("annotation_members", project.slug, manager, "manager", "--as", manager)
    with pytest.raises(CommandError, match="You cannot change your own role"):
        run("annotation_members", project.slug, manager, "--end", "--as", manager)
    assert Membership.objects.get(user__username=manager).active


def test_members_are_listed_with_the_roles_that_they_have() -> None:
    project = make_project()
    by_share, by_workspace, left = make_member(project), make_member(project), make_member(project)
    for member in (by_workspace, left):
        run("annotation_members", project.slug, member.user.username, "--end")
    give(by_workspace.user, Role.MANAGER)
    assert sorted(run("annotation_members", project.slug).splitlines()) == sorted(
        [
            f"{by_share.user.username}\tannotator",
            f"{by_workspace.user.username}\tmanager",
            f"{left.user.username}\tannotator (ended)",
        ]
    )


def test_gold_is_exported_with_the_rights_of_a_user(file: Path, tmp_path: Path) -> None:
    run("import_dataset", "jsonl", file, "--name", "dogs")
    out = tmp_path / "out.jsonl"
    export = ("export_gold", "dogs", "--out", out, "--format", "jsonl", "--as")
    for role in (Role.ANNOTATOR, Role.ADJUDICATOR, Role.ANALYST):
        with pytest.raises(CommandError, match="you may not create or manage annotation projects"):
            run(*export, give(make_user(), role).username)
    with pytest.raises(CommandError, match="You have no role here"):
        run(*export, make_user().username)
    assert not out.exists()
    assert "3 items, 3 with gold" in run(*export, give(make_user(), Role.OWNER).username)


def test_label_studio_comes_in_by_its_file_alone_and_goes_out_elsewhere(tmp_path: Path) -> None:
    value = {"start": 0, "end": 3, "text": "Ada", "labels": ["Person"]}
    mark = {"id": "a", "type": "labels", "from_name": "label", "to_name": "text", "value": value}
    annotation = {"completed_by": 1, "ground_truth": True, "result": [mark]}
    path, out = tmp_path / "tasks.json", tmp_path / "out.conll"
    path.write_text(json.dumps([{"id": 1, "data": {"text": "Ada won."}, "annotations": [annotation]}]))
    output = run("import_dataset", "labelstudio", path, "--name", "names")
    assert output.splitlines()[0] == "names: 1 items added, 0 were there already"
    assert Project.objects.get().labels["layers"][0]["labels"][0]["name"] == "Person"
    run("export_gold", "names", "--out", out, "--format", "conll")
    assert out.read_text() == "# id = 1\nAda\tB-Person\nwon\tO\n.\tO\n\n"
    path.write_text(path.read_text().replace("Person", "Film").replace('"id": 1', '"id": 2'))
    with pytest.raises(CommandError, match="'Film' is not a label of"):
        run("import_dataset", "labelstudio", path, "--name", "names")


def test_coco_becomes_labels_if_asked_and_a_zip_file_is_unpacked(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    PIL.Image.new("RGB", (40, 30)).save(picture)
    coco = {
        "images": [{"id": 1, "file_name": "a.png", "width": 40, "height": 30}],
        "categories": [{"id": 1, "name": "dog"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [4, 3, 20, 15]}],
    }
    path = tmp_path / "coco.zip"
    path.write_bytes(zipped({"coco.json": json.dumps(coco).encode(), "a.png": picture.read_bytes()}))
    run("import_dataset", "coco", path, "--name", "programs")
    run("import_dataset", "coco", path, "--name", "labels", "--plain")
    assert [project.labels == {} for project in Project.objects.order_by("slug")] == [False, True]
    run("export_gold", "labels", "--out", tmp_path / "yolo", "--format", "yolo")
    assert (tmp_path / "yolo" / "labels" / "a.txt").read_text().split()[0] == "0"
    output = run("import_dataset", "yolo", tmp_path / "yolo", "--name", "again", "--images", tmp_path)
    assert "1 items with gold, 0 annotations, 1 images" in output

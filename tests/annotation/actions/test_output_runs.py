"""Served systems answer the items of a project.

Their outputs are stored once, and failed or lost items are tried again.
"""

import base64
import io
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Picture

from annotation.actions.data import import_items
from annotation.actions.outputs import import_outputs
from annotation.actions.runs import cancel_run, compute_slice, finish_run, start_run
from annotation.content.schemas import SystemRecord
from annotation.models import ImageFile, Item, OutputFailure, OutputRun, Project, SystemOutput
from annotation.queries.runs import count_progress
from annotation.tasks import enqueue_missing, sweep_output_runs
from foundation.errors import RunFailed
from jobs.actions import sliced_runs
from jobs.model_servers import gateway as model_gateway
from jobs.model_servers.gateway import find_served_system
from jobs.queue import LOST_LIMIT
from modelserver.serving.fake_modular_system import FAILS
from modelserver.serving.fake_server import FakeModelServer, FakeModularSystem, FakeSystem
from modelserver.wire.errors import Unavailable, UnknownSystem
from modelserver.wire.schema import ModuleImage, ModuleItem
from tests.annotation.factories import PROGRAM, make_items, make_project, make_record
from tests.studyapp.serving import eager, no_model_server

__all__ = ["eager", "no_model_server"]

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def server(settings) -> Iterator[FakeModelServer]:
    """Yield a fake model server for the site.

    It serves a reader and a modular network.
    """
    with FakeModelServer(FakeSystem(), FakeModularSystem()) as running:
        settings.MODEL_SERVER_URL = running.url
        yield running


def begun(project: Project) -> OutputRun:
    revision = FakeModularSystem().revision
    return start_run(project=project, system="fake-modular", revision=revision)


def executed(project: Project, *arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(
        "execute_programs", project.slug, "--system", "fake-modular", *arguments, stdout=out, stderr=err
    )
    return out.getvalue(), err.getvalue()


def test_it_works(server, eager) -> None:
    project = make_project()
    items = make_items(project, 3)
    printed, _warned = executed(project, "--wait", "--slice", "2")
    assert "outputs for 3 of 3 items" in printed
    item = ModuleItem(
        id="i1",
        text=items[0].text,
        program=PROGRAM,
        images=[ModuleImage(name=name) for name in items[0].images],
    )
    (expected,) = FakeModularSystem().execute([item])
    stored = SystemOutput.objects.get(item=items[0])
    assert (stored.system, stored.revision) == ("fake-modular", FakeModularSystem().revision)
    assert stored.answer == expected.answer
    assert stored.proposals == [[list(box) for box in image] for image in expected.proposals]
    assert [module["module"] for module in stored.modules] == ["equal", "count", "filter", "find", "2"]
    assert stored.modules[3]["probabilities"] == expected.modules[3].probabilities
    assert stored.modules[1]["value"] == expected.modules[1].value
    assert OutputRun.objects.get().status == "done"


def test_spans_are_sent_with_their_tokens(server, eager) -> None:
    project = make_project(kind="spans")
    (item,) = make_items(project)
    executed(project, "--wait")
    stored = SystemOutput.objects.get(item=item)
    (find,) = (module for module in stored.modules if module["module"] == "find")
    assert len(find["attention"]) == len(item.tokens)


def test_images_are_read_from_the_site_and_sent(server, eager, tmp_path, settings, monkeypatch) -> None:
    settings.VAR_DIR = tmp_path / "var"
    for name, colour in (("left.png", "red"), ("right.png", "blue")):
        Picture.new("RGB", (8, 6), colour).save(tmp_path / name)
    project = make_project()
    import_items(records=[make_record("one")], project=project, image_folder=tmp_path)
    sent: list[ModuleItem] = []
    original = model_gateway.execute_items

    def noted(*, items, **more):
        sent.extend(items)
        return original(items=items, **more)

    monkeypatch.setattr("annotation.actions.runs.execute_items", noted)
    executed(project, "--wait")
    left, right = sent[0].images
    assert left.data == (tmp_path / "left.png").read_bytes()
    assert right.data == (tmp_path / "right.png").read_bytes()


def test_an_image_that_is_gone_is_told(server, eager, tmp_path, settings) -> None:
    settings.VAR_DIR = tmp_path / "var"
    for name, colour in (("left.png", "red"), ("right.png", "blue")):
        Picture.new("RGB", (8, 6), colour).save(tmp_path / name)
    project = make_project()
    import_items(records=[make_record("one")], project=project, image_folder=tmp_path)
    ImageFile.objects.filter(name="right.png").update(path="aa/gone.png")
    with pytest.raises(CommandError, match="every item failed"):
        executed(project, "--wait")
    assert OutputFailure.objects.get().message == "images: right.png: there is no such file"


def test_a_second_time_computes_nothing(server, eager) -> None:
    project = make_project()
    make_items(project, 2)
    executed(project, "--wait")
    rows = list(SystemOutput.objects.values_list("pk", flat=True))
    printed, _warned = executed(project, "--wait")
    assert "outputs for 2 of 2" in printed
    assert list(SystemOutput.objects.values_list("pk", flat=True)) == rows
    make_items(project)
    assert "outputs for 3 of 3" in executed(project, "--wait")[0]


def test_a_slice_run_twice_stores_nothing_twice(server) -> None:
    project = make_project()
    first, second, third = make_items(project, 3)
    run = begun(project)
    assert compute_slice(run_id=run.pk, first=first.pk, last=second.pk) == 2
    assert compute_slice(run_id=run.pk, first=first.pk, last=second.pk) == 0
    run.refresh_from_db()
    assert (run.status, count_progress(run).outputs) == ("running", 2)
    assert compute_slice(run_id=run.pk, first=third.pk, last=third.pk) == 1
    run.refresh_from_db()
    assert run.status == "done"


def test_failures_are_kept_and_tried_again(server, eager) -> None:
    project = make_project()
    records = [make_record("i1"), make_record("i2", text=FAILS), make_record("i3")]
    import_items(records=records, project=project)
    Item.objects.filter(external_id="i3").update(program="")
    printed, warned = executed(project, "--wait")
    assert "outputs for 1 of 3" in printed
    assert "2 items failed; the first, i2: fake-modular failed" in warned
    run = OutputRun.objects.get()
    assert dict(run.failures.values_list("item__external_id", "kind")) == {
        "i2": "prediction_failed", "i3": "invalid_item",
    }  # fmt: skip
    assert "the item has none" in run.failures.get(item__external_id="i3").message
    run = begun(project)
    assert (run.status, run.failures.count()) == ("running", 0)


def test_every_item_failing_is_a_failed_job(server, eager) -> None:
    project = make_project()
    import_items(records=[make_record("i1", text=FAILS)], project=project)
    with pytest.raises(CommandError, match="every item failed"):
        executed(project, "--wait")


def test_what_does_not_fit_the_item_is_a_failure(server, monkeypatch) -> None:
    project = make_project()
    item, other = make_items(project, 2)
    original = FakeModularSystem.execute

    def strange(self, items):
        first, second = original(self, items)
        return [
            first.model_copy(update={"program": "exist(find[dogs])"}),
            second.model_copy(update={"proposals": second.proposals[:1]}),
        ]

    monkeypatch.setattr(FakeModularSystem, "execute", strange)
    run = begun(project)
    compute_slice(run_id=run.pk, first=item.pk, last=other.pk)
    assert [(row.kind, row.message) for row in run.failures.all()] == [
        ("invalid_output", "i1: it executed another program, exist(find[dogs])"),
        ("invalid_output", "i2: proposals: the item has 2 images, not 1"),
    ]


def test_outputs_that_came_from_a_file_are_not_asked_for(server, eager) -> None:
    project = make_project()
    make_items(project, 2)
    modules = ({"index": 1, "module": "count", "value": 2},)
    record = SystemRecord.model_validate({"id": "i1", "modules": modules, "answer": True})
    import_outputs(
        records=[record], project=project, system="fake-modular", revision=FakeModularSystem().revision
    )
    executed(project, "--wait")
    assert SystemOutput.objects.get(item__external_id="i1").modules == list(modules)
    assert SystemOutput.objects.get(item__external_id="i1").answer is True
    assert SystemOutput.objects.count() == 2


def test_another_revision_ends_the_run(server) -> None:
    project = make_project()
    (item,) = make_items(project)
    run = start_run(project=project, system="fake-modular", revision="older")
    compute_slice(run_id=run.pk, first=item.pk, last=item.pk)
    run.refresh_from_db()
    assert run.status == "failed"
    assert "this run is of revision older" in run.error
    assert not SystemOutput.objects.exists()


def test_a_server_that_is_away_is_tried_again(no_model_server, monkeypatch) -> None:
    monkeypatch.setattr(model_gateway, "PATIENCE_SECONDS", 0.0)
    project = make_project()
    (item,) = make_items(project)
    run = begun(project)
    with pytest.raises(Unavailable):
        compute_slice(run_id=run.pk, first=item.pk, last=item.pk)
    run.refresh_from_db()
    assert run.status == "running"
    with pytest.raises(CommandError, match="cannot be reached"):
        executed(project)


def test_each_kind_of_system_has_its_command(server) -> None:
    assert find_served_system("fake-modular", "modular").kind == "modular"
    with pytest.raises(RunFailed, match="fake is a reader"):
        find_served_system("fake", "modular")
    with pytest.raises(RunFailed, match="executes programs"):
        find_served_system("fake-modular")
    with pytest.raises(UnknownSystem, match="it serves: fake, fake-modular"):
        find_served_system("other", "modular")


def test_large_images_go_in_several_requests(server, monkeypatch) -> None:
    monkeypatch.setattr(model_gateway, "MOST_IMAGE_BYTES", 25)
    counts: list[int] = []
    original = model_gateway.ModelClient.execute

    def noted(self, system, items, **more):
        counts.append(len(items))
        return original(self, system, items, **more)

    monkeypatch.setattr(model_gateway.ModelClient, "execute", noted)
    image = ModuleImage(name="a", data=base64.b64encode(bytes(10)))
    items = [ModuleItem(id=str(n), text="x", program="exist(find)", images=[image]) for n in range(5)]
    revision = FakeModularSystem().revision
    assert len(model_gateway.execute_items(system="fake-modular", revision=revision, items=items)) == 5
    assert counts == [2, 2, 1]


def test_a_cancelled_run_keeps_what_it_has(server) -> None:
    project = make_project()
    first, second = make_items(project, 2)
    run = begun(project)
    compute_slice(run_id=run.pk, first=first.pk, last=first.pk)
    assert cancel_run(run_id=run.pk)
    assert not cancel_run(run_id=run.pk)
    assert compute_slice(run_id=run.pk, first=second.pk, last=second.pk) == 0
    assert count_progress(run).outputs == 1
    assert begun(project).status == "running"
    assert not finish_run(run_id=run.pk)


class TestSweep:
    @pytest.fixture(autouse=True)
    def idle(self, monkeypatch, settings) -> None:
        settings.RUN_SWEEP_SECONDS = 0
        monkeypatch.setattr(sliced_runs, "list_workers", lambda: ["worker"])
        monkeypatch.setattr(sliced_runs, "has_pending_slices", lambda *_: False)

    def test_a_run_that_stands_still_is_taken_up(self, server, eager) -> None:
        project = make_project()
        make_items(project, 2)
        run = begun(project)
        sweep_output_runs()
        run.refresh_from_db()
        assert run.status == "done"

    def test_one_whose_slices_get_lost_again_and_again_fails(self, monkeypatch) -> None:
        project = make_project()
        make_items(project)
        run = begun(project)
        monkeypatch.setattr(sliced_runs, "publish", lambda *_: None)
        for _ in range(LOST_LIMIT + 1):
            sweep_output_runs()
        run.refresh_from_db()
        assert run.status == "failed"
        assert "never came back" in run.error


def test_an_empty_project_is_done_at_once(server) -> None:
    run = begun(make_project())
    assert enqueue_missing(run) == 0
    run.refresh_from_db()
    assert run.status == "done"

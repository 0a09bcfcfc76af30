"""Pages of model outputs start and stop runs.

They show an item node by node beside its gold.
"""

import re
from functools import partial

import pytest

from annotation.actions.outputs import import_outputs
from annotation.actions.review import bring_gold
from annotation.content.schemas import Document, SystemRecord
from annotation.models import OutputRun, Project, Role, SystemOutput
from annotation.queries.node_outputs import compute_strength, describe_steps
from modelserver.serving.fake_modular_system import FakeModularSystem
from modelserver.serving.fake_server import FakeModelServer
from modelserver.serving.model_cache import AvailableSystem, Source
from tests.annotation.actions.test_output_runs import begun, server
from tests.annotation.factories import box, make_items, make_member, make_project, make_user, span
from tests.annotation.rest.test_annotations import client_of
from tests.studyapp.serving import eager, no_model_server

__all__ = ["eager", "no_model_server", "server"]

pytestmark = pytest.mark.django_db

NEAR, FAR = [0.1, 0.1, 0.3, 0.5], [0.6, 0.6, 0.9, 0.9]


@pytest.fixture
def manager(client):
    member = make_member(role=Role.MANAGER)
    client.force_login(member.user)
    client.member = member
    return client


def stored(project: Project, record: dict[str, object]) -> SystemOutput:
    parsed = SystemRecord.model_validate(record)
    import_outputs(records=[parsed], project=project, system="net", revision="1")
    return SystemOutput.objects.select_related("item").get()


def boxes_with_gold() -> tuple[Project, SystemOutput]:
    project = make_project()
    (item,) = make_items(project)
    layers = {
        "3": {"state": "done", "objects": [box("a"), box("b", image=1)]},
        "2": {"state": "done", "objects": [{"id": "c", "ref": "a"}]},
    }
    bring_gold(item=item, document=Document.model_validate({"layers": layers}), by=make_user())
    return project, stored(project, {
        "id": "i1", "proposals": [[NEAR, FAR], [FAR]], "answer": False,
        "modules": [
            {"index": 0, "module": "equal", "value": False}, {"index": 1, "module": "count", "value": 2},
            {"index": 2, "module": "filter", "probabilities": [0.9, 0.2, 0.7], "value": 2},
            {"index": 3, "module": "find", "probabilities": [0.95, 0.6, 0.1]},
        ],
    })  # fmt: skip


def test_it_works(manager, server, eager) -> None:
    make_items(manager.member.project, 2)
    slug = manager.member.project.slug
    page = manager.get(f"/annotate/{slug}/outputs/").content.decode()
    assert "<option>fake-modular</option>" in page
    assert "<option>fake</option>" not in page
    response = manager.post(f"/annotate/{slug}/runs/start/", {"system": "fake-modular"}, follow=True)
    assert "Started fake-modular" in response.content.decode()
    assert SystemOutput.objects.count() == 2
    fragment = manager.get(f"/annotate/{slug}/runs/").content.decode()
    assert "2 of 2 items" in fragment
    assert "<html" not in fragment
    assert "Resume run" not in fragment
    output = SystemOutput.objects.order_by("item__position").first()
    address = f"/annotate/{slug}/outputs/fake-modular/{output.revision}/{output.item_id}/"
    assert manager.get(f"/annotate/{slug}/outputs/fake-modular/{output.revision}/{2**63}/").status_code == 404
    page = manager.get(address).content.decode()
    assert "filter “black”" in page
    assert "Next item" in page
    assert "Previous item" not in page


def test_a_run_is_stopped(manager, server) -> None:
    make_items(manager.member.project)
    run = begun(manager.member.project)
    slug = manager.member.project.slug
    page = manager.get(f"/annotate/{slug}/outputs/").content.decode()
    assert "js/refresh.js" in page
    manager.post(f"/annotate/{slug}/runs/{run.pk}/stop/")
    run.refresh_from_db()
    assert run.status == "cancelled"
    assert "Resume run" in manager.get(f"/annotate/{slug}/runs/").content.decode()
    assert manager.post(f"/annotate/{slug}/runs/{run.pk + 1}/stop/").status_code == 404


def test_a_reader_is_refused(manager, server) -> None:
    slug = manager.member.project.slug
    response = manager.post(f"/annotate/{slug}/runs/start/", {"system": "fake"}, follow=True)
    assert "fake is a reader" in response.content.decode()
    assert not OutputRun.objects.exists()


def test_only_systems_for_the_programs_of_the_project_are_offered(manager, settings) -> None:
    sources = {
        name: Source(partial(FakeModularSystem, name), AvailableSystem(kind="modular", programs=kind))
        for name, kind in (("text-nmn", "spans"), ("visual-nmn", "boxes"))
    }
    slug = manager.member.project.slug
    with FakeModelServer(FakeModularSystem(), sources=sources) as running:
        settings.MODEL_SERVER_URL = running.url
        page = manager.get(f"/annotate/{slug}/outputs/").content.decode()
        assert re.findall("<option>(.*?)</option>", page) == ["fake-modular", "visual-nmn"]
        refused = manager.post(f"/annotate/{slug}/runs/start/", {"system": "text-nmn"}, follow=True)
        assert "text-nmn marks spans in a passage; this project marks boxes in images." in (
            refused.content.decode()
        )
    assert not OutputRun.objects.exists()


def test_a_server_that_is_away_is_told(manager, no_model_server) -> None:
    slug = manager.member.project.slug
    assert "is not available" in manager.get(f"/annotate/{slug}/outputs/").content.decode()


@pytest.mark.parametrize("role, starts, sees", [
    (Role.ANNOTATOR, 403, 403), (Role.ADJUDICATOR, 403, 200), (None, 404, 404),
])  # fmt: skip
def test_who_may(client, role, starts, sees) -> None:
    project, output = boxes_with_gold()
    client.force_login(make_member(project, role).user if role else make_user())
    base = f"/annotate/{project.slug}"
    assert client.post(f"{base}/runs/start/", {"system": "x"}).status_code == starts
    for address in ("runs/", "outputs/", f"outputs/net/1/{output.item_id}/"):
        assert client.get(f"{base}/{address}").status_code == sees


def test_items_of_other_projects_are_not_there(manager) -> None:
    project, output = boxes_with_gold()
    slug = manager.member.project.slug
    assert manager.get(f"/annotate/{slug}/outputs/net/1/{output.item_id}/").status_code == 404
    run = OutputRun.objects.create(
        project=project, system="net", revision="2", progressed_at=output.created_at
    )
    assert manager.post(f"/annotate/{slug}/runs/{run.pk}/stop/").status_code == 404


def test_boxes_stand_beside_gold_node_by_node() -> None:
    project, output = boxes_with_gold()
    equal, count, filter_step, find_step, number = describe_steps(output, output.item, project)
    assert (equal.value, count.value, count.gold_value) == (False, 2, 1)
    left, right = filter_step.pictures
    assert [proposal.label for proposal in left.proposed] == ["1 · 90%"]
    assert [proposal.label for proposal in right.proposed] == ["3 · 70%"]
    assert (len(left.gold), len(right.gold)) == (1, 0)
    assert left.proposed[0].box.x == left.gold[0].box.x == 100
    assert filter_step.score == pytest.approx(2 / 3)  # one of two right, the one there is found
    assert find_step.score == pytest.approx(0.5)  # one of two right, one of two found
    assert filter_step.table == [("left.png: 1", 0.9), ("right.png: 3", 0.7), ("left.png: 2", 0.2)]
    assert (number.has_output, number.score, equal.score) == (False, None, None)


def test_attention_stands_beside_gold(client) -> None:
    project = make_project(kind="spans")
    (item,) = make_items(project)
    layers = {"2": {"state": "done", "objects": [span("a", 1, 3)]}}
    bring_gold(item=item, document=Document.model_validate({"layers": layers}), by=make_user())
    attention = [0.0] * len(item.tokens)
    attention[1], attention[2], attention[4] = 0.5, 0.25, 0.25
    modules = [{"index": 2, "module": "find", "attention": attention}]
    output = stored(project, {"id": "i1", "modules": modules, "answer": 1})
    find = describe_steps(output, item, project)[2]
    assert "".join(word.text for word in find.words) == item.passage
    assert [(word.text, word.strength) for word in find.words if word.is_gold] == [
        ("kicked", 3), (" ", 0), ("a", 2),
    ]  # fmt: skip
    assert find.score == pytest.approx(0.2877, abs=1e-4)  # -ln 0.75
    client.force_login(make_member(project, Role.ADJUDICATOR).user)
    page = client.get(f"/annotate/{project.slug}/outputs/net/1/{item.pk}/").content.decode()
    assert '<mark class="weight strong">kicked</mark>' in page


def test_strengths_are_relative_to_the_largest() -> None:
    assert [compute_strength(weight, 0.2) for weight in (0.2, 0.1, 0.03, 0.01)] == [3, 2, 1, 0]
    assert compute_strength(0.0, 0.0) == 0


def test_a_system_may_have_a_slash_in_its_name(manager) -> None:
    project, output = boxes_with_gold()
    SystemOutput.objects.filter(pk=output.pk).update(system="org/model", revision="refs/pr 1%")
    client = client_of(make_member(project, Role.MANAGER).user)
    page = client.get(f"/annotate/{project.slug}/outputs/").content.decode()
    address = re.search(rf'href="(/annotate/{project.slug}/outputs/org[^"]*)"', page)
    assert address is not None
    assert "org/model" in client.get(address[1]).content.decode()
    assert client.get(f"{address[1]}{output.item_id}/").status_code == 200


def test_systems_and_runs_are_sorted_apart(manager):
    project = manager.member.project
    for item, system in zip(make_items(project, 3), ("b-net", "a-net", "b-net"), strict=True):
        SystemOutput.objects.create(item=item, system=system, revision="1", modules=[])
    for system in ("b-net", "a-net"):
        OutputRun.objects.create(
            project=project, system=system, revision="1", status=OutputRun.Status.RUNNING
        )
    at = f"/annotate/{project.slug}/"
    page = manager.get(f"{at}outputs/?runs=-system&systems=-items").content.decode()
    runs, systems = page.split('id="systems"')
    assert runs.index("b-net <span") < runs.index("a-net <span")
    assert f'data-refresh="{at}runs/?runs=-system&amp;systems=-items"' in runs
    assert systems.index(">b-net</a>") < systems.index(">a-net</a>")
    reloaded = manager.get(f"{at}runs/?runs=system").content.decode()
    assert reloaded.index("a-net <span") < reloaded.index("b-net <span")

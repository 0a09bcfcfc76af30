"""Roles in a workspace count in its projects as shares do, by the policy."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Role, Workspace
from annotation.actions import assignments, review
from annotation.actions.projects import set_member
from annotation.content.schemas import Document
from annotation.errors import NothingLeft
from annotation.models import Annotation, Gold, Membership, Project
from annotation.models import Role as ProjectRole
from annotation.policies import NotAllowed
from annotation.queries.members import find_membership
from tests.annotation.factories import (
    box,
    finished,
    make_annotation,
    make_items,
    make_member,
    make_project,
    make_user,
    operation,
)
from tests.annotation.rest.test_annotations import client_of, post, sent
from tests.annotation.rest.test_foreign_ids import theirs
from tests.workspaces import give

__all__ = ["theirs"]

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_an_annotator_of_the_workspace_annotates_without_a_share() -> None:
    project, user = make_project(), give(make_user(), Role.ANNOTATOR)
    make_items(project, 2)
    client = client_of(user)
    assert "Next item" in client.get(f"/annotate/{project.slug}/").content.decode()
    assert not Membership.objects.exists()
    answer = client.post(f"/annotate/{project.slug}/next/")
    annotation = project.annotations.get(annotator=user)
    assert answer["Location"] == f"/annotate/annotation/{annotation.pk}/"
    row = Membership.objects.get()
    assert (row.user, row.active, row.handed_out) == (user, False, 1)
    assert client.get(f"/annotate/annotation/{annotation.pk}/").status_code == 200
    edits = [
        operation(0, 3, put=[box("a"), box("b", at=0.5)], state="done"),
        operation(1, 2, put=[{"id": "c", "ref": "a"}, {"id": "d", "ref": "b"}], state="done"),
    ]
    assert post(client, annotation, "operations", sent(*edits)).json()["revision"] == 2
    answer = post(client, annotation, "submit", {"revision": 2, "go_on": True})
    assert answer.json()["annotation"]["item"]["external_id"] == "i2"
    assert post(client, annotation, "take-back", {}).status_code == 200
    following = project.annotations.get(annotator=user, item__external_id="i2")
    assert post(client, following, "release", {}).status_code == 200
    assert Membership.objects.get().handed_out == 2


def test_no_row_is_made_for_a_person_who_gets_no_item() -> None:
    project, user = make_project(), give(make_user(), Role.ANNOTATOR)
    member = find_membership(user, project.slug)
    assert member is not None
    with pytest.raises(NothingLeft):
        assignments.assign_next_annotation(member=member)
    assert not Membership.objects.exists()


def test_qualification_counts_for_annotators_of_the_workspace() -> None:
    project = make_project(qualification_score=0.5)
    make_items(project, 1, purpose="qualification")
    user = give(make_user(), Role.ANNOTATOR)
    client = client_of(user)
    client.post(f"/annotate/{project.slug}/next/")
    annotation = project.annotations.get()
    gold = Document.model_validate({"layers": {"3": {"state": "done", "objects": [box("x", image=1)]}}})
    review.set_gold(item=annotation.item, document=gold, method=Gold.Method.IMPORTED, by=None)
    finished(annotation)
    row = Membership.objects.get()
    assert (row.active, row.qualified) == (False, False)
    refused = client.post(f"/annotate/{project.slug}/next/", follow=True).content.decode()
    assert refused.count("below this project’s threshold") == 1
    assert "Next item" not in refused


def test_an_adjudicator_of_the_workspace_settles_without_a_share() -> None:
    annotation = finished(make_annotation())
    base, user = f"/annotate/{annotation.project.slug}", give(make_user(), Role.ADJUDICATOR)
    client = client_of(user)
    page = client.get(f"{base}/").content.decode()
    assert ("Review" in page, "Members" in page, "Next item" in page) == (True, False, True)
    client.post(f"{base}/items/{annotation.item_id}/adjudicate/")
    adjudication = Annotation.objects.get(task=Annotation.Task.ADJUDICATION)
    assert post(client, adjudication, "operations", sent(operation(0, 3, state="open"))).status_code == 200
    answer = post(client, adjudication, "submit", {"revision": 1})
    assert answer.status_code == 422  # the step is open: it is theirs to finish
    post(client, adjudication, "operations", sent(operation(1, 3, state="done")))
    assert post(client, adjudication, "submit", {"revision": 2}).json() == {
        "next": f"{base}/review/",
        "annotation": None,
    }
    assert Gold.objects.get().by == user
    assert not Membership.objects.filter(user=user).exists()


def test_an_owner_manages_and_settles_and_takes_no_items() -> None:
    annotation = finished(make_annotation())
    make_items(annotation.project)
    base, client = f"/annotate/{annotation.project.slug}", client_of(give(make_user(), Role.OWNER))
    page = client.get(f"{base}/").content.decode()
    assert (f"{base}/review/" in page, f"{base}/members/" in page, "Next item" in page) == (
        True,
        True,
        False,
    )
    refused = client.post(f"{base}/next/")
    assert refused.status_code == 403
    assert "With the role Owner you may not annotate." in refused.content.decode()
    assert not Annotation.objects.exclude(pk=annotation.pk).exists()
    client.post(f"{base}/annotators-per-item/", {"annotators_per_item": 2})
    annotation.project.refresh_from_db()
    assert annotation.project.annotators_per_item == 2
    decision = {"annotation": annotation.pk, "revision": annotation.revision, "letter": "A"}
    assert (
        client.post(f"{base}/items/{annotation.item_id}/accept/", decision)["Location"] == f"{base}/review/"
    )


def test_who_may_no_longer_annotate_sees_their_work_and_cannot_change_it() -> None:
    annotation = make_annotation()
    member = Membership.objects.get()
    give(member.user, Role.OWNER)
    set_member(project=member.project, user=member.user, role=ProjectRole.ANNOTATOR, active=False, by=None)
    client = client_of(member.user)
    assert client.get(f"/annotate/annotation/{annotation.pk}/").status_code == 200
    edit = sent(operation(0, 3, put=[box("a")]))
    for name, body in (("operations", edit), ("submit", {"revision": 0}), ("take-back", {})):
        answer = post(client, annotation, name, body)
        assert answer.status_code == 403
        assert "With the role Owner you may not annotate." in answer.json()["detail"]
    annotation.refresh_from_db()
    assert (annotation.status, annotation.revision) == ("reserved", 0)


def test_a_researcher_manages_by_share_alone() -> None:
    project, user = make_project(), give(make_user(), Role.RESEARCHER)
    client = client_of(user)
    refused = client.get(f"/annotate/{project.slug}/")
    assert refused.status_code == 403
    assert "With the role Researcher you may not see this project." in refused.content.decode()
    set_member(project=project, user=user, role=ProjectRole.MANAGER, by=None)
    assert client.get(f"/annotate/{project.slug}/members/").status_code == 200


def test_a_share_that_ends_keeps_the_work_and_one_given_again_goes_on() -> None:
    annotation = make_annotation()
    member = Membership.objects.get()
    client, address = client_of(member.user), f"/annotate/{member.project.slug}/"
    set_member(project=member.project, user=member.user, role=ProjectRole.ANNOTATOR, active=False, by=None)
    assert client.get(address).status_code == 404
    assert client.get(f"/annotate/annotation/{annotation.pk}/").status_code == 404
    with pytest.raises(NotAllowed):
        assignments.assign_next_annotation(member=Membership.objects.get())
    give(member.user, Role.ANNOTATOR)
    assert client.get(address).status_code == 200
    set_member(project=member.project, user=member.user, role=ProjectRole.ADJUDICATOR, by=None)
    row = Membership.objects.get()
    assert (row.active, row.handed_out) == (True, 1)
    assert client.post(f"{address}next/")["Location"] == f"/annotate/annotation/{annotation.pk}/"


def test_a_manager_assigns_items_to_those_who_may_annotate() -> None:
    project = make_project()
    (item,) = make_items(project)
    client = client_of(give(make_user(), Role.MANAGER))
    address = f"/annotate/{project.slug}/under-way/assign/"
    owner, annotator = give(make_user(), Role.OWNER), give(make_user(), Role.ANNOTATOR)
    for person in (owner, make_user(), give(make_user(), Role.VIEWER)):
        answer = client.post(address, {"item": item.external_id, "username": person.username})
        assert answer.status_code == 422
        assert f"{person.username} may not annotate in this project" in answer.content.decode()
    assert not Membership.objects.exists()
    client.post(address, {"item": item.external_id, "username": annotator.username})
    assert annotator.annotations.get().item == item
    assert not Membership.objects.get(user=annotator).active


def test_the_members_page_names_the_role_by_which_people_work() -> None:
    project, user = make_project(), give(make_user(), Role.ADJUDICATOR)
    make_items(project)
    manager = client_of(make_member(project, ProjectRole.MANAGER).user)
    client_of(user).post(f"/annotate/{project.slug}/next/")
    lines = manager.get(f"/annotate/{project.slug}/people.csv").getvalue().decode().splitlines()
    assert [line for line in lines if line.startswith(f"{user.username},adjudicator,")]
    listed = manager.get(f"/api/v1/projects/{project.slug}/members/").json()["results"]
    row = next(member for member in listed if member["user"] == user.username)
    assert (row["active"], row["roles"]) == (False, ["adjudicator"])


def test_projects_are_listed_by_share_and_by_workspace(django_assert_max_num_queries: Any) -> None:
    elsewhere = Workspace.objects.create(slug="elsewhere", name="Elsewhere")
    here = [make_project() for _number in range(3)]
    foreign, _hidden = make_project(workspace=elsewhere), make_project(workspace=elsewhere)
    user = give(make_user(), Role.MANAGER, Role.ANNOTATOR)
    give(user, Role.RESEARCHER, workspace=elsewhere)  # sees projects by share only
    set_member(project=foreign, user=user, role=ProjectRole.ADJUDICATOR, by=None)
    set_member(project=here[0], user=user, role=ProjectRole.ANNOTATOR, by=None)
    client = client_of(user)
    with django_assert_max_num_queries(
        8
    ):  # two for the login, three for projects, one for the button, two for the frame
        page = client.get("/annotate/").content.decode()
    for project in [*here, foreign]:
        assert project.title in page
    assert page.count("<tr>") == 4  # the head has an attribute
    assert "Annotation manager, Annotator" in page
    listed = client.get("/api/v1/projects/").json()["results"]
    assert {project["slug"]: project["roles"] for project in listed} == {
        **{project.slug: ["manager", "annotator"] for project in here},
        foreign.slug: ["adjudicator"],
    }


def test_the_list_counts_ones_own_annotations_alone() -> None:
    project, user = make_project(annotators_per_item=3), give(make_user(), Role.ANNOTATOR)
    make_items(project)
    finished(assignments.assign_next_annotation(member=make_member(project)))
    client = client_of(user)
    client.post(f"/annotate/{project.slug}/next/")
    finished(project.annotations.get(annotator=user))
    listed = client.get("/annotate/").context["memberships"]
    assert [(member.project.done, member.project.returned) for member, *_ in listed] == [(1, 0)]


def test_only_who_manages_somewhere_is_offered_a_new_project() -> None:
    for role in Role:
        client = client_of(give(make_user(), role))
        offered = "New project" in client.get("/annotate/").content.decode()
        assert offered == (client.get("/annotate/new/").status_code == 200)
        assert offered == (role in (Role.OWNER, Role.MANAGER))


def test_a_share_costs_an_edit_no_query_for_workspace_roles() -> None:
    member = make_member()
    make_items(member.project, 2)
    annotation = assignments.assign_next_annotation(member=member)
    problem = sent(operation(0, 0, problem={"kind": "other"}))
    client = client_of(member.user)
    client.get(f"/annotate/annotation/{annotation.pk}/")  # the frame around the editor asks for workspaces
    with CaptureQueriesContext(connection) as queries:
        client.get(f"/api/v1/annotations/{annotation.pk}/editor/")
        post(client, annotation, "operations", problem)
        post(client, annotation, "submit", {"revision": 1, "go_on": True})
        post(client, annotation, "take-back", {})
        post(client, annotation, "release", {})
    assert len(queries) > 20
    assert not [query for query in queries.captured_queries if "accounts_membership" in query["sql"]]


def test_a_workspace_costs_a_fixed_number_of_queries_more(django_assert_max_num_queries: Any) -> None:
    project, user = make_project(), give(make_user(), Role.ANNOTATOR)
    make_items(project)
    client = client_of(user)
    client.post(f"/annotate/{project.slug}/next/")
    annotation = project.annotations.get()
    edits = sent(operation(0, 3, put=[box("a")]))
    with django_assert_max_num_queries(8):  # one more than by share
        post(client, annotation, "operations", edits)


def test_the_api_says_why_it_refuses() -> None:
    project = make_project()
    address = f"/api/v1/projects/{project.slug}/gold/"
    assert Client().get(address).status_code == 401
    assert client_of(make_user()).get(address).status_code == 404
    refused = client_of(give(make_user(), Role.ANNOTATOR)).get(address)
    assert refused.status_code == 403
    assert refused.json()["detail"].startswith("With the role Annotator you may not review")
    status = client_of(give(make_user(), Role.ANNOTATOR)).get(
        address.replace("gold", "items"), {"status": "gold"}
    )
    assert status.status_code == 403
    assert status.json()["detail"].startswith("With the role Annotator you may not review")


def test_a_new_project_goes_into_a_workspace_where_its_maker_manages() -> None:
    user = give(make_user(), Role.MANAGER)
    client, body = client_of(user), {"title": "Dogs", "kind": "boxes", "annotators_per_item": 1}
    assert 'name="workspace"' not in client.get("/annotate/new/").content.decode()
    lab = Workspace.objects.create(slug="lab", name="The lab")
    foreign = Workspace.objects.create(slug="foreign", name="Foreign")
    give(user, Role.OWNER, workspace=lab)
    give(user, Role.ANNOTATOR, workspace=foreign)
    page = client.get("/annotate/new/").content.decode().split("<main")[1]
    assert ("The lab" in page, "Foreign" in page) == (True, False)
    assert client.post("/annotate/new/", body | {"slug": "one"}).status_code == 422
    assert client.post("/annotate/new/", body | {"slug": "one", "workspace": foreign.pk}).status_code == 422
    client.post("/annotate/new/", body | {"slug": "one", "workspace": lab.pk})
    assert Project.objects.get().workspace == lab


def test_nobody_changes_their_own_role() -> None:
    manager = make_member(role=ProjectRole.MANAGER)
    client, base = client_of(manager.user), f"/annotate/{manager.project.slug}/members/set/"
    for change in ({"role": "annotator", "active": "on"}, {"role": "manager"}):
        response = client.post(
            base, {"changes": "True", "username": manager.user.username, **change}, follow=True
        )
        assert "You cannot change your own role" in response.content.decode()
    api, name = f"/api/v1/projects/{manager.project.slug}/members/", manager.user.username
    lowered = client.post(api, {"user": name, "role": "annotator"}, content_type="application/json")
    for answer in (lowered, client.delete(f"{api}{name}/")):
        assert answer.status_code == 403
        assert answer.json()["detail"].startswith("You cannot change your own role")
    manager.refresh_from_db()
    assert (manager.role, manager.active) == ("manager", True)

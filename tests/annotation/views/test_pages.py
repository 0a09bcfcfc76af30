"""The pages: what each role finds there, and that strangers find nothing."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Role as WorkspaceRole
from annotation.actions import assignments
from annotation.actions.projects import set_member
from annotation.models import AuditEvent, Membership, Project, Role
from tests.annotation.factories import (
    finished,
    make_annotation,
    make_items,
    make_member,
    make_project,
    make_user,
)
from tests.annotation.rest.test_annotations import client_of
from tests.html import join_lines
from tests.workspaces import give

pytestmark = pytest.mark.django_db


def test_it_works() -> None:
    member = make_member()
    make_items(member.project, 2)
    client = client_of(member.user)
    assert member.project.title in client.get("/annotate/").content.decode()
    page = client.get(f"/annotate/{member.project.slug}/").content.decode()
    assert "Next item" in page
    assert "Dashboard" not in page
    answer = client.post(f"/annotate/{member.project.slug}/next/")
    annotation = member.project.annotations.get()
    assert answer["Location"] == f"/annotate/annotation/{annotation.pk}/"


def test_nothing_left_is_said_on_the_project_page() -> None:
    member = make_member()
    answer = client_of(member.user).post(f"/annotate/{member.project.slug}/next/", follow=True)
    assert "No items are left for you" in answer.content.decode()


def test_strangers_get_404_and_the_anonymous_a_login() -> None:
    project = make_project()
    assert client_of(make_user(is_staff=True)).get(f"/annotate/{project.slug}/").status_code == 404
    assert Client().get(f"/annotate/{project.slug}/")["Location"].startswith("/accounts/login/")


def test_who_left_a_project_is_a_stranger_to_it() -> None:
    member = make_member()
    Membership.objects.filter(pk=member.pk).update(active=False)
    assert client_of(member.user).get(f"/annotate/{member.project.slug}/").status_code == 404


PAGES = (
    "items", "items/upload", "members", "under-way", "settings", "guidelines", "webhooks", "export", "audit",
)  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_annotators_do_not_get_the_managers_pages(page: str) -> None:
    member = make_member()
    assert client_of(member.user).get(f"/annotate/{member.project.slug}/{page}/").status_code == 403
    manager = make_member(member.project, Role.MANAGER)
    assert client_of(manager.user).get(f"/annotate/{member.project.slug}/{page}/").status_code == 200


def test_managers_create_projects() -> None:
    user = give(make_user(), WorkspaceRole.MANAGER)
    body = {"title": "Dogs", "slug": "dogs", "kind": "boxes", "annotators_per_item": 2}
    assert client_of(user).post("/annotate/new/", body)["Location"] == "/annotate/dogs/items/upload/"
    assert Project.objects.get(slug="dogs").memberships.get().role == Role.MANAGER
    assert client_of(make_user()).post("/annotate/new/", body).status_code == 403
    assert client_of(user).post("/annotate/new/", body).status_code == 422  # the name is taken


def test_a_manager_adds_people_and_changes_roles() -> None:
    manager = make_member(role=Role.MANAGER)
    user, client = make_user(), client_of(manager.user)
    address = f"/annotate/{manager.project.slug}/members/set/"
    client.post(address, {"username": user.username, "role": "adjudicator", "active": "on"})
    assert Membership.objects.get(user=user).role == Role.ADJUDICATOR
    answer = client.post(address, {"username": "nobody", "role": "annotator", "active": "on"})
    assert answer.status_code == 422
    assert "User nobody does not exist. Invite them with the form" in answer.content.decode()
    client.post(
        address, {"changes": "True", "username": manager.user.username, "role": "annotator", "active": "on"}
    )
    manager.refresh_from_db()
    assert manager.role == Role.MANAGER  # nobody locks themselves out


def test_a_member_is_changed_from_their_present_values() -> None:
    manager = make_member(role=Role.MANAGER)
    member = make_member(manager.project, Role.ADJUDICATOR)
    set_member(project=manager.project, user=member.user, role=Role.ADJUDICATOR, blind=True, by=None)
    client, base = client_of(manager.user), f"/annotate/{manager.project.slug}/members/"
    name = member.user.username
    # To add them again would set the values of an empty form.
    answer = client.post(f"{base}set/", {"username": name, "role": "annotator", "active": "on"})
    assert answer.status_code == 422
    assert f"{name} is a member already" in answer.content.decode()
    page = join_lines(client.get(base).content.decode())
    assert f'href="?change={name}#add" aria-label="Change {name}"' in page
    assert page.count(">without model outputs</span>") == 1
    assert (">Annotation manager<" in page, ">Manager<" in page) == (True, False)
    form = client.get(f"{base}?change={name}").context["member_form"]
    assert {field.name: field.value() for field in form} == {
        "changes": True, "username": name, "role": "adjudicator", "active": True, "blind": True,
    }  # fmt: skip
    assert client.get(f"{base}?change=nobody").status_code == 404
    sent = {"changes": "True", "username": name, "role": "annotator", "active": "on", "blind": "on"}
    assert client.post(f"{base}set/", sent).status_code == 302
    member.refresh_from_db()
    assert (member.role, member.active, member.blind) == (Role.ANNOTATOR, True, True)


def test_the_overview_counts_and_the_members_come_as_csv() -> None:
    annotation = finished(make_annotation())
    manager = make_member(annotation.project, Role.MANAGER)
    client = client_of(manager.user)
    page = join_lines(client.get(f"/annotate/{annotation.project.slug}/").content.decode())
    assert "<strong>1</strong> of 1 annotations submitted" in page
    assert "1 item is complete and waits for a decision." in page
    assert f'<th scope="row">{timezone.localdate().isoformat()}</th><td class="number">1</td>' in page
    assert f'<th scope="row">{annotation.annotator.username}</th>' in page
    lines = client.get(f"/annotate/{annotation.project.slug}/people.csv").getvalue().decode().splitlines()
    assert lines[0].startswith("name,role,qualified,finished")
    assert lines[1].startswith(f"{annotation.annotator.username},annotator,,1,")


def test_settings_places_guidelines_and_status_are_changed_and_logged() -> None:
    manager = make_member(role=Role.MANAGER)
    make_items(manager.project)
    client, base = client_of(manager.user), f"/annotate/{manager.project.slug}"
    fields = {"title": "New", "reservation_minutes": 30, "show_answer": "on", "qualification_score": "1.5"}
    assert client.post(f"{base}/settings/", fields).status_code == 422
    client.post(f"{base}/settings/", fields | {"qualification_score": "0.8"})
    client.post(f"{base}/annotators-per-item/", {"annotators_per_item": 3})
    for text in ("Draw tight boxes.", "Draw tight boxes.", "Draw very tight boxes."):
        client.post(f"{base}/guidelines/", {"module": "find", "text": text})
    client.post(f"{base}/close/")
    project = Project.objects.get(pk=manager.project_id)
    assert (project.title, project.qualification_score, project.status) == ("New", 0.8, "closed")
    assert project.items.get().annotators_wanted == 3
    assert list(project.guidelines.values_list("version", flat=True)) == [1, 2]
    kinds = set(AuditEvent.objects.values_list("kind", flat=True))
    assert {"settings_changed", "guideline_written", "project_closed"} <= kinds
    log = client.get(f"{base}/audit/").content.decode()
    assert "Guideline written" in log
    assert "guideline_written" not in log


def test_a_manager_frees_a_place_and_reserves_an_item_for_somebody() -> None:
    annotation = make_annotation()
    manager, other = make_member(annotation.project, Role.MANAGER), make_member(annotation.project)
    client, base = client_of(manager.user), f"/annotate/{annotation.project.slug}/under-way/"
    assert annotation.annotator.username in client.get(base).content.decode()
    client.post(f"{base}{annotation.pk}/reclaim/")
    annotation.refresh_from_db()
    assert annotation.status == "released"
    wrong = {"item": "none", "username": "nobody"}
    assert client.post(f"{base}assign/", wrong).status_code == 422
    client.post(f"{base}assign/", {"item": annotation.item.external_id, "username": other.user.username})
    assert other.user.annotations.get().item == annotation.item
    answer = client.post(
        f"{base}assign/",
        {"item": annotation.item.external_id, "username": manager.user.username},
        follow=True,
    )
    assert "assignments of i1 are taken" in answer.content.decode()


def test_roles_states_and_problems_are_said_in_german() -> None:
    project = make_project(annotators_per_item=2)
    make_items(project, 1)
    annotation, other = [
        finished(assignments.assign_next_annotation(member=make_member(project))) for _number in range(2)
    ]
    other.document["problem"] = {"kind": "wrong structure", "node": None, "note": ""}
    other.save(update_fields=["document"])
    manager = make_member(project, Role.MANAGER)
    client, german = client_of(manager.user), {"headers": {"accept-language": "de"}}
    base = f"/annotate/{project.slug}"
    shown = client.get(f"{base}/members/", **german).content.decode()
    assert ">Annotationsleitung</span>" in shown
    assert ">Annotierende</span>" in shown
    shown = client.get(f"{base}/items/{annotation.item_id}/", **german).content.decode()
    assert "erledigt, 2 Objekte" in join_lines(shown)
    assert "falscher Aufbau" in shown
    assert "wrong structure" not in shown


def test_an_address_of_a_form_says_so_instead_of_a_blank_page() -> None:
    project = make_project()
    client = client_of(make_member(project).user)
    answer = client.get(f"/annotate/{project.slug}/next/")  # as after a login that a button asked for
    assert answer.status_code == 405
    assert answer.headers["Content-Length"] == str(len(answer.content))
    assert f'href="/annotate/{project.slug}/"' in answer.content.decode()
    assert "choose it again" in answer.content.decode()


def test_an_empty_project_says_so_to_annotators() -> None:
    project = make_project()
    page = client_of(make_member(project).user).get(f"/annotate/{project.slug}/").content.decode()
    assert "This project has no items." in page
    assert "Next item" not in page

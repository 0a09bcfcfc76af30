"""The IDs in addresses of the app tell nothing to people without rights.

The addresses are read from the URL patterns, so that a new one fails here until it says what its ids are.
`tests/access/test_matrix.py` asks for them as people of other projects, and without a login.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from accounts.actions.invitations import create_invitation
from accounts.models import Role as WorkspaceRole
from annotation import urls as pages
from annotation.actions import assignments, review
from annotation.actions.projects import add_webhook
from annotation.actions.runs import start_run
from annotation.content.schemas import Document
from annotation.models import Annotation, Batch, Gold, ImageFile, Project, Role, SystemOutput
from annotation.rest import urls as api
from jobs.actions.jobs import create_job
from tests.access.test_matrix import short_refusals
from tests.annotation.factories import finished, make_items, make_member, make_project

__all__ = ["short_refusals"]

pytestmark = pytest.mark.django_db

# Addresses without an id: they show a person what is their own, or nothing of anybody.
UNSCOPED = {"annotation:home", "annotation:new_project", "projects_rest:keys", "projects_rest:projects"}
# The objects of an address's IDs; `slug` is always a project.
_ANNOTATION = ("annotation", "editor", "operations", "submit", "release", "take_back", "shown", "accept",
               "return", "comments", "resolve_comment")  # fmt: skip
IDS: dict[str, dict[str, str]] = {
    "annotation:editor": {"pk": "annotation"},
    "annotation:reclaim": {"pk": "annotation"},
    "annotation:faithfulness": {"system": "system", "revision": "revision"},
    "annotation:node_outputs": {"system": "system", "revision": "revision", "pk": "item"},
    "annotation:stop_outputs": {"pk": "run"},
    **{
        f"annotation:{name}": {"pk": "item"}
        for name in ("item", "adjudicate", "accept", "return", "edit_item", "delete_item", "move_item")
    },
    **{
        f"annotation:{name}": {"pk": "job"}
        for name in ("import", "apply_import", "output_import", "apply_outputs")
    },
    "annotation:undo_import": {"pk": "import"},
    "annotation:revoke_invitation": {"pk": "invitation"},
    "annotation:batch_due": {"pk": "batch"},
    "annotation:release_batch": {"pk": "batch"},
    "projects_rest:batch": {"pk": "batch"},
    "annotation:webhook": {"pk": "webhook"},
    "annotation:end_webhook": {"pk": "webhook"},
    "annotation:test_webhook": {"pk": "webhook"},
    **{f"projects_rest:{name}": {"pk": "annotation"} for name in _ANNOTATION},
    "projects_rest:resolve_comment": {"pk": "annotation", "comment": "comment"},
    **{f"projects_rest:{name}": {"pk": "item"} for name in ("item", "item_gold", "adjudicate")},
    "projects_rest:image": {"pk": "image"},
    "projects_rest:webhook": {"pk": "webhook"},
    "projects_rest:deliveries": {"pk": "webhook"},
    "projects_rest:cancel_run": {"pk": "run"},
    "projects_rest:member": {"user": "user"},
    "projects_rest:qualify": {"user": "user"},
    "projects_rest:invitation": {"pk": "invitation"},
}
# Another annotator of the same project may not see these either: annotation is blind.
BLIND = ("annotation:editor", "projects_rest:item", *(f"projects_rest:{name}" for name in _ANNOTATION))
# Well-formed bodies for addresses that read the body first.
BODIES: dict[str, Any] = {
    "projects_rest:batch": {"due_on": None},
    "projects_rest:operations": {"operations": [{"id": str(uuid4()), "base": 0, "node": 3}]},
}
# The bytes of the image are not there, uploads are private, and the page has revoked the invitation before.
NOT_THERE = (
    "projects_rest:image",
    "projects_rest:invitation",
    "annotation:import",
    "annotation:apply_import",
    "annotation:output_import",
    "annotation:apply_outputs",
    "annotation:labels",  # the project has programs
    "annotation:qualify",  # its form names the person
    "projects_rest:qualify",  # the requests to `member` have removed the person
)
METHODS = ("get", "post", "put", "patch", "delete")

PATTERNS: dict[str, URLPattern] = {
    f"{space.app_name}:{pattern.name}": pattern for space in (pages, api) for pattern in space.urlpatterns
}
SCOPED = sorted(set(PATTERNS) - UNSCOPED)


@pytest.fixture(autouse=True)
def quick_hash(settings: Any) -> None:
    """Hash passwords quickly.

    They are hashed slowly on purpose; here that would be most of the time.
    """
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@dataclass
class Theirs:
    """A project with one of everything."""

    project: Project
    ids: dict[str, int | str]

    def address(self, name: str, *, slug: str | None = None) -> str:
        return reverse(name, kwargs=self.arguments(name, slug or self.project.slug))

    def arguments(self, name: str, slug: str) -> dict[str, Any]:
        pattern = PATTERNS[name]
        names = set(pattern.pattern.converters) - set(pattern.default_args)
        ids = IDS.get(name, {})
        missing = names - {"slug"} - set(ids)
        assert not missing, f"{name} has the ids {missing}; say in IDS what they are"
        return {key: slug if key == "slug" else self.ids[ids[key]] for key in names}


@pytest.fixture
def theirs() -> Theirs:
    project = make_project(annotators_per_item=2)
    (item,) = make_items(project)
    manager = make_member(project, Role.MANAGER)
    annotation = finished(assignments.assign_next_annotation(member=make_member(project)))
    batch = Batch.objects.create(
        project=project, name="b", annotator=annotation.annotator, created_by=manager.user
    )
    Annotation.objects.filter(pk=annotation.pk).update(batch=batch)
    ids: dict[str, int | str] = {
        "batch": batch.pk,
        "system": "s",
        "revision": "1",
        "run": start_run(project=project, system="s", revision="2").pk,
        "annotation": annotation.pk,
        "item": item.pk,
        "user": annotation.annotator.username,
        "import": project.imports.first().pk,  # type: ignore[union-attr]  # that of the item
        "job": create_job(
            kind="import_items",
            workspace=project.workspace,
            by=manager.user,
            options={"project": project.pk},
        ).pk,
        "invitation": create_invitation(
            workspace=project.workspace,
            role=WorkspaceRole.ANNOTATOR,
            days=7,
            by=manager.user,
            kind="project",
            shared=project,
        ).invitation.pk,
        "comment": review.add_comment(annotation=annotation, text="Is this one?", by=manager.user).pk,
        "image": ImageFile.objects.filter(project=project).first().pk,
        "webhook": add_webhook(project=project, url="https://example.org/", kinds=[], by=manager.user).pk,
    }
    SystemOutput.objects.create(item=item, system="s", revision="1", modules=[])
    review.set_gold(item=item, document=Document(), method=Gold.Method.IMPORTED, by=manager.user)
    return Theirs(project, ids)


def as_user(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def statuses(client: Client, name: str, address: str) -> dict[str, int]:
    """The status that each method answers with."""
    return {method: send(client, method, name, address).status_code for method in METHODS}


def send(client: Client, method: str, name: str, address: str) -> Any:
    """Send a request, with a body if the address needs one.

    It needs one to find something.
    """
    if method != "get" and name.startswith("projects_rest:"):
        sent: dict[str, Any] = {"data": BODIES.get(name, {}), "content_type": "application/json"}
    elif method == "post" and name in ("annotation:accept", "annotation:return"):
        annotation = Annotation.objects.earliest("pk")
        sent = {"data": {"annotation": annotation.pk, "revision": annotation.revision, "letter": "A"}}
    else:
        sent = {}
    return getattr(client, method)(address, **sent)


def check_hidden(client: Client, theirs: Theirs, names: Sequence[str], *, slug: str | None = None) -> None:
    for name in names:
        by_method = statuses(client, name, theirs.address(name, slug=slug))
        assert 404 in by_method.values(), (name, by_method)
        assert set(by_method.values()) <= {404, 405}, (name, by_method)


def test_every_address_without_ids_is_listed() -> None:
    assert {name for name, pattern in PATTERNS.items() if not pattern.pattern.converters} <= UNSCOPED


def test_foreign_ids_under_the_name_of_ones_own_project_are_not_there(theirs: Theirs) -> None:
    stranger = make_member(role=Role.MANAGER)
    names = [name for name in SCOPED if "slug" in PATTERNS[name].pattern.converters and IDS.get(name)]
    check_hidden(as_user(stranger.user), theirs, names, slug=stranger.project.slug)


def test_another_annotator_of_the_project_does_not_see_the_work(theirs: Theirs) -> None:
    check_hidden(as_user(make_member(theirs.project).user), theirs, BLIND)


def test_who_was_a_member_finds_nothing(theirs: Theirs) -> None:
    member = make_member(theirs.project, Role.MANAGER)
    member.active = False
    member.save()
    check_hidden(as_user(member.user), theirs, SCOPED)


def test_what_is_not_there_answers_as_what_is_foreign(theirs: Theirs) -> None:
    """Had the two other answers, ids would tell who has how much."""
    stranger = as_user(make_member(role=Role.MANAGER).user)
    foreign = {name: statuses(stranger, name, theirs.address(name)) for name in SCOPED}
    theirs.ids = dict.fromkeys(theirs.ids, 10**6)
    for name in SCOPED:
        nowhere = theirs.address(name, slug="there-is-no-such-project")
        assert statuses(stranger, name, nowhere) == foreign[name], name


def test_who_may_see_it_finds_everything(theirs: Theirs) -> None:
    """The addresses above are real: a manager gets an answer from each."""
    manager = as_user(make_member(theirs.project, Role.MANAGER).user)
    for name in SCOPED:
        by_method = statuses(manager, name, theirs.address(name))
        if name not in NOT_THERE:
            assert set(by_method.values()) - {404, 405}, (name, by_method)
